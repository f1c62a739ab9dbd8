"""Prefix sums: the running sums of an array, several numbers a cycle, by three networks of adders."""

from __future__ import annotations

from array import array

from hw.pipeline import Pipeline
from hw.stream import DATA, STOP, STREAM
from sim.channel import Channel
from sim.component import Component, Input, Output, Signal
from sim.errors import SimulationError

SERIAL = "serial"
WORK_EFFICIENT = "work-efficient"
PARALLEL = "parallel"
FORMS = (SERIAL, WORK_EFFICIENT, PARALLEL)

MAXIMUM_LANES = 256
MAXIMUM_WIDTH = 62  # a sum of two numbers fits a signed word

Level = tuple[tuple[int, int], ...]  # adders (from, to) that work at once: what is at `from` is added to `to`


def network(form: str, lanes: int) -> tuple[Level, ...]:
    """The adders within a row, level by level, without the row of adders for the offset.

    Every level takes the numbers as the level before left them.

    - ``serial``: a chain; lane i takes over the sum up to lane i - 1 and hands on its own. Only neighbours
      are linked.
    - ``work-efficient`` (Brent and Kung 1982): an adder tree, then the same tree downwards.
    - ``parallel`` (Kogge and Stone 1973): level k adds to every lane what is 2**k lanes before it.
    """
    if form == SERIAL:
        return tuple(((lane - 1, lane),) for lane in range(1, lanes))
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

    With n lanes: ``serial`` n; ``work-efficient`` floor(log2 n) + floor(log2(n / 3)) + 2, which for a power
    of two is 2 log2 n, for fewer than 3 lanes n; ``parallel`` ceil(log2 n) + 1.
    """
    if form == SERIAL:
        return lanes
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


class PrefixSum(Component):
    """Inclusive running sums of arrays of unsigned integers, ``lanes`` numbers a cycle.

    Interface: an array comes in on ``lanes`` row by row, a row being one token from every lane, and leaves as
    rows on ``sums``. The coordinate is the number; in its place leaves the sum of it and all numbers before
    it in the array, modulo 2**width. Reference and value stay with it. An array ends with a row in which a
    lane and all behind it show stops; all lanes do, where the length is a multiple of ``lanes``. The next
    array starts from 0.

    Timing: a row is taken when all lanes show their token, one row a cycle, and its sums leave together
    ``depth`` cycles later, when all of ``sums`` have space. The stages move in step: while the oldest row
    cannot leave, nothing moves and no row is taken, see ``hw.pipeline``. This depth is the block's own; the
    latency of the channels at ``sums`` comes on top. Adders and depth by form: ``adders`` and ``depth``.

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

    Raises:
        ValueError: for an unknown form, or a number out of its range.
        SimulationError: when built, unless as many of ``lanes`` and ``sums`` are connected as it has lanes;
            in the run, if a number is no unsigned integer of ``width`` bits, or is behind a stop in its row.
    """

    PORTS = (Input("lanes", STREAM, array=True), Output("sums", STREAM, array=True))

    def __init__(self, name: str, form: str, lanes: int, width: int = 32) -> None:
        super().__init__(name)
        if form not in FORMS:
            raise ValueError(f"{name}: form must be one of {', '.join(FORMS)}, not {form}")
        if not 1 <= lanes <= MAXIMUM_LANES:
            raise ValueError(f"{name}: lanes must be from 1 to {MAXIMUM_LANES}, not {lanes}")
        if not 1 <= width <= MAXIMUM_WIDTH:
            raise ValueError(f"{name}: width must be from 1 to {MAXIMUM_WIDTH}, not {width}")
        self.form = form
        self.lanes = lanes
        self.width = width
        self.largest = (1 << width) - 1
        self.pipeline = Pipeline(depth(form, lanes))
        slots = self.pipeline.depth
        self.lengths = array("q", bytes(8 * slots))  # of each row in the pipeline: numbers before the stops
        self.sums = array("q", bytes(8 * slots * lanes))
        self.references = array("q", bytes(8 * slots * lanes))
        self.values = array("d", bytes(8 * slots * lanes))
        self.within = False  # an array
        self.total = 0  # of the array so far
        self.rows = 0
        self.numbers = 0

    def elaborate(self) -> None:
        """Fetch the channels."""
        self.inputs = self.channels("lanes")
        self.outputs = self.channels("sums")
        for port, channels in (("lanes", self.inputs), ("sums", self.outputs)):
            if len(channels) != self.lanes:
                raise SimulationError(
                    f"{self.name}: connect {self.lanes} {port}, one a lane, not {len(channels)}"
                )

    def tick(self, now: int) -> int:
        """Let the oldest row leave, if it is at the end, and take a new one."""
        pipeline = self.pipeline
        leaves = pipeline.stands(now)
        if leaves:
            full = self._full()
            if full >= 0:
                return self.wait_output(self._output(full))
            self._leave(now)
        shown = self._shown()
        if shown == self.lanes:
            self._enter(now)
        if leaves or shown == self.lanes:
            return self.busy(now + 1)
        if pipeline.filled > 0:
            return self.busy(pipeline.due())
        return self.wait_input(self._missing()) if self.within or shown > 0 else self.idle()

    def _full(self) -> int:
        """The first output without space, or -1."""
        for lane in range(self.lanes):
            if not self._output(lane).can_push():
                return lane
        return -1

    def _shown(self) -> int:
        """How many lanes show a token."""
        shown = 0
        for lane in range(self.lanes):
            if self._input(lane).can_pop():
                shown += 1
        return shown

    def _missing(self) -> Channel:
        """The first lane that shows none; only when there is one."""
        lane = 0
        while self._input(lane).can_pop():
            lane += 1
        return self._input(lane)

    def _enter(self, now: int) -> None:
        """Take a row; its sums are known at once, and wait in the pipeline."""
        slot = self.pipeline.enter(now)
        length = 0
        for lane in range(self.lanes):
            source = self._input(lane)
            if source.control() == DATA:
                if length < lane:
                    raise SimulationError(
                        f"{self.name}: lanes[{lane}] shows a number in a row with a stop at lanes[{length}]; "
                        "all lanes behind a stop hold stops"
                    )
                self._add(source, lane, slot * self.lanes + lane)
                length += 1
            source.pop()
        self.lengths[slot] = length
        self.rows += 1
        self.numbers += length
        self.within = length == self.lanes
        if not self.within:
            self.total = 0

    def _add(self, source: Channel, lane: int, place: int) -> None:
        number = source.coordinate()
        if number < 0 or number > self.largest:
            raise SimulationError(
                f"{self.name}: {number} at lanes[{lane}] is no unsigned integer of {self.width} bits"
            )
        self.total = (self.total + number) & self.largest
        self.sums[place] = self.total
        self.references[place] = source.reference()
        self.values[place] = source.value()

    def _leave(self, now: int) -> None:
        slot = self.pipeline.leave(now)
        length = self.lengths[slot]
        for lane in range(self.lanes):
            place = slot * self.lanes + lane
            if lane < length:
                self._output(lane).push(DATA, self.sums[place], self.references[place], self.values[place])
            else:
                self._output(lane).push(STOP, 0, 0, 0.0)

    def _input(self, lane: int) -> Channel:
        return self.inputs[lane]

    def _output(self, lane: int) -> Channel:
        return self.outputs[lane]

    def counters(self) -> dict[str, int]:
        """Rows taken, and numbers in them; every adder works once for every row."""
        return {"rows": self.rows, "numbers": self.numbers}

    def signals(self) -> tuple[Signal, ...]:
        """Rows in the pipeline, the sum of the array's rows taken so far, and all numbers summed so far."""
        return (Signal("in_flight", 9), Signal("total", 62), Signal("numbers", 48))

    def sample(self) -> tuple[int, ...]:
        """Current values of the signals."""
        return (self.pipeline.filled, self.total, self.numbers)
