"""A pipeline of rows whose stages move in step, as RTL; ``hw.rows`` is what components have for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_, or_
from typing import ClassVar, TypeAlias

import pyrtl

from hw.rtl.channel import PENDING
from hw.rtl.kit.adapter import Adapter
from hw.rtl.kit.backend import Backend
from hw.rtl.kit.interface import Interface, Stream, Token, streams
from hw.rtl.kit.twin import DataRegister, Signal, Streams, blank_if_stop, named
from hw.stream import DATA
from sim.channel import Channel

LANES = (1, 64)  # the least and the most of a twin; the components take more

STALLED = "stalled"  # status output: the oldest row cannot leave

Lane: TypeAlias = Mapping[str, Signal]  # of a row: its fields by name; ``control`` is high for a stop
Row: TypeAlias = list[Lane]


def row_interface(
    module: str,
    inputs: tuple[str, Mapping[str, int]],
    outputs: tuple[str, Mapping[str, int]],
    lanes: int,
    *others: Stream,
) -> Interface:
    """Ports: a stream in and out for every lane, and others; ``stalled`` and ``pending``.

    ``stalled`` is high while the oldest row cannot leave, ``pending`` while a row is inside or enters.

    Args:
        module: its name.
        inputs: name and fields of the input ports.
        outputs: name and fields of the output ports.
        lanes: how many there are of each.
        others: more streams.
    """
    sources = streams(inputs[0], "input", inputs[1], lanes)
    sinks = streams(outputs[0], "output", outputs[1], lanes)
    return Interface(module, (*others, *sources, *sinks), (STALLED, PENDING))


class Rows:
    """The streams of the lanes, and the control of the pipeline between them.

    A valid bit says for each stage whether a row is in it. All registers have one enable, ``move``: the last
    stage is empty, or its row leaves. A row enters when all lanes are valid and leaves when all outputs are
    ready, so that ``valid`` at the outputs is high only then.

    Args:
        between: the streams of the module.
        inputs: name of the input ports.
        outputs: name of the output ports.
        depth: stages, at least 1.
        loaded: whether all is there that a row needs beside its tokens; None for always.

    ``entering`` is the row that shows at the inputs, ``taken`` says whether it enters.
    """

    def __init__(
        self, between: Streams, inputs: str, outputs: str, depth: int, loaded: Signal | None = None
    ) -> None:
        lanes = [stream for label, stream in between.inputs.items() if label.startswith(f"{inputs}[")]
        self._outputs = [stream for label, stream in between.outputs.items() if label.startswith(outputs)]
        self.entering: Row = [lane.fields for lane in lanes]
        valid = [lane.valid for lane in lanes] + ([] if loaded is None else [loaded])
        shown = named("row_shown", _all(valid))
        ready = named("row_ready", _all([output.ready for output in self._outputs]))
        full: list[Signal] = [pyrtl.Register(1, f"full_{stage:02}") for stage in range(depth)]
        before = [shown, *full[:-1]]
        self.move = named("move", ~full[-1] | ready)
        self.taken = named("row_taken", shown & self.move)
        self._before_last = before[-1]
        self._leaves = named("row_leaves", full[-1] & ready)
        for stage, source in zip(full, before, strict=True):
            stage.next <<= pyrtl.select(self.move, source, stage)
        for lane in lanes:
            lane.accept(self.taken)
        between.show(STALLED, full[-1] & ~ready)
        between.show(PENDING, reduce(or_, full) | self.taken)

    def arriving(self) -> Signal:
        """Whether a row comes into the last stage."""
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
        blanked: Row = [blank_if_stop(lane) for lane in row]
        for lane, output in zip(self._registers("last", blanked), self._outputs, strict=True):
            output.send(self._leaves, lane)

    def _registers(self, name: str, row: Row) -> Row:
        return [
            {field: self.register(f"{name}_lane{i:02}_{field}", wire) for field, wire in lane.items()}
            for i, lane in enumerate(row)
        ]


def _all(wires: Sequence[Signal]) -> Signal:
    return reduce(and_, wires)


class RowStandIn(Adapter):
    """Stands in for a ``RowPipeline``; subclasses name the ports of its lanes."""

    INPUTS: ClassVar[str]
    OUTPUTS: ClassVar[str]

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        self.within = False  # an array
        self.rows = self.numbers = 0

    def observe(self, moved: Mapping[str, Token]) -> None:
        """Count rows, and numbers in them."""
        row = [token for port, token in moved.items() if port.startswith(f"{self.INPUTS}[")]
        if row:
            self.rows += 1
            self.numbers += sum(token.control == DATA for token in row)
            self.within = row[-1].control == DATA

    def account(self, now: int, moved: Mapping[str, Token], blocked: Channel | None) -> int:
        """Busy while rows move; else waiting for space, else for what is missing, else idle."""
        if moved:
            return self.busy(now + 1)
        if self.status[STALLED]:
            outputs = self.channels(self.OUTPUTS)
            return self.wait_output(next(output for output in outputs if not output.can_push()))
        if self.status[PENDING]:
            return self.busy(now + 1)
        missing = self.missing()
        return self.idle() if missing is None else self.wait_input(missing)

    def missing(self) -> Channel | None:
        """The first lane that shows no token, if something is begun without it."""
        lanes = self.channels(self.INPUTS)
        shown = [lane.can_pop() for lane in lanes]
        return lanes[shown.index(False)] if self.begun() or any(shown) else None

    def begun(self) -> bool:
        """Whether lanes are waited for, though none shows a token."""
        return self.within
