# cython: infer_types=True
"""Pipelined multipliers for addresses and positions: a product and a sum a lane, several lanes a cycle."""

from __future__ import annotations

from fiberscope.hw.lanes.rows import ConstantPipeline, check_size
from fiberscope.hw.stream import STREAM
from fiberscope.sim.component import Input, Output, Signal
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import Protocol

FACTOR = Protocol("factor", coordinate="factor")  # of an array

DEPTH = 3  # C: object; stages


def digit_bits(width: int) -> int:
    """Bits of a factor that a stage multiplies by: a third of them, rounded up."""
    return -(-width // DEPTH)


class PositionMultiplier(ConstantPipeline):
    """Multiplies the numbers of an array by one factor and adds an offset: row * columns + column.

    Interface: an array comes in on ``lanes`` and leaves on ``products``, row by row, see
    ``fiberscope.hw.lanes.rows``, and has one token on ``factors``. The coordinate of an element is the
    number, its reference an unsigned offset. It leaves with coordinate * factor + offset, modulo
    2**``width``, as coordinate, and its value.

    Timing: a row is taken when all lanes show their token, one row a cycle, and can be seen behind ``DEPTH``
    cycles later where the channels at ``products`` have a latency of 1: they are the last stage's register.
    Each stage adds the product with a digit of the factor. Stages in step and accounting: see
    ``fiberscope.hw.lanes.divider.Divider``.

    Counts: ``rows``; ``multiply``, the numbers.

    Source: MINT (Section VII-B) has eight multipliers of 32 bits for addresses and positions. The adder
    behind and three digits in three stages are choices of this model.

    Args:
        name: instance name.
        lanes: products a cycle, 1 to 256.
        width: bits of number, factor, offset and result, 1 to 62.

    Raises:
        ValueError: for a number out of its range.
        SimulationError: as ``fiberscope.hw.lanes.divider.Divider``; and in the run, if an offset is no
            unsigned integer of ``width`` bits.
    """

    PORTS = (
        Input("factors", FACTOR),
        Input("lanes", STREAM, array=True),
        Output("products", STREAM, array=True),
    )

    def __init__(self, name: str, lanes: int = 8, width: int = 32) -> None:
        check_size(name, lanes, width)
        super().__init__(name, ("lanes", "products"), lanes, width, DEPTH - 1, "factors")
        self.stages = DEPTH
        self.digit = digit_bits(width)

    def _compute(self, number: int, reference: int, place: int) -> None:
        if reference < 0 or reference > self.largest:
            raise SimulationError(
                f"{self.name}: the offset {reference} is no unsigned integer of {self.width} bits"
            )
        total = reference  # C: long
        for stage in range(self.stages):
            digit = self.constant >> stage * self.digit & (1 << self.digit) - 1
            total += (number * digit & self.largest) << stage * self.digit
        self.coordinates[place] = total & self.largest
        self.references[place] = 0

    def counters(self) -> dict[str, int]:
        """Rows taken, and numbers multiplied."""
        return {"rows": self.rows, "multiply": self.numbers}

    def signals(self) -> tuple[Signal, ...]:
        """Rows in the pipeline, the factor of the array taken last, and all numbers so far."""
        return (Signal("in_flight", 2), Signal("factor", 62), Signal("multiply", 48))

    def sample(self) -> tuple[int, ...]:
        """Current values of the signals."""
        return (self.pipeline.filled, self.constant, self.numbers)
