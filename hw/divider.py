"""A pipelined divider: quotient and remainder of unsigned integers, one division a cycle."""

from __future__ import annotations

from array import array

from hw.pipeline import Pipeline
from hw.stream import DATA, STOP, STREAM
from sim.component import Component, Input, Output, Signal
from sim.errors import SimulationError

DIVISOR = "divisor"  # protocol: coordinate = the divisor of a fiber
MAXIMUM_WIDTH = 62  # as a prefix sum's


def depth(width: int, bits_per_stage: int) -> int:
    """Cycles from a dividend in to its quotient out: width / bits_per_stage, rounded up."""
    return -(-width // bits_per_stage)


def subtractors(width: int) -> int:
    """Subtractors: one for each bit of the quotient, however many bits a stage finds."""
    return width


class Divider(Component):
    """Divides the elements of a fiber by one divisor: quotient and remainder leave in one token.

    Interface: every fiber on ``dividends`` has a token on ``divisors``, taken together with its first token,
    be that a stop; so a constant is loaded once a fiber, and costs no cycle. The coordinate of an element is
    the dividend. On ``results`` its coordinate is the quotient, its reference the remainder; the reference
    it came with is dropped, its value stays with it. So a position in a matrix of K columns, divided by K,
    becomes row, column and value. Stops keep their places. Division by zero gives a quotient of all ones and
    the dividend as remainder, as in RISC-V (The RISC-V Instruction Set Manual, volume I, M extension, table
    "Semantics for division by zero"), which is what restoring division gives of itself.

    Timing: one division a cycle, from one fiber to the next too. A token is taken in the cycle in which it is
    seen and leaves ``depth`` cycles later. The stages move in step: while the oldest token cannot leave,
    nothing moves and none is taken, see ``hw.pipeline``. This depth is the block's own; the latency of the
    channel at ``results`` comes on top.

    Accounting: busy while tokens move through it; waiting for output while the oldest cannot leave; empty,
    but within a fiber or with only one of dividend and divisor there, waiting for the other.

    Source: MINT (Section V-B) divides positions by a dimension in parallel divide and mod units, which must
    be pipelined (Section VII-B). Radix-2 restoring division is the textbook method; with its depth it is a
    choice of this model.

    Args:
        name: instance name.
        width: bits of dividend, divisor, quotient and remainder, 1 to 62.
        bits_per_stage: bits of the quotient that a stage finds in a cycle, 1 to ``width``.

    Raises:
        ValueError: for a number out of its range.
        SimulationError: in the run, if a dividend or divisor is not an unsigned integer of ``width`` bits.
    """

    PORTS = (Input("divisors", DIVISOR), Input("dividends", STREAM), Output("results", STREAM))

    def __init__(self, name: str, width: int = 32, bits_per_stage: int = 1) -> None:
        super().__init__(name)
        if not 1 <= width <= MAXIMUM_WIDTH:
            raise ValueError(f"{name}: width must be from 1 to {MAXIMUM_WIDTH}, not {width}")
        if not 1 <= bits_per_stage <= width:
            raise ValueError(
                f"{name}: bits_per_stage must be from 1 to {width}, its width, not {bits_per_stage}"
            )
        self.width = width
        self.bits_per_stage = bits_per_stage
        self.largest = (1 << width) - 1
        self.pipeline = Pipeline(depth(width, bits_per_stage))
        slots = self.pipeline.depth
        self.controls = array("q", bytes(8 * slots))
        self.quotients = array("q", bytes(8 * slots))
        self.remainders = array("q", bytes(8 * slots))
        self.values = array("d", bytes(8 * slots))
        self.within = False  # a fiber
        self.divisor = 0  # of the fiber taken last
        self.divisions = 0
        self.by_zero = 0

    def elaborate(self) -> None:
        """Fetch the channels."""
        self.divisors = self.channel("divisors")
        self.dividends = self.channel("dividends")
        self.results = self.channel("results")

    def tick(self, now: int) -> int:
        """Let the oldest token leave, if it is at the end, and take a new one."""
        pipeline = self.pipeline
        leaves = pipeline.stands(now)
        if leaves:
            if not self.results.can_push():
                return self.wait_output(self.results)
            self._leave(now)
        shown = self.dividends.can_pop()
        loaded = self.within or self.divisors.can_pop()
        enters = shown and loaded
        if enters:
            self._enter(now)
        if leaves or enters:
            return self.busy(now + 1)
        if pipeline.filled > 0:
            return self.busy(pipeline.due())
        if loaded:
            return self.wait_input(self.dividends)
        return self.wait_input(self.divisors) if shown else self.idle()

    def _enter(self, now: int) -> None:
        """Take a token, with the divisor if it is a fiber's first; the result waits in the pipeline."""
        dividends = self.dividends
        if not self.within:
            self.divisor = self._checked(self.divisors.coordinate(), "divisors")
            self.divisors.pop()
        slot = self.pipeline.enter(now)
        self.controls[slot] = dividends.control()
        self.within = dividends.control() != STOP
        if self.within:
            self._divide(self._checked(dividends.coordinate(), "dividends"), slot)
            self.values[slot] = dividends.value()
        dividends.pop()

    def _checked(self, number: int, port: str) -> int:
        if number < 0 or number > self.largest:
            raise SimulationError(
                f"{self.name}: {number} at {port} is no unsigned integer of {self.width} bits"
            )
        return number

    def _divide(self, dividend: int, slot: int) -> None:
        self.divisions += 1
        if self.divisor == 0:
            self.by_zero += 1
            self.quotients[slot] = self.largest
            self.remainders[slot] = dividend
        else:
            self.quotients[slot] = dividend // self.divisor
            self.remainders[slot] = dividend % self.divisor

    def _leave(self, now: int) -> None:
        slot = self.pipeline.leave(now)
        if self.controls[slot] == STOP:
            self.results.push(STOP, 0, 0, 0.0)
        else:
            self.results.push(DATA, self.quotients[slot], self.remainders[slot], self.values[slot])

    def counters(self) -> dict[str, int]:
        """Divisions begun, and those of them by zero."""
        return {"divide": self.divisions, "by_zero": self.by_zero}

    def signals(self) -> tuple[Signal, ...]:
        """Tokens in the pipeline, the divisor of the fiber taken last, and all divisions begun so far."""
        return (Signal("in_flight", 6), Signal("divisor", 62), Signal("divisions", 48))

    def sample(self) -> tuple[int, ...]:
        """Current values of the signals."""
        return (self.pipeline.filled, self.divisor, self.divisions)
