# cython: infer_types=True
"""Lookups in fibers: a block that computes the coordinate to look up, and a block that finds its element."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, REF, STOP
from fiberscope.sim import inline
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Port, Signal
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import ANY, Protocol

FIELDS = 3  # numbers in a term: factor, divisor, size; ``terms`` has them one term after the other


class Projection(StreamBlock):
    """Computes a coordinate of a tensor from the coordinates of loops.

    Interface: ``in_crd[0]``, ``in_crd[1]`` and so on carry coordinates of loops, in streams of the same
    shape. For each set of coordinates, ``out_crd`` carries ``constant`` plus the sum of ``factor *
    (coordinate // divisor % size)`` over all inputs. Such a sum is a part of a flattened coordinate, or an
    index such as q + s. A negative sum leaves as N, and so does a set with an N. Stops and done leave
    unchanged.

    Timing: one token a cycle, in the cycles in which all inputs show a token.

    Source: TeAAL (MICRO 2023), Section 3, has partitioned and flattened ranks, and computed indices. That a
    unit computes one coordinate a cycle is a choice of this model.

    Args:
        terms: for each input, its factor, divisor and size; size 0 omits the remainder.
        constant: number that is added to the sum.

    Raises:
        ValueError: if there is no term, or a divisor is less than 1.
        SimulationError: if there are not as many inputs as terms; during the run, if the streams differ in
            shape.
    """

    in_crd: list[Channel]
    out_crd: OutputStream
    PORTS = (Input("in_crd", CRD, array=True), output_stream("out_crd", CRD))

    def __init__(self, name: str, terms: Sequence[tuple[int, int, int]], constant: int = 0) -> None:
        super().__init__(name)
        least = min((divisor for _factor, divisor, _size in terms), default=0)
        if least < 1:
            fault = f"a divisor must be at least 1, not {least}" if terms else "a projection has terms"
            raise ValueError(f"{name}: {fault}")
        self.terms = array("q", [number for term in terms for number in term])
        self.constant = constant

    def elaborate(self) -> None:
        """Look up the streams of the ports.

        Raises:
            SimulationError: if ``in_crd`` does not have one channel for each term.
        """
        super().elaborate()
        terms = len(self.terms) // FIELDS
        if len(self.in_crd) != terms:
            raise SimulationError(f"{self.name} has {terms} terms, but {len(self.in_crd)} in_crd")

    def update(self, now: int) -> int:
        """Pop a token of each input, and send the sum, or the stop or done."""
        for index in range(len(self.in_crd)):
            if not inline.can_pop(self.in_crd, index):
                return self.wait_input(inline.channel(self.in_crd[index]))
        first_input: Channel = self.in_crd[0]
        kind, payload = first_input.control(), first_input.coordinate()
        self.check_shape(self.in_crd, now)
        # At a stop or done, the sum of the levels has no meaning, and is not used.
        computed = self._compute()
        for channel in self.in_crd:
            channel.pop()
        if kind in (STOP, DONE):
            self.out_crd.push(kind, payload)
        elif computed >= 0:
            self.out_crd.push(DATA, computed)
        else:
            self.out_crd.push(EMPTY)
        return self.finish(now) if kind == DONE else self.busy(now + 1)

    def _compute(self) -> int:
        """Return the computed coordinate of the heads, which can be negative; -1 if one of them is N."""
        total = self.constant
        for index in range(len(self.in_crd)):
            channel: Channel = self.in_crd[index]
            if channel.control() == EMPTY:
                return -1
            # Divisor and size select a part of a flattened coordinate, as a digit is selected by its base.
            digit = channel.coordinate() // self.terms[FIELDS * index + 1]
            size = self.terms[FIELDS * index + 2]
            if size > 0:
                digit %= size
            total += self.terms[FIELDS * index] * digit
        return total


class Seek(StreamBlock):
    """Looks up a coordinate in a fiber of a compressed level, and drops the tokens of a miss.

    Interface: ``in_crd`` carries the coordinates to look up, ``in_base`` the reference of the fiber of each
    lookup, and ``in_carried0`` and so on further streams of the same shape. On a hit, the position of the
    element leaves on ``out_located``, and the tokens of the further streams on
    ``out_carried0`` and so on. On a miss no token leaves; a coordinate or fiber N is a miss. Stops and done
    leave on all outputs.

    Timing: one token a cycle, in the cycles in which all inputs show a token. A lookup takes no further
    cycle: the RTL of this block holds the fiber in a memory that is addressed by coordinate.

    Counts: ``hits`` and ``misses``.

    Source: the locator of SAM (ASPLOS 2023), Definition 4.1, here for a level that is not dense. That further
    streams are filtered with the lookups is a choice of this model.

    Args:
        level: compressed level with the fibers.
        carries: protocol of each further stream.

    Raises:
        SimulationError: during the run, if a reference names no fiber, or the streams differ in shape.
    """

    COUNTERS = ("hits", "misses")
    SIGNALS = (*StreamBlock.SIGNALS, Signal("hits", 48), Signal("misses", 48))

    in_crd: Channel
    in_base: Channel
    out_located: OutputStream

    def __init__(self, name: str, level: Level, carries: Sequence[Protocol] = ()) -> None:
        super().__init__(name)
        self.level = level
        self.hits = self.misses = 0
        self.ports: tuple[Port, ...] = (
            Input("in_crd", CRD),
            Input("in_base", ANY),
            *(Input(f"in_carried{index}", carried) for index, carried in enumerate(carries)),
            output_stream("out_located", REF),
            *(output_stream(f"out_carried{index}", carried) for index, carried in enumerate(carries)),
        )

    def declared_ports(self) -> tuple[Port, ...]:  # C: def
        """Return the ports; their number depends on the number of further streams."""
        return self.ports

    def update(self, now: int) -> int:
        """Pop a token of each input, and look up the coordinate or send the stop or done."""
        for index in range(len(self.inputs)):
            if not inline.can_pop(self.inputs, index):
                return self.wait_input(inline.channel(self.inputs[index]))
        self.check_shape(self.inputs, now)
        kind = self._kind()
        if kind in (STOP, DONE):
            self.send_control(kind, self.in_crd.coordinate())
        else:
            self._seek(kind)
        for channel in self.inputs:
            channel.pop()
        return self.finish(now) if kind == DONE else self.busy(now + 1)

    def _kind(self) -> int:
        """Return the kind of the heads; N if the coordinate or the fiber of the lookup is N."""
        kind, base = self.in_crd.control(), self.in_base.control()
        return EMPTY if EMPTY in (kind, base) else kind

    def _seek(self, kind: int) -> None:
        """Look up the coordinate at the heads; on a hit, send its position and the further streams."""
        if kind == EMPTY:
            self.misses += 1
            return
        fiber, sought = self.in_base.coordinate(), self.in_crd.coordinate()
        self.level.check_fiber(fiber, self.name)
        # The first element that is not below the sought coordinate: the sought element, if the fiber has it.
        position = self.level.find(fiber, sought)
        if position == self.level.end(fiber) or self.level.coordinate(position) != sought:
            self.misses += 1
            return
        self.hits += 1
        self.out_located.push(DATA, position)
        # Before the further streams, there are two inputs (``in_crd``, ``in_base``), but one output.
        for stream_index in range(1, len(self.streams)):
            stream: OutputStream = self.streams[stream_index]
            channel: Channel = self.inputs[stream_index + 1]
            stream.forward(channel)
