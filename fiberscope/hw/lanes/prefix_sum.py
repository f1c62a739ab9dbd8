# cython: infer_types=True
"""Prefix sums of an array, several numbers a cycle, with three alternative networks of adders."""

from __future__ import annotations

from fiberscope.hw.lanes.rows import ArrayPipeline, check_size
from fiberscope.hw.stream import STREAM
from fiberscope.sim.component import Input, Output, Signal

SERIAL = "serial"
WORK_EFFICIENT = "work-efficient"
PARALLEL = "parallel"
FORMS = (SERIAL, WORK_EFFICIENT, PARALLEL)

Level = tuple[
    tuple[int, int], ...
]  # adders (from, to) of a level; an adder adds lane ``from`` to lane ``to``


def network(form: str, lanes: int) -> tuple[Level, ...]:
    """Return the adders of a network level by level, without the final adders of the offset.

    The inputs of each level are the results of the level before it.

    - ``serial``: a chain with store and forward. The row is stored in the first level. In level i, lane i
      adds the sum up to lane i - 1, which it gets from its neighbour.
    - ``work-efficient`` (Brent and Kung 1982): an adder tree, followed by the inverse tree.
    - ``parallel`` (Kogge and Stone 1973): level k adds the sum of lane i - 2**k to every lane i.

    Args:
        form: ``"serial"``, ``"work-efficient"`` or ``"parallel"``; not checked.
        lanes: number of lanes, at least 1.

    Returns:
        For each level, the pairs of lanes (from, to) of its adders. The first level of ``serial`` has none.
    """
    if form == SERIAL:
        return ((), *(((lane - 1, lane),) for lane in range(1, lanes)))
    spans = [1 << level for level in range((lanes - 1).bit_length())]
    if form == PARALLEL:
        return tuple(tuple((lane - span, lane) for lane in range(span, lanes)) for span in spans)
    up_sweep = [_strided(2 * span - 1, span, lanes) for span in spans]
    down_sweep = [_strided(3 * span - 1, span, lanes) for span in reversed(spans)]
    return tuple(level for level in up_sweep + down_sweep if level)


def _strided(first: int, span: int, lanes: int) -> Level:
    return tuple((lane - span, lane) for lane in range(first, lanes, 2 * span))


def depth(form: str, lanes: int) -> int:
    """Return the cycles from a row to its sums: one for each level, and one for the adders of the offset.

    With n lanes:

    - ``serial``: n + 1, including a cycle to store the row;
    - ``work-efficient``: floor(log2 n) + floor(log2(n / 3)) + 2, which is 2 log2 n for a power of two; n for
      fewer than 3 lanes;
    - ``parallel``: ceil(log2 n) + 1.
    """
    if form == SERIAL:
        return lanes + 1
    if form == WORK_EFFICIENT:
        # A bit length is the floor of the logarithm plus 1, and 0 for 0: up to 2 lanes have no inverse tree
        return lanes.bit_length() + (lanes // 3).bit_length()
    return (lanes - 1).bit_length() + 1


def adders(form: str, lanes: int) -> int:
    """Return the number of adders, including one adder of the offset for each lane.

    With n lanes:

    - ``serial``: 2n - 1;
    - ``work-efficient``: 3n - 1 - floor(log2 n) - (number of ones in the binary form of n), which is 3n - 2
      - log2 n for a power of two;
    - ``parallel``: n (l + 1) - 2**l + 1 with l = ceil(log2 n).
    """
    if form == SERIAL:
        return 2 * lanes - 1
    if form == WORK_EFFICIENT:
        return 3 * lanes - lanes.bit_length() - lanes.bit_count()
    levels = (lanes - 1).bit_length()
    return lanes * (levels + 1) - (1 << levels) + 1


class PrefixSum(ArrayPipeline):
    """A unit that computes inclusive prefix sums of arrays of unsigned integers, ``lanes`` numbers a cycle.

    Interface: ``lanes`` receives arrays and ``sums`` sends arrays, row by row, see
    ``fiberscope.hw.lanes.rows``. The coordinate of a received token is a number. The coordinate of the sent
    token is the sum of this number and all numbers before it in the array, modulo 2**``width``. Reference
    and value are not changed. Each array starts from 0.

    Timing: a row is accepted when all lanes have a token, one row a cycle. Its sums are sent together
    ``depth`` cycles later, when all of ``sums`` have a free slot. While the oldest row is blocked, all
    stages stall and no row is accepted, see ``fiberscope.hw.lanes.pipeline``. The latency of the channels at
    ``sums`` is additional. If the unit is not ``registered``, these channels are the register of the last
    stage, and its own depth is one less; a depth of 0 sends a row in the cycle in which it is accepted. The
    functions ``adders`` and ``depth`` return the cost of each form.

    Accounting: busy while rows move; waiting for output while the oldest row is blocked. An empty unit waits
    for the first lane without a token, if it is within an array or another lane has a token.

    Source: MINT (Section V-A, Figure 9): serial chain, work-efficient and highly parallel. The last stage of
    each network adds the offset, which is the last sum of the row before, so that a row can follow in every
    cycle.

    Args:
        form: ``"serial"``, ``"work-efficient"`` or ``"parallel"``.
        lanes: numbers a cycle, 1 to 256.
        width: bits of a number and of a sum, 1 to 62; 32 in MINT.
        registered: whether the last stage has a register of its own.

    Raises:
        ValueError: if the form is unknown, or a number is out of its range.
        SimulationError: when built, unless both port arrays have a connected port for each lane; during the
            run, if a number is not an unsigned integer of ``width`` bits, or follows a stop in its row.
    """

    PORTS = (Input("lanes", STREAM, array=True), Output("sums", STREAM, array=True))
    COUNTERS = ("rows", "numbers")  # accepted; each adder adds once for each row

    def __init__(self, name: str, form: str, lanes: int, width: int = 32, *, registered: bool = True) -> None:
        _check_form(name, form)
        check_size(name, lanes, width)
        stages = depth(form, lanes) - (0 if registered else 1)
        super().__init__(name, ("lanes", "sums"), lanes, width, stages)
        self.form = form  # C: str
        self.total = 0  # sum over the current array so far

    def _begin_array(self) -> None:
        self.total = 0

    def _compute(self, number: int, reference: int, index: int) -> None:
        self.total = (self.total + number) & self.largest
        self.coordinates[index] = self.total
        self.references[index] = reference

    def signals(self) -> tuple[Signal, ...]:
        """Return the signals: rows in the pipeline, sum of the current array so far, numbers so far."""
        return (Signal("in_flight", 9), Signal("total", 62), Signal("numbers", 48))

    def sample(self) -> tuple[int, ...]:
        """Return the current values of the signals."""
        return (self.pipeline.filled, self.total, self.numbers)


class PrefixPopcount(ArrayPipeline):
    """A unit that computes prefix sums of the ones in the words of a bitmap, ``lanes`` words a cycle.

    Interface and timing are those of ``PrefixSum``, with an additional stage that counts the ones of each
    word. Without ``registers``, a row is sent in the cycle in which it is accepted. The coordinate of a
    received token is a word of ``width`` bits. The coordinate of the sent token is the number of ones in
    this word and all words before it in the array, modulo 2**``sum_width``; its reference is the word, and
    the value is not changed. A one at bit b of a word therefore stands for the packed nonzero with the index
    (count - ones of the word + ones below b).

    Source: SIGMA (HPCA 2020) packs nonzeros in the order of their bits. The networks are those of MINT.

    Args:
        form: ``"serial"``, ``"work-efficient"`` or ``"parallel"``.
        lanes: words a cycle, 1 to 256.
        width: bits of a word, 1 to 62.
        sum_width: bits of a count, 1 to 62.
        registers: 1 for a register after each stage, 0 for none.

    Raises:
        ValueError, SimulationError: as ``PrefixSum``.
    """

    PORTS = (Input("words", STREAM, array=True), Output("counts", STREAM, array=True))

    def __init__(
        self, name: str, form: str, lanes: int, width: int = 32, sum_width: int = 32, registers: int = 1
    ) -> None:
        _check_form(name, form)
        check_size(name, lanes, width)
        check_size(name, lanes, sum_width)
        super().__init__(name, ("words", "counts"), lanes, width, (1 + depth(form, lanes)) * registers)
        self.form = form  # C: str
        self.largest_sum = (1 << sum_width) - 1
        self.total = 0  # sum over the current array so far

    def _begin_array(self) -> None:
        self.total = 0

    def _compute(self, number: int, reference: int, index: int) -> None:
        """Add the ones of a word to the sum, and write the sum and the word."""
        self.references[index] = number
        while number:
            self.total += 1
            number &= number - 1
        self.total &= self.largest_sum
        self.coordinates[index] = self.total

    def counters(self) -> dict[str, int]:
        """Return the numbers of rows and of words accepted."""
        return {"rows": self.rows, "words": self.numbers}

    def signals(self) -> tuple[Signal, ...]:
        """Return the signals: rows in the pipeline, ones of the current array so far, words so far."""
        return (Signal("in_flight", 10), Signal("total", 62), Signal("words", 48))

    def sample(self) -> tuple[int, ...]:
        """Return the current values of the signals."""
        return (self.pipeline.filled, self.total, self.numbers)


def _check_form(name: str, form: str) -> None:
    if form not in FORMS:
        raise ValueError(f"{name}: form must be one of {', '.join(FORMS)}, not {form}")
