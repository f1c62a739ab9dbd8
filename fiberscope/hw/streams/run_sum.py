# cython: infer_types=True
"""A block that adds up the values of consecutive equal coordinates."""

from __future__ import annotations

from fiberscope.hw.streams.alu import operate
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.operations import operation_code
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, VAL
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input

__all__ = ["RunSum"]


class RunSum(StreamBlock):
    """Adds up runs of equal coordinates, as they come from a merger.

    Interface: ``in_crd`` and ``in_val`` carry points; the points of a coordinate are consecutive and form a
    run. For each run, the coordinate leaves on ``out_crd`` and the sum of its values on ``out_val``. Stops
    and done end a run and leave on both outputs. A value N counts as 0.

    Timing: one point a cycle. The sum of a run leaves in the cycle in which the first point of the next run
    is taken. Before a stop or done, the sum leaves in a cycle in which no token is popped.

    Counts: ``additions``.

    Source: the accumulator after Gamma's merger (ASPLOS 2021). Its use on streams with stops is a choice of
    this model.

    Args:
        operation: name of the binary operation of ``Alu`` that replaces the addition.

    Raises:
        ValueError: if there is no such operation.
        SimulationError: during the run, if the streams differ in shape.
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
        self.operation, self.code = operation, operation_code(name, operation)
        self.open = False  # whether a run has started
        self.coordinate = 0  # coordinate of the current run
        self.sum = 0.0
        self.additions = 0

    def update(self, now: int) -> int:
        """Take a point, or send the sum of a run that ends."""
        crd, val = self.in_crd, self.in_val
        if not crd.can_pop():
            return self.wait_input(crd)
        if not val.can_pop():
            return self.wait_input(val)
        kind = crd.control()
        self.check_shape(self.inputs, now, False)
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
        """Add a value to the sum of the current run, or begin a run with the value."""
        self.additions += self.open
        self.sum = operate(self.code, self.sum, value, self.value_type) if self.open else value
        self.open, self.coordinate = True, coordinate

    def _send(self) -> None:
        """Send the coordinate and the sum of the current run, and end the run."""
        self.out_crd.push(DATA, self.coordinate)
        self.out_val.push(DATA, 0, self.sum)
        self.open = False
