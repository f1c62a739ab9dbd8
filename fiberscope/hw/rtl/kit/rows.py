"""A pipeline of rows whose stages move in step, as RTL; components have ``hw/lanes/rows.py``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import TypeAlias

import pyrtl

from fiberscope.hw.rtl.kit.channel import PENDING
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, Streams, blank_if_stop, named

LANES = (1, 64)  # the least and the most of a twin; the components take more

Lane: TypeAlias = Mapping[str, Signal]  # of a row: its fields by name; ``control`` is high for a stop
Row: TypeAlias = list[Lane]


class Rows:
    """Rows between two bundles, and the control of the pipeline that takes them from one to the other.

    A valid bit says for each stage whether a row is in it. All registers have one enable, ``move``: the last
    stage is empty, or its row leaves. Without stages, a row that shows is at the outputs in the same cycle.

    Args:
        between: the streams of the module.
        inputs, outputs: the bundles.
        depth: stages, each of which has registers.
        loaded: whether all is there that a row needs beside its tokens; None for always.

    ``entering`` is the row that shows at the inputs, ``taken`` says whether it enters a first stage, if there
    is one.
    """

    def __init__(
        self, between: Streams, inputs: str, outputs: str, depth: int, loaded: Signal | None = None
    ) -> None:
        source, self._sink = between.inputs[inputs], between.outputs[outputs]
        self.entering: Row = list(source.lanes)
        full: list[Signal] = [pyrtl.Register(1, f"full_{stage:02}") for stage in range(depth)]
        self.move = named("move", ~full[-1] | self._sink.ready if full else self._sink.ready)
        ready = self.move if loaded is None else self.move & loaded
        source.accept(ready)
        self.taken = named("row_taken", source.valid & ready) if full else None
        before = [self.taken, *full[:-1]]
        for stage, entering in zip(full, before, strict=False):
            stage.next <<= pyrtl.select(self.move, entering, stage)
        shown = source.valid if loaded is None else source.valid & loaded
        self._before_last, self._last = before[-1] if full else shown, [shown, *full][-1]
        if full:
            between.show(PENDING, reduce(or_, full) | self.taken)

    def arriving(self) -> Signal:
        """Return whether a row comes into the last stage, or without stages passes."""
        return self._before_last & self.move

    def register(self, name: str, wire: Signal) -> Signal:
        """A register of a stage, which takes over the wire when the stages move."""
        held: Signal = DataRegister(len(wire), name)
        held.next <<= pyrtl.select(self.move, wire, held)
        return held

    def stage(self, number: int, row: Row) -> Row:
        """The row behind the registers of a stage."""
        return self._registers(f"stage{number:02}", row)

    def leave(self, row: Row) -> None:
        """Let the row out behind the registers of the last stage, a stop with zeros."""
        self._sink.send_lanes(self._last, self._registers("last", _blanked(row)))

    def pass_out(self, row: Row) -> None:
        """Let the row out as it is behind the last stage: the register behind is the receiver's."""
        self._sink.send_lanes(self._last, _blanked(row))

    def _registers(self, name: str, row: Row) -> Row:
        return [
            {field: self.register(f"{name}_lane{i:02}_{field}", wire) for field, wire in lane.items()}
            for i, lane in enumerate(row)
        ]


def _blanked(row: Row) -> Row:
    return [blank_if_stop(lane) for lane in row]
