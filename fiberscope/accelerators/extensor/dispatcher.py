# cython: infer_types=True
"""Dispatcher of ExTensor: intersects the K1 coordinates of two tiles and dispatches microtile products."""

from __future__ import annotations

from array import array

from fiberscope.accelerators.extensor.layout import HALVES, PAIR, PRODUCT, ROW, SIGNAL, TILE
from fiberscope.accelerators.extensor.operand import TiledOperand
from fiberscope.accelerators.extensor.output import OutputRow
from fiberscope.hw.fibers.intersection import FiberIntersection
from fiberscope.hw.schedule import SchedulePolicy, Task, Worker
from fiberscope.sim import inline, raw_words
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

SHIFT = 5  # an element's number, shifted right by this, is the index of its word of the set
BITS = 1 << SHIFT  # elements in a word, one bit each
ONE = 1  # C long in the compiled module, as in ``fiberscope.sim.clock``


class ElementSet:  # C: final
    """A set of processing elements with a round-robin search; initially empty.

    Args:
        count: number of all processing elements.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.words = array("q", bytes(8 * ((count + BITS - 1) >> SHIFT)))

    def add(self, element: int) -> None:  # C: noexcept
        """Add an element to the set."""
        self.words[element >> SHIFT] |= ONE << (element & (BITS - 1))

    def remove(self, element: int) -> None:  # C: noexcept
        """Remove an element from the set, if it is a member."""
        self.words[element >> SHIFT] &= ~(ONE << (element & (BITS - 1)))

    def remove_all(self) -> None:  # C: noexcept
        """Make the set empty."""
        for word in range(len(self.words)):
            self.words[word] = 0

    def members_from(self, first: int) -> list[int]:
        """Return all members in round-robin order, beginning with element ``first``."""
        numbers = [(first + step) % self.count for step in range(self.count)]
        return [number for number in numbers if self.words[number >> SHIFT] >> (number & (BITS - 1)) & 1]

    def first_from(self, first: int) -> int:  # C: noexcept
        """Return the first member in round-robin order from element ``first``; -1 if the set is empty."""
        word = first >> SHIFT
        bits = self.words[word] >> (first & (BITS - 1))
        if bits:
            return first + raw_words.lowest_bit(bits)
        for _ in range(len(self.words)):
            word = word + 1 if word + 1 < len(self.words) else 0
            if self.words[word]:
                return (word << SHIFT) + raw_words.lowest_bit(self.words[word])
        return -1


class Dispatcher(Component):
    """A component that dispatches the microtile products of pairs of tiles, in the order M1, N1, K1.

    Interface: loaded pairs arrive on ``loaded``. For each M1 of A's tile and N1 of B's tile, an intersector
    walks two lists of microtiles. Equal K1 coordinates give a microtile product, which leaves on
    ``tasks[i]``. Each microtile of A has a home element (processing element), so that it is not moved again
    for the next N1. If the home element's queue is full, the product goes to the next element with a free
    slot. Elements with a long product come last until its expected end; a product queued after it would
    delay the whole pair. With ``in_turn``, products go to the elements round-robin in the order M1, N1, K1,
    and wait for a free slot. ``rows`` carries the number of rows M1 of a tile, and the number of products
    of each finished row. A pair begins when a half of the output tiles is free, which ``drained``
    announces. ``released`` frees the input tiles when the elements have taken the microtiles of a pair.

    A product is long if its expected work exceeds one element's share of the mean work of a pair so far. The
    expected work is that of skipping with random coordinates: for two fibers, the harmonic mean of their
    numbers of elements.

    Timing: an intersector makes one step a cycle. The heads are equal, or the smaller head skips to the first
    coordinate not below the other. The first step of the next (M1, N1) takes no extra cycle. An element
    receives at most one product a cycle.

    Args:
        a, b: the operands.
        output_rows: rows of the output tile in the first half of the buffer, then of the following halves.
        intersectors: number of intersectors that walk in parallel.
        microtile: side of a microtile, in coordinates.
        shape: microtiles of an output tile in M and N.
        halves: number of halves of the buffer, each with a tile; may exceed two.
        skip: whether the smaller head skips; if not, it advances by one microtile.
        in_turn: whether products go to the elements round-robin, whatever their lengths.
    """

    PORTS = (
        Input("loaded", PAIR),
        Input("drained", SIGNAL),
        Output("tasks", PRODUCT, array=True),
        Output("rows", ROW),
        Output("released", SIGNAL),
    )
    COUNTERS = ("products", "pairs")
    SIGNALS = (Signal("pairs", 32), Signal("working", 16), Signal("products", 32))

    POLICY = SchedulePolicy

    loaded: Channel
    drained: Channel
    tasks: list[Channel]
    rows: Channel
    released: Channel

    def __init__(
        self,
        name: str,
        a: TiledOperand,
        b: TiledOperand,
        output_rows: list[OutputRow],
        *,
        intersectors: int,
        microtile: int,
        shape: tuple[int, int],
        halves: int = HALVES,
        skip: bool = True,
        in_turn: bool = False,
    ) -> None:
        super().__init__(name)
        self.policy: SchedulePolicy | None = None  # C: public
        self.a = a
        self.b = b
        self.output_rows = output_rows
        self.intersectors = intersectors
        self.microtile = microtile
        self.height, self.width = shape  # C: height=long, width=long
        self.halves = halves
        self.pairs = 0  # number of pairs that have started
        self.closed_pairs = 0  # number of pairs whose products are all dispatched
        self.released_pairs = 0  # number of pairs whose microtiles are all taken
        self.fed_elements = 0  # elements that have all microtiles of the pair that is released next
        self.task_marks = array("q")  # tasks pushed when a pair was closed, by half and by element
        self.half = halves - 1  # half of the output tiles of the current pair
        self.is_half_used = array("q", bytes(8 * halves))  # whether a half is in use
        self.has_pair = False  # whether a pair is in progress
        self.products = 0
        self.work = 0  # expected work of the products
        self.row = self.end_row = 0  # current row (M1), and the end of the tile
        self.first_column = self.column = self.end_column = 0  # the same for columns (N1)
        self.lanes = [FiberIntersection(a.microtile_k, b.microtile_k, skip=skip) for _ in range(intersectors)]
        self.lane_row = array("q", bytes(8 * intersectors))  # row of the output tile, by lane
        self.lane_column = array("q", bytes(8 * intersectors))
        self.working = 0  # number of working intersectors
        self.remaining_columns = array("q", bytes(8 * self.height))  # unfinished columns (N1), by row
        self.row_products = array("q", bytes(8 * self.height))
        self.is_blocked = array("b", bytes(intersectors))  # whether a lane waits at equal heads
        self.is_space_known = self.all_full = False  # whether space was checked, and lacks, in this cycle
        self.elements = 0
        self.free_elements = ElementSet(0)  # elements with space in this cycle that got no product
        self.late_elements = ElementSet(0)  # the same, but with an unfinished long product
        self.in_turn = in_turn
        self.turn = 0  # element of the first product of the next pair of rows
        self.lane_turn = array("q", bytes(8 * intersectors))  # element of the next product, by lane
        self.long_ends = array("q")  # expected end of the long products, by processing element (cycle)

    def elaborate(self) -> None:
        """Look up the channels, and count the processing elements."""
        super().elaborate()
        self.elements = len(self.tasks)
        self.free_elements, self.late_elements = ElementSet(self.elements), ElementSet(self.elements)
        self.long_ends = array("q", bytes(8 * self.elements))
        self.task_marks = array("q", bytes(8 * self.halves * self.elements))

    def tick(self, now: int) -> int:
        """Advance every intersector by a step."""
        progress = self._release()
        if self.drained.can_pop():
            self.is_half_used[self.drained.control()] = 0
            self.drained.pop()
            progress = True
        if not self.has_pair:
            return self.busy(now + 1) if progress else self._begin_pair(now)
        self.is_space_known = self.all_full = False
        for lane in range(self.intersectors):
            if not (self.all_full and self.is_blocked[lane]) and self._step(lane, now):
                progress = True
        if self.working == 0 and self.row == self.end_row:
            self._close_pair()
        return self.busy(now + 1) if progress else self.wait_any_output(self.tasks)

    def _begin_pair(self, now: int) -> int:
        if self.loaded.can_pop():
            half = self._free_half()
            if half < 0:
                return self.wait_input(self.drained)
            self._start_pair(half)
            return self.busy(now + 1)
        return self.wait_any_output(self.tasks) if self.released_pairs < self.closed_pairs else self.idle()

    def _free_half(self) -> int:  # C: noexcept
        """Return the next free half of the output tiles after the one used last; -1 if there is none."""
        for step in range(1, self.halves + 1):
            half = (self.half + step) % self.halves
            if not self.is_half_used[half]:
                return half
        return -1

    def _close_pair(self) -> None:
        """Record for each element how many tasks it must take before the pair's input tiles are free."""
        first_mark = self.closed_pairs % self.halves * self.elements
        for element in range(self.elements):
            tasks = self.tasks[element]
            self.task_marks[first_mark + element] = tasks.pushes
        self.closed_pairs += 1
        self.has_pair = False

    def _release(self) -> bool:
        """Free the input tiles of the oldest closed pair if no element needs them; return whether it did."""
        if self.released_pairs == self.closed_pairs:
            return False
        first_mark = self.released_pairs % self.halves * self.elements
        while self.fed_elements < self.elements:
            tasks = self.tasks[self.fed_elements]
            queued = tasks.capacity - tasks.space()
            if tasks.pushes - queued < self.task_marks[first_mark + self.fed_elements]:
                return False
            self.fed_elements += 1
        self.fed_elements = 0
        self.released_pairs += 1
        self.released.push(0)  # there is space for all halves
        return True

    def _start_pair(self, half: int) -> None:
        """Start the next loaded pair with an output tile in this half; announce its number of rows."""
        tile_a, tile_b = self.loaded.coordinate(), self.loaded.reference()
        self.loaded.pop()
        self.row, self.end_row = self.a.tile_rows[tile_a], self.a.tile_rows[tile_a + 1]
        self.first_column = self.column = self.b.tile_rows[tile_b]
        self.end_column = self.b.tile_rows[tile_b + 1]
        self.half = half
        self.pairs += 1
        self.is_half_used[self.half] = 1
        self.rows.push(self.half, TILE, self.end_row - self.row)
        self.has_pair = True

    def _step(self, lane: int, now: int) -> bool:
        """Simulate one cycle of an intersector; return whether it progressed."""
        intersection = self.lanes[lane]  # C: FiberIntersection
        if intersection.has_match:
            return self._deliver(lane, now)
        if intersection.has_ended():
            if self.row == self.end_row:
                return False
            self._assign(lane)
        if intersection.advance(1):
            self._visit(lane)
            self._deliver(lane, now)
        elif intersection.has_ended():
            self._finish(lane)
        return True

    def _assign(self, lane: int) -> None:
        """Start an intersector on the next row of A's tile and row of B's tile."""
        intersection = self.lanes[lane]  # C: FiberIntersection
        a, b = self.a.row_microtiles[self.row], self.b.row_microtiles[self.column]
        intersection.begin(a, self.a.row_microtiles[self.row + 1], b, self.b.row_microtiles[self.column + 1])
        m = self.a.fiber_coordinates[self.a.microtile_fibers[a]]
        n = self.b.fiber_coordinates[self.b.microtile_fibers[b]]
        row = m // self.microtile % self.height
        self.lane_row[lane] = row
        self.lane_column[lane] = n // self.microtile % self.width
        self.working += 1
        if self.in_turn:
            self.lane_turn[lane] = self.turn
            self.turn = (self.turn + self._count_matches(intersection)) % self.elements
        if self.column == self.first_column:
            self.remaining_columns[row] = self.end_column - self.first_column
        self.column += 1
        if self.column == self.end_column:
            self.column = self.first_column
            self.row += 1

    @staticmethod
    def _count_matches(intersection: FiberIntersection) -> int:
        """Return the number of products of an intersection, counted before its steps are made."""
        coordinates_a, coordinates_b = intersection.coordinates_a, intersection.coordinates_b
        a, b, matches = intersection.a, intersection.b, 0
        while a < intersection.end_a and b < intersection.end_b:
            head_a, head_b = coordinates_a[a], coordinates_b[b]
            matches += head_a == head_b
            a += head_a <= head_b
            b += head_b <= head_a
        return matches

    def _visit(self, lane: int) -> None:
        """Mark the microtile of the output tile that the current product contributes to."""
        output_row = self.output_rows[self.half * self.height + self.lane_row[lane]]
        output_row.visit(self.lane_column[lane])

    def _deliver(self, lane: int, now: int) -> bool:
        """Dispatch the product at the heads to an element with a free slot; return whether there is one."""
        intersection = self.lanes[lane]  # C: FiberIntersection
        a, b = intersection.a, intersection.b
        if not self.is_space_known:
            self._find_free_elements(now)
            self.is_space_known = True
        if self.policy is not None:
            task = Task(self.products, self._estimate_work(a, b))
            element = self._select_element(self.policy, task, a % self.elements, now)
        else:
            element = self._select_in_turn(lane) if self.in_turn else self._select_home(a)
        self.is_blocked[lane] = element < 0
        if element < 0:
            self.all_full = not self.in_turn  # the others' turns are at other elements
            return False
        tasks = self.tasks[element]
        tasks.push(self.half, a, b)
        self.products += 1
        if not self.in_turn:
            self._add_work(element, self._estimate_work(a, b), now)
        self.row_products[self.lane_row[lane]] += 1
        intersection.pass_match()
        if intersection.has_ended():
            self._finish(lane)
        return True

    def _finish(self, lane: int) -> None:
        """Finish an intersection; send the row's number of products after the row's last intersection."""
        row = self.lane_row[lane]
        self.working -= 1
        self.remaining_columns[row] -= 1
        if self.remaining_columns[row] == 0:
            # There is space for all rows of all halves.
            self.rows.push(self.half, row, self.row_products[row])
            self.row_products[row] = 0

    def _select_home(self, microtile: int) -> int:
        """Return the home element of a microtile of A, or the next with a free slot; -1 if there is none.

        Elements with a long product come last. The element gets no other product in this cycle.
        """
        home = microtile % self.elements
        element = self.free_elements.first_from(home)
        if element >= 0:
            self.free_elements.remove(element)
            return element
        element = self.late_elements.first_from(home)
        if element >= 0:
            self.late_elements.remove(element)
        return element

    def _select_element(self, policy: SchedulePolicy, product: Task, home: int, now: int) -> int:
        """Return the element that the policy chooses for a product; -1 if none has a free slot."""
        elements = [*self.free_elements.members_from(home), *self.late_elements.members_from(home)]
        workers = [Worker(i, self.tasks[i].capacity - self.tasks[i].space()) for i in elements]
        element = policy.choose_worker(product, workers, now)
        if element >= 0:
            self.free_elements.remove(element)
            self.late_elements.remove(element)
        return element

    def _select_in_turn(self, lane: int) -> int:
        """Return the element in turn for a lane's product; -1 if it cannot take one in this cycle."""
        element = self.lane_turn[lane]
        if self.free_elements.first_from(element) != element:
            return -1
        self.free_elements.remove(element)
        self.lane_turn[lane] = element + 1 if element + 1 < self.elements else 0
        return element

    def _find_free_elements(self, now: int) -> None:
        """Find the elements that have a free slot in this cycle; the others wake this component later."""
        tasks = self.tasks
        self.free_elements.remove_all()
        self.late_elements.remove_all()
        for element in range(self.elements):
            if inline.can_push(tasks, element):
                if self.long_ends[element] <= now:
                    self.free_elements.add(element)
                else:
                    self.late_elements.add(element)

    def _add_work(self, element: int, work: int, now: int) -> None:
        """Account for a dispatched product; if it is long, extend the element's time with long products."""
        self.work += work
        if work * self.pairs * self.elements > self.work:
            self.long_ends[element] = max(self.long_ends[element], now) + work

    def _estimate_work(self, a: int, b: int) -> int:  # C: noexcept
        """Return the expected number of steps of the product of two microtiles; at least 1."""
        elements_a, elements_b = self.a.microtile_elements[a], self.b.microtile_elements[b]
        fibers_a = self.a.microtile_fibers[a + 1] - self.a.microtile_fibers[a]
        fibers_b = self.b.microtile_fibers[b + 1] - self.b.microtile_fibers[b]
        fiber_pairs = fibers_a * fibers_b
        steps = 2 * elements_a * elements_b * fiber_pairs // (elements_a * fibers_b + elements_b * fibers_a)
        return max(1, steps)

    def counters(self) -> dict[str, int]:
        """Return the intersection steps over K1, the microtile products and the pairs begun."""
        return {"intersect_k1": sum(lane.steps for lane in self.lanes), **super().counters()}
