"""A pipeline of rows whose stages move in lock-step, as RTL; ``hw/lanes/rows.py`` has the components."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import TypeAlias

import pyrtl

from fiberscope.hw.rtl.kit.channel import PENDING
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, Streams, alias, blank_if_stop

LANES = (1, 64)  # minimum and maximum of a twin; components allow more

Lane: TypeAlias = Mapping[str, Signal]  # fields of a row's lane by name; ``control`` is high for a stop
Row: TypeAlias = list[Lane]


class Rows:
    """Rows between two bundles, and the control of the pipeline between them.

    A valid bit of each stage marks a row. All registers share the enable ``move``: the last stage is empty,
    or its row leaves. Without stages, a valid input row is at the outputs in the same cycle.

    Args:
        streams: the streams of the module.
        inputs, outputs: the bundles.
        depth: number of register stages.
        loaded: whether the data that a row needs beside its tokens is ready; None for always.

    Call ``stage`` for each stage, then ``pass_out``; or ``leave`` instead of the last ``stage`` and
    ``pass_out``. Data beside a row pass through a ``register`` in each stage.

    ``entering`` is the row at the inputs. ``taken`` is whether it enters the first stage; it is None without
    stages. With stages, the constructor drives the status output ``pending``.
    """

    def __init__(
        self, streams: Streams, inputs: str, outputs: str, depth: int, loaded: Signal | None = None
    ) -> None:
        source, self._sink = streams.inputs[inputs], streams.outputs[outputs]
        self.entering: Row = list(source.lanes)
        full: list[Signal] = [pyrtl.Register(1, f"full_{stage:02}") for stage in range(depth)]
        self.move = alias("move", ~full[-1] | self._sink.ready if full else self._sink.ready)
        ready = self.move if loaded is None else self.move & loaded
        source.accept(ready)
        self.taken = alias("row_taken", source.valid & ready) if full else None
        before = [self.taken, *full[:-1]]
        for stage, entering in zip(full, before, strict=False):
            stage.next <<= pyrtl.select(self.move, entering, stage)
        shown = source.valid if loaded is None else source.valid & loaded
        self._before_last, self._last = before[-1] if full else shown, [shown, *full][-1]
        if full:
            # A row that enters can move in the next cycle, although no port changes: it is pending already.
            streams.show(PENDING, reduce(or_, full) | self.taken)

    def arriving(self) -> Signal:
        """Return whether a row enters the last stage, or without stages passes."""
        return self._before_last & self.move

    def register(self, name: str, wire: Signal) -> Signal:
        """Return a register of a stage, which samples the wire when the stages move."""
        held: Signal = DataRegister(len(wire), name)
        held.next <<= pyrtl.select(self.move, wire, held)
        return held

    def stage(self, number: int, row: Row) -> Row:
        """Return the row after the registers of a stage; ``number`` is a part of their names."""
        return self._registers(f"stage{number:02}", row)

    def leave(self, row: Row) -> None:
        """Send the row after the registers of the last stage, with zeros for stops."""
        self._sink.send_lanes(self._last, self._registers("last", _blanked(row)))

    def pass_out(self, row: Row) -> None:
        """Send the row of the last stage without a register, as the receiver has one."""
        self._sink.send_lanes(self._last, _blanked(row))

    def _registers(self, name: str, row: Row) -> Row:
        return [
            {field: self.register(f"{name}_lane{i:02}_{field}", wire) for field, wire in lane.items()}
            for i, lane in enumerate(row)
        ]


def _blanked(row: Row) -> Row:
    return [blank_if_stop(lane) for lane in row]
