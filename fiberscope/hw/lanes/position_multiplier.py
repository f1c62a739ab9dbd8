# cython: infer_types=True
"""Pipelined multiply-add units for addresses and positions, several lanes a cycle."""

from __future__ import annotations

from fiberscope.hw.lanes.rows import ConstantPipeline, check_size
from fiberscope.hw.stream import STREAM
from fiberscope.sim.component import Input, Output, Signal
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import Protocol

FACTOR = Protocol("factor", coordinate="factor")  # one token for each array

DEPTH = 3  # C: object; stages


def digit_bits(width: int) -> int:
    """Return the bits of a digit, the part of a factor that a stage multiplies by: a third, rounded up."""
    return -(-width // DEPTH)


class PositionMultiplier(ConstantPipeline):
    """A multiplier that computes number * factor + offset, such as row * columns + column, on several lanes.

    Interface: ``lanes`` receives arrays and ``products`` sends arrays, row by row, see
    ``fiberscope.hw.lanes.rows``. ``factors`` receives one token for each array. The coordinate of a received
    token is the number, its reference an unsigned offset. The sent token has coordinate * factor + offset,
    modulo 2**``width``, as coordinate, the received value, and 0 as reference.

    Timing: a row is accepted when all lanes have a token, one row a cycle. The reader sees its results
    ``DEPTH`` cycles later if the channels at ``products`` have a latency of 1, as they are the register of
    the last stage. Each stage adds the product of the number and a digit of the factor. The stages stall,
    and cycles are accounted for, as in ``fiberscope.hw.lanes.divider.Divider``.

    Counts: ``rows``, the rows accepted; ``multiply``, the numbers multiplied.

    Source: MINT (Section VII-B) has eight multipliers of 32 bits for addresses and positions. The addition of
    an offset, and three digits in three stages, are choices of this model.

    Args:
        lanes: products a cycle, 1 to 256.
        width: bits of number, factor, offset and result, 1 to 62.

    Raises:
        ValueError: if a number is out of its range.
        SimulationError: as ``fiberscope.hw.lanes.divider.Divider``; also during the run, if an offset is not
            an unsigned integer of ``width`` bits.
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

    def _compute(self, number: int, reference: int, index: int) -> None:
        """Write the product plus the offset, computed digit by digit as in the stages."""
        if reference < 0 or reference > self.largest:
            raise SimulationError(
                f"{self.name}: the offset {reference} is no unsigned integer of {self.width} bits"
            )
        total = reference  # C: long
        # Each product is cut to ``width`` bits. Higher bits do not change the result, and could overflow a
        # word of the host.
        for stage in range(self.stages):
            digit = self.constant >> stage * self.digit & (1 << self.digit) - 1
            total += (number * digit & self.largest) << stage * self.digit
        self.coordinates[index] = total & self.largest
        self.references[index] = 0

    def counters(self) -> dict[str, int]:
        """Return the numbers of rows accepted and of numbers multiplied."""
        return {"rows": self.rows, "multiply": self.numbers}

    def signals(self) -> tuple[Signal, ...]:
        """Return the signals: rows in the pipeline, factor of the current array, numbers so far."""
        return (Signal("in_flight", 2), Signal("factor", 62), Signal("multiply", 48))

    def sample(self) -> tuple[int, ...]:
        """Return the current values of the signals."""
        return (self.pipeline.filled, self.constant, self.numbers)
