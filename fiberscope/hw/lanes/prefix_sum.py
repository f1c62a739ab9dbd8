# cython: infer_types=True
"""Prefix sums: the running sums of an array, several numbers a cycle, by three networks of adders."""

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
]  # adders (from, to) that work at once, adding the first place to the second


def network(form: str, lanes: int) -> tuple[Level, ...]:
    """The adders within a row, level by level, without the row of adders for the offset.

    Every level takes the numbers as the level before left them.

    - ``serial``: a chain, store and forward: the row is stored, then lane i takes over the sum up to lane
      i - 1 and hands on its own. Only neighbours are linked.
    - ``work-efficient`` (Brent and Kung 1982): an adder tree, then the same tree downwards.
    - ``parallel`` (Kogge and Stone 1973): level k adds to every lane what is 2**k lanes before it.
    """
    if form == SERIAL:
        return ((), *(((lane - 1, lane),) for lane in range(1, lanes)))
    spans = [1 << level for level in range((lanes - 1).bit_length())]
    if form == PARALLEL:
        return tuple(tuple((lane - span, lane) for lane in range(span, lanes)) for span in spans)
    up = [_strided(2 * span - 1, span, lanes) for span in spans]
    down = [_strided(3 * span - 1, span, lanes) for span in reversed(spans)]
    return tuple(level for level in up + down if level)


def _strided(first: int, span: int, lanes: int) -> Level:
    return tuple((lane - span, lane) for lane in range(first, lanes, 2 * span))


def depth(form: str, lanes: int) -> int:
    """Cycles from a row in to its sums out: a level a cycle, and one for the row of adders for the offset.

    With n lanes: ``serial`` n + 1, one of them to store the row; ``work-efficient`` floor(log2 n) +
    floor(log2(n / 3)) + 2, which for a power of two is 2 log2 n, for fewer than 3 lanes n; ``parallel``
    ceil(log2 n) + 1.
    """
    if form == SERIAL:
        return lanes + 1
    if form == WORK_EFFICIENT:
        return lanes.bit_length() + (lanes // 3).bit_length()
    return (lanes - 1).bit_length() + 1


def adders(form: str, lanes: int) -> int:
    """Adders, those for the offset among them, one a lane.

    With n lanes: ``serial`` 2n - 1; ``work-efficient`` 3n - 1 - floor(log2 n) - (ones in n as a binary
    number), which for a power of two is 3n - 2 - log2 n; ``parallel`` n (l + 1) - 2**l + 1 with
    l = ceil(log2 n).
    """
    if form == SERIAL:
        return 2 * lanes - 1
    if form == WORK_EFFICIENT:
        return 3 * lanes - lanes.bit_length() - lanes.bit_count()
    levels = (lanes - 1).bit_length()
    return lanes * (levels + 1) - (1 << levels) + 1


class PrefixSum(ArrayPipeline):
    """Inclusive running sums of arrays of unsigned integers, ``lanes`` numbers a cycle.

    Interface: an array comes in on ``lanes`` and leaves on ``sums``, row by row, see
    ``fiberscope.hw.lanes.rows``. The coordinate is the number; in its place leaves the sum of it and all
    numbers before it in the array, modulo 2**width. Reference and value stay with it. The next array starts
    from 0.

    Timing: a row is taken when all lanes show their token, one row a cycle, and its sums leave together
    ``depth`` cycles later, when all of ``sums`` have space. The stages move in step: while the oldest row
    cannot leave, nothing moves and no row is taken, see ``fiberscope.hw.lanes.pipeline``. This depth is the
    block's own; the latency of the channels at ``sums`` comes on top. Not ``registered``, it leaves the last
    stage's register to them, and its own depth is one less. Adders and depth by form: ``adders`` and
    ``depth``.

    Accounting: busy while rows move through it; waiting for output while the oldest cannot leave; empty, but
    within an array or with a row of which not all lanes show, waiting for the first lane that shows none.

    Source: MINT (Section V-A, Figure 9): serial chain, work-efficient and highly parallel; at the end of
    each a row of adders for the offset, the last sum of the row before, so that a row can follow in every
    cycle.

    Args:
        name: instance name.
        form: ``"serial"``, ``"work-efficient"`` or ``"parallel"``.
        lanes: numbers a cycle, 1 to 256.
        width: bits of a number and of a sum, 1 to 62; MINT's are of 32.
        registered: whether the last stage has a register of its own.

    Raises:
        ValueError: for an unknown form, or a number out of its range.
        SimulationError: when built, unless as many of ``lanes`` and ``sums`` are connected as it has lanes;
            in the run, if a number is no unsigned integer of ``width`` bits, or is behind a stop in its row.
    """

    PORTS = (Input("lanes", STREAM, array=True), Output("sums", STREAM, array=True))

    def __init__(self, name: str, form: str, lanes: int, width: int = 32, *, registered: bool = True) -> None:
        _check_form(name, form)
        check_size(name, lanes, width)
        stages = depth(form, lanes) - (0 if registered else 1)
        super().__init__(name, ("lanes", "sums"), lanes, width, stages)
        self.form = form  # C: str
        self.total = 0  # of the array so far

    def _begin(self) -> None:
        self.total = 0

    def _compute(self, number: int, reference: int, place: int) -> None:
        self.total = (self.total + number) & self.largest
        self.coordinates[place] = self.total
        self.references[place] = reference

    def counters(self) -> dict[str, int]:
        """Rows taken, and numbers in them; every adder works once for every row."""
        return {"rows": self.rows, "numbers": self.numbers}

    def signals(self) -> tuple[Signal, ...]:
        """Rows in the pipeline, the sum of the array's rows taken so far, and all numbers summed so far."""
        return (Signal("in_flight", 9), Signal("total", 62), Signal("numbers", 48))

    def sample(self) -> tuple[int, ...]:
        """Current values of the signals."""
        return (self.pipeline.filled, self.total, self.numbers)


class PrefixPopcount(ArrayPipeline):
    """Running counts of the ones in the words of a bitmap, ``lanes`` words a cycle.

    Interface and timing are those of ``PrefixSum``, with one stage more, in which the ones of each word are
    counted; without ``registers`` a row leaves in the cycle in which it is taken. The coordinate is a word of
    ``width`` bits; in its place leaves the number of ones in it and all words before it in the array, modulo
    2**``sum_width``, and as reference the word. So bit b of a word, where it is one, stands for packed
    nonzero number (count - ones of the word + ones below b).

    Source: SIGMA (HPCA 2020) packs nonzeros in the order of their bits. The networks are those of MINT.

    Args:
        name: instance name.
        form: ``"serial"``, ``"work-efficient"`` or ``"parallel"``.
        lanes: words a cycle, 1 to 256.
        width: bits of a word, 1 to 62.
        sum_width: bits of a count, 1 to 62.
        registers: 1 for one behind each stage, or 0.

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
        self.most = (1 << sum_width) - 1
        self.total = 0  # of the array so far

    def _begin(self) -> None:
        self.total = 0

    def _compute(self, number: int, reference: int, place: int) -> None:
        self.references[place] = number
        while number:
            self.total += 1
            number &= number - 1
        self.total &= self.most
        self.coordinates[place] = self.total

    def counters(self) -> dict[str, int]:
        """Rows taken, and words in them."""
        return {"rows": self.rows, "words": self.numbers}

    def signals(self) -> tuple[Signal, ...]:
        """Rows in the pipeline, the ones of the array's rows taken so far, and all words so far."""
        return (Signal("in_flight", 10), Signal("total", 62), Signal("words", 48))

    def sample(self) -> tuple[int, ...]:
        """Current values of the signals."""
        return (self.pipeline.filled, self.total, self.numbers)


def _check_form(name: str, form: str) -> None:
    if form not in FORMS:
        raise ValueError(f"{name}: form must be one of {', '.join(FORMS)}, not {form}")
