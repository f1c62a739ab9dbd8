# cython: infer_types=True
"""Pipelined dividers of unsigned integers, which return quotient and remainder on several lanes a cycle."""

from __future__ import annotations

from fiberscope.hw.lanes.rows import ConstantPipeline, check_size
from fiberscope.hw.stream import STREAM
from fiberscope.sim.component import Input, Output, Signal
from fiberscope.sim.protocol import Protocol

DIVISOR = Protocol("divisor", coordinate="divisor")  # one token for each array


def depth(width: int, bits_per_stage: int) -> int:
    """Return the cycles from a dividend to its quotient: ``width / bits_per_stage``, rounded up."""
    return -(-width // bits_per_stage)


class Divider(ConstantPipeline):
    """A divider of the numbers of an array by one divisor, ``lanes`` numbers a cycle.

    Interface: ``dividends`` receives arrays and ``results`` sends arrays, row by row, see
    ``fiberscope.hw.lanes.rows``. ``divisors`` receives one token for each array, for all lanes. It is popped
    together with the first row of the array, even if that row holds only stops, and takes no cycle. The
    coordinate of a received token is the dividend. The sent token has the quotient as coordinate, the
    remainder as reference and the received value; the received reference is dropped. For example, a position
    in a matrix of K columns, divided by K, becomes row, column and value.

    A division by zero returns a quotient of all ones and the dividend as remainder, as in RISC-V (The RISC-V
    Instruction Set Manual, volume I, M extension, table "Semantics for division by zero"). Restoring division
    has this result without a special case.

    Timing: a row is accepted when all lanes have a token, one row a cycle, also from one array to the next.
    Its results are sent together ``depth`` cycles later, when all of ``results`` have a free slot. While the
    oldest row is blocked, all stages stall and no row is accepted, see ``fiberscope.hw.lanes.pipeline``. The
    latency of the channels at ``results`` is additional. If the divider is not ``registered``, these
    channels are the register of the last stage, and its own depth is one less.

    Accounting: busy while rows move; waiting for output while the oldest row is blocked. An empty divider
    waits for the first lane without a token, if it is within an array or if another lane or ``divisors`` has
    a token. It waits for the divisor if only the divisor is missing.

    Source: MINT divides positions by a dimension in parallel divide and mod units (Section V-B), of which it
    has eight, all pipelined (Section VII-B). Radix-2 restoring division, the textbook method, and its depth
    are choices of this model.

    Args:
        lanes: divisions a cycle, 1 to 256.
        width: bits of dividend, divisor, quotient and remainder, 1 to 62.
        bits_per_stage: bits of the quotient that a stage computes, 1 to ``width``.
        registered: whether the last stage has a register of its own.

    Raises:
        ValueError: if a number is out of its range.
        SimulationError: when built, unless ``dividends`` and ``results`` have ``lanes`` connected ports each;
            during the run, if a dividend or divisor is not an unsigned integer of ``width`` bits, or a
            dividend follows a stop in its row.
    """

    PORTS = (
        Input("divisors", DIVISOR),
        Input("dividends", STREAM, array=True),
        Output("results", STREAM, array=True),
    )

    def __init__(
        self, name: str, lanes: int = 1, width: int = 32, bits_per_stage: int = 1, *, registered: bool = True
    ) -> None:
        check_size(name, lanes, width)
        if not 1 <= bits_per_stage <= width:
            raise ValueError(
                f"{name}: bits_per_stage must be from 1 to {width}, its width, not {bits_per_stage}"
            )
        stages = depth(width, bits_per_stage) - (0 if registered else 1)
        super().__init__(name, ("dividends", "results"), lanes, width, stages, "divisors")
        self.bits_per_stage = bits_per_stage
        self.by_zero = 0

    def _compute(self, number: int, reference: int, index: int) -> None:
        """Write the quotient and the remainder of a number; see the class for a divisor of 0."""
        if self.constant == 0:
            self.by_zero += 1
            self.coordinates[index] = self.largest
            self.references[index] = number
        else:
            self.coordinates[index] = number // self.constant
            self.references[index] = number % self.constant

    def counters(self) -> dict[str, int]:
        """Return the numbers of rows accepted, divisions, and divisions by zero."""
        return {"rows": self.rows, "divide": self.numbers, "by_zero": self.by_zero}

    def signals(self) -> tuple[Signal, ...]:
        """Return the signals: rows in the pipeline, divisor of the current array, divisions so far."""
        return (Signal("in_flight", 6), Signal("divisor", 62), Signal("divisions", 48))

    def sample(self) -> tuple[int, ...]:
        """Return the current values of the signals."""
        return (self.pipeline.filled, self.constant, self.numbers)
