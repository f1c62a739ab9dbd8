# cython: infer_types=True
"""Pipelined dividers: quotient and remainder of unsigned integers, a row of several lanes a cycle."""

from __future__ import annotations

from fiberscope.hw.lanes.rows import ConstantPipeline, check_size
from fiberscope.hw.stream import STREAM
from fiberscope.sim.component import Input, Output, Signal
from fiberscope.sim.protocol import Protocol

DIVISOR = Protocol("divisor", coordinate="divisor")  # of an array


def depth(width: int, bits_per_stage: int) -> int:
    """Cycles from a dividend in to its quotient out: width / bits_per_stage, rounded up."""
    return -(-width // bits_per_stage)


class Divider(ConstantPipeline):
    """Divides the numbers of an array by one divisor, ``lanes`` numbers a cycle: quotient and remainder.

    Interface: an array comes in on ``dividends`` and leaves on ``results``, row by row, see
    ``fiberscope.hw.lanes.rows``. It has one token on ``divisors``, for all lanes, taken together with its
    first row, even one of stops; so a constant is loaded once an array, and costs no cycle. The coordinate of
    an element is the dividend. It leaves with the quotient as coordinate and the remainder as reference; the
    reference it came with is dropped, its value stays with it. So a position in a matrix of K columns,
    divided by K, becomes row, column and value. Division by zero gives a quotient of all ones and the
    dividend as remainder, as in RISC-V (The RISC-V Instruction Set Manual, volume I, M extension, table
    "Semantics for division by zero"), which is what restoring division gives of itself.

    Timing: a row is taken when all lanes show their token, one row a cycle, from one array to the next too;
    its results leave together ``depth`` cycles later, when all of ``results`` have space. The stages move in
    step: while the oldest row cannot leave, nothing moves and no row is taken, see
    ``fiberscope.hw.lanes.pipeline``. This depth is the block's own; the latency of the channels at
    ``results`` comes on top. Not ``registered``, it leaves the last stage's register to them, and its own
    depth is one less.

    Accounting: busy while rows move through it; waiting for output while the oldest cannot leave; empty,
    waiting for the first lane that shows no token, within an array or where another lane or a divisor is
    there; waiting for the divisor where only that is missing.

    Source: MINT (Section V-B) divides positions by a dimension in parallel divide and mod units, eight of
    them and pipelined (Section VII-B). Radix-2 restoring division is the textbook method; with its depth it
    is a choice of this model.

    Args:
        name: instance name.
        lanes: divisions a cycle, 1 to 256.
        width: bits of dividend, divisor, quotient and remainder, 1 to 62.
        bits_per_stage: bits of the quotient that a stage finds in a cycle, 1 to ``width``.
        registered: whether the last stage has a register of its own.

    Raises:
        ValueError: for a number out of its range.
        SimulationError: when built, unless as many of ``dividends`` and ``results`` are connected as it has
            lanes; in the run, if a dividend or divisor is no unsigned integer of ``width`` bits, or a
            dividend is behind a stop in its row.
    """

    PORTS = (
        Input("divisors", DIVISOR),
        Input("dividends", STREAM, array=True),
        Output("results", STREAM, array=True),
    )

    def __init__(
        self,
        name: str,
        lanes: int = 1,
        width: int = 32,
        bits_per_stage: int = 1,
        *,
        registered: bool = True,
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

    def _compute(self, number: int, reference: int, place: int) -> None:
        if self.constant == 0:
            self.by_zero += 1
            self.coordinates[place] = self.largest
            self.references[place] = number
        else:
            self.coordinates[place] = number // self.constant
            self.references[place] = number % self.constant

    def counters(self) -> dict[str, int]:
        """Rows taken, divisions begun, and those of them by zero."""
        return {"rows": self.rows, "divide": self.numbers, "by_zero": self.by_zero}

    def signals(self) -> tuple[Signal, ...]:
        """Rows in the pipeline, the divisor of the array taken last, and all divisions begun so far."""
        return (Signal("in_flight", 6), Signal("divisor", 62), Signal("divisions", 48))

    def sample(self) -> tuple[int, ...]:
        """Current values of the signals."""
        return (self.pipeline.filled, self.constant, self.numbers)
