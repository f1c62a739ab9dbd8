# cython: infer_types=True
"""Sums of values that have the same coordinate and come one behind the other."""

from __future__ import annotations

from fiberscope.hw.streams.alu import operate
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.operations import BINARY
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, VAL
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input
from fiberscope.sim.errors import SimulationError

__all__ = ["RunSum"]


class RunSum(StreamBlock):
    """Adds up runs of equal coordinates, as a merger leaves them.

    Interface: points on ``in_crd`` and ``in_val``, equal coordinates behind one another; a coordinate and the
    sum of its values leave on ``out_crd`` and ``out_val``. Stops and done pass, and end a run. A value N
    counts as 0.

    Timing: a point a cycle; the sum of a run leaves with the first point of the next, or in a cycle of its
    own in front of a stop.

    Counts: ``additions``.

    Source: the accumulator behind Gamma's merger (ASPLOS 2021); on streams with stops, a choice of ours.

    Args:
        name: instance name.
        operation: an operation of ``Alu`` that makes one value of two, in the place of a sum.

    Raises:
        SimulationError: in the run, if the streams differ in shape.
    """

    PORTS = (
        Input("in_crd", CRD),
        Input("in_val", VAL),
        output_stream("out_crd", CRD),
        output_stream("out_val", VAL),
    )
    COUNTERS = ("additions",)

    in_crd: Channel
    in_val: Channel
    out_crd: OutputStream
    out_val: OutputStream

    def __init__(self, name: str, operation: str = "add") -> None:
        super().__init__(name)
        self.operation, self.code = operation, BINARY[operation]
        self.open = False  # a run has begun
        self.coordinate = 0  # its coordinate
        self.sum = 0.0
        self.additions = 0

    def update(self, now: int) -> int:
        """Take a point, or what ends a run."""
        crd, val = self.in_crd, self.in_val
        if not crd.can_pop():
            return self.wait_input(crd)
        if not val.can_pop():
            return self.wait_input(val)
        kind = crd.control()
        element = val.control() in (DATA, EMPTY)
        if (kind == DATA) != element or (not element and kind != val.control()):
            raise SimulationError(f"cycle {now}, {self.name}: in_crd and in_val must have the same shape")
        if self.open and (kind != DATA or crd.coordinate() != self.coordinate):
            self._send()
            if kind != DATA:
                return self.busy(now + 1)
        if kind == DATA:
            self._add(crd.coordinate(), val.value() if val.control() == DATA else 0.0)
        else:
            self.send_control(kind, crd.coordinate())
        crd.pop()
        val.pop()
        return self.busy(now + 1) if kind != DONE else self.finish(now)

    def _add(self, coordinate: int, value: float) -> None:
        self.additions += self.open
        self.sum = operate(self.code, self.sum, value, self.value_type) if self.open else value
        self.open, self.coordinate = True, coordinate

    def _send(self) -> None:
        self.out_crd.push(DATA, self.coordinate)
        self.out_val.push(DATA, 0, self.sum)
        self.open = False
