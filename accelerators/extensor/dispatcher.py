"""Intersects the K1 coordinates of two tiles and deals the microtile products out to the PEs."""

from __future__ import annotations

from array import array

from accelerators.extensor.layout import HALVES, PAIR, PRODUCT, ROW, SIGNAL, TILE
from accelerators.extensor.operand import TiledOperand
from accelerators.extensor.output import OutputRow
from sim.channel import Channel
from sim.component import Component, Input, Output, Signal

# States of an intersector.
NOTHING = 0
WORKING = 1
MATCHED = 2  # its heads are equal and the product waits for a processing element


class Dispatcher(Component):
    """Works through a pair of tiles: M1, N1, K1.

    Interface: pairs that are in the last-level buffer come in on ``loaded``. For every row M1 of A's tile and
    N1 of B's an intersector walks the two lists of microtiles; where their K1 coordinates are equal there is
    a microtile product, which goes out on ``tasks[i]``. A microtile of A has a processing element of its own,
    so that it need not be moved again for the next N1, and neighbours in K1 have neighbours; where that one's
    queue is full, the product goes to the next that has space. Elements with a long product come last, for as
    long as it is expected to take: what stood behind it would hold up its whole pair. On ``rows`` goes how
    many rows M1 a tile has and, of each that is through, how many products it took. A pair begins when a half
    of the output tiles is free: ``drained`` says that one has become so. When the elements have taken the
    microtiles of a pair, its input tiles are free: ``released``.

    A product is long if its expected work is more than an element's share of a mean pair so far. Work is
    expected as skipping takes it where coordinates are random: between two fibers the harmonic mean of their
    elements. The lists of microtiles have their fibers and elements.

    Timing: an intersector makes a step a cycle: the heads are equal, or the one behind skips to the first
    coordinate not below the other; or it takes the next (M1, N1) and makes its first step. A processing
    element is given one product a cycle.

    Args:
        name: instance name.
        a, b: the operands.
        output_rows: those of the output tile's first half, then those of the second.
        intersectors: that walk in parallel.
        microtile: coordinates of a microtile.
        shape: of an output tile, in microtiles.
        halves: of the output tiles' buffer.
        skip: whether the head behind skips; else it goes on by one.
    """

    PORTS = (
        Input("loaded", PAIR),
        Input("drained", SIGNAL),
        Output("tasks", PRODUCT, array=True),
        Output("rows", ROW),
        Output("released", SIGNAL),
    )

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
    ) -> None:
        super().__init__(name)
        self.a = a
        self.b = b
        self.output_rows = output_rows
        self.intersectors = intersectors
        self.microtile = microtile
        self.rows, self.columns = shape
        self.halves = halves
        self.skip = skip
        self.pairs = 0  # begun
        self.closed = 0  # those of them whose products are all given out
        self.released = 0  # those of them whose microtiles are all taken
        self.taken = 0  # elements that have taken those of the pair to be released next
        self.marks = array(
            "q"
        )  # by half of the input tiles and element: its products when the pair was closed
        self.half = halves - 1  # of the output tiles, the present pair's
        self.held = array("q", bytes(8 * HALVES))  # halves in use
        self.open = False  # whether a pair is being worked on
        self.steps = 0
        self.products = 0
        self.work = 0  # that is expected of them
        self.row = self.last_row = 0  # M1: the present one and where the tile ends
        self.first_column = self.column = self.last_column = 0  # N1
        self.lane_state = array("q", bytes(8 * intersectors))
        self.lane_a, self.lane_a_end, self.lane_b, self.lane_b_end = (  # heads and ends of the two lists
            array("q", bytes(8 * intersectors)) for _ in range(4)
        )
        self.lane_row = array("q", bytes(8 * intersectors))  # of the output tile
        self.lane_column = array("q", bytes(8 * intersectors))
        self.working = 0  # intersectors that are
        self.row_left = array("q", bytes(8 * self.rows))  # by row: N1 that are not through
        self.row_products = array("q", bytes(8 * self.rows))
        self.all_full = False  # no processing element has space in this cycle
        self.elements = 0
        self.served = array("q")  # by processing element: the cycle in which it was given a product
        self.long_until = array("q")  # by processing element: the cycle in which its long products should end

    def elaborate(self) -> None:
        """Fetch the channels."""
        self.loaded = self.channel("loaded")
        self.drained = self.channel("drained")
        self.tasks = self.channels("tasks")
        self.row_tokens = self.channel("rows")
        self.release_tokens = self.channel("released")
        self.elements = len(self.tasks)
        self.served = array("q", [-1] * self.elements)
        self.long_until = array("q", bytes(8 * self.elements))
        self.marks = array("q", bytes(8 * HALVES * self.elements))

    def tick(self, now: int) -> int:
        """Advance every intersector by a step."""
        progress = self._release()
        if self.drained.can_pop():
            self.held[self.drained.control()] = 0
            self.drained.pop()
            progress = True
        if not self.open:
            return self.busy(now + 1) if progress else self._between_pairs(now)
        self.all_full = False
        for lane in range(self.intersectors):
            if self._step(lane, now):
                progress = True
        if self.working == 0 and self.row == self.last_row:
            self._close_pair()
        return self.busy(now + 1) if progress else self.wait_any_output(self.tasks)

    def _between_pairs(self, now: int) -> int:
        if self.loaded.can_pop():
            half = self._free_half()
            if half < 0:
                return self.wait_input(self.drained)
            self._begin(half)
            return self.busy(now + 1)
        return self.wait_any_output(self.tasks) if self.released < self.closed else self.idle()

    def _free_half(self) -> int:
        """A half of the output tiles that is free, behind the one used last; -1 if there is none."""
        for step in range(1, self.halves + 1):
            half = (self.half + step) % self.halves
            if not self.held[half]:
                return half
        return -1

    def _close_pair(self) -> None:
        """All products are given out: note up to which the elements have to take their microtiles."""
        first = self.closed % HALVES * self.elements
        for element in range(self.elements):
            self.marks[first + element] = self._tasks_of(element).pushes
        self.closed += 1
        self.open = False

    def _release(self) -> bool:
        """Free the input tiles of the oldest pair that is closed, if no element needs them any more."""
        if self.released == self.closed:
            return False
        first = self.released % HALVES * self.elements
        while self.taken < self.elements:
            channel = self._tasks_of(self.taken)
            waiting = channel.capacity - channel.space()
            if channel.pushes - waiting < self.marks[first + self.taken]:
                return False
            self.taken += 1
        self.taken = 0
        self.released += 1
        self.release_tokens.push(0, 0, 0, 0.0)  # there is space, for both halves
        return True

    def _begin(self, half: int) -> None:
        tile_a, tile_b = self.loaded.coordinate(), self.loaded.reference()
        self.loaded.pop()
        self.row, self.last_row = self.a.tile_rows[tile_a], self.a.tile_rows[tile_a + 1]
        self.first_column = self.column = self.b.tile_rows[tile_b]
        self.last_column = self.b.tile_rows[tile_b + 1]
        self.half = half
        self.pairs += 1
        self.held[self.half] = 1
        self.row_tokens.push(self.half, TILE, self.last_row - self.row, 0.0)
        self.open = True

    def _step(self, lane: int, now: int) -> bool:
        """One cycle of an intersector; says whether it did anything."""
        if self.lane_state[lane] == NOTHING:
            if self.row == self.last_row:
                return False
            self._assign(lane)
        if self.lane_state[lane] == MATCHED:
            return self._deliver(lane, now)
        self._compare(lane)
        if self.lane_state[lane] == MATCHED:
            self._deliver(lane, now)
        return True

    def _assign(self, lane: int) -> None:
        """Take the next row of A's tile and of B's."""
        self.lane_a[lane] = self.a.row_microtiles[self.row]
        self.lane_a_end[lane] = self.a.row_microtiles[self.row + 1]
        self.lane_b[lane] = self.b.row_microtiles[self.column]
        self.lane_b_end[lane] = self.b.row_microtiles[self.column + 1]
        m = self.a.fiber_coordinates[self.a.microtile_fibers[self.lane_a[lane]]]
        n = self.b.fiber_coordinates[self.b.microtile_fibers[self.lane_b[lane]]]
        row = m // self.microtile % self.rows
        self.lane_row[lane] = row
        self.lane_column[lane] = n // self.microtile % self.columns
        self.lane_state[lane] = WORKING
        self.working += 1
        if self.column == self.first_column:
            self.row_left[row] = self.last_column - self.first_column
        self.column += 1
        if self.column == self.last_column:
            self.column = self.first_column
            self.row += 1

    def _compare(self, lane: int) -> None:
        """One step: the heads meet, or the one behind skips."""
        a, b = self.lane_a[lane], self.lane_b[lane]
        k_of_a, k_of_b = self.a.microtile_k[a], self.b.microtile_k[b]
        self.steps += 1
        if k_of_a == k_of_b:
            self.lane_state[lane] = MATCHED
            self._output_row(self.lane_row[lane]).visit(self.lane_column[lane])
        elif k_of_a < k_of_b:
            a += 1
            while self.skip and a < self.lane_a_end[lane] and self.a.microtile_k[a] < k_of_b:
                a += 1
            self.lane_a[lane] = a
            self._close(lane)
        else:
            b += 1
            while self.skip and b < self.lane_b_end[lane] and self.b.microtile_k[b] < k_of_a:
                b += 1
            self.lane_b[lane] = b
            self._close(lane)

    def _deliver(self, lane: int, now: int) -> bool:
        """Give the product at the heads to a processing element, if one has space."""
        a, b = self.lane_a[lane], self.lane_b[lane]
        element = self._element_for(a, now)
        if element < 0:
            return False
        self._tasks_of(element).push(self.half, a, b, 0.0)
        self.served[element] = now
        self.products += 1
        self._note_work(element, self._work(a, b), now)
        self.row_products[self.lane_row[lane]] += 1
        self.lane_a[lane] += 1
        self.lane_b[lane] += 1
        self.lane_state[lane] = WORKING
        self._close(lane)
        return True

    def _close(self, lane: int) -> None:
        """An intersector is done when one of its lists is; a row when it has met all of B's."""
        if self.lane_a[lane] == self.lane_a_end[lane] or self.lane_b[lane] == self.lane_b_end[lane]:
            self.lane_state[lane] = NOTHING
            self.working -= 1
            self._leave(self.lane_row[lane])

    def _leave(self, row: int) -> None:
        """One more of B's rows is through with this one; tells when all are."""
        self.row_left[row] -= 1
        if self.row_left[row] == 0:
            # There is space: for all rows of both halves.
            self.row_tokens.push(self.half, row, self.row_products[row], 0.0)
            self.row_products[row] = 0

    def _element_for(self, microtile: int, now: int) -> int:
        """The processing element of a microtile of A, or the next one with space; -1 if there is none.

        One that has a long product comes last.
        """
        if self.all_full:
            return -1
        last = -1
        element = microtile % self.elements
        for _ in range(self.elements):
            if self.served[element] != now and self._tasks_of(element).can_push():
                if self.long_until[element] <= now:
                    return element
                last = element if last < 0 else last
            element += 1
            if element == self.elements:
                element = 0
        self.all_full = last < 0
        return last

    def _note_work(self, element: int, work: int, now: int) -> None:
        """A product was given out: whether it is long, more than an element's share of a mean pair so far."""
        self.work += work
        if work * self.pairs * self.elements > self.work:
            self.long_until[element] = max(self.long_until[element], now) + work

    def _work(self, a: int, b: int) -> int:
        """Steps that the product of two microtiles is expected to take; at least 1."""
        first_a, last_a = self.a.microtile_fibers[a], self.a.microtile_fibers[a + 1]
        first_b, last_b = self.b.microtile_fibers[b], self.b.microtile_fibers[b + 1]
        elements_a = self.a.fiber_elements[last_a] - self.a.fiber_elements[first_a]
        elements_b = self.b.fiber_elements[last_b] - self.b.fiber_elements[first_b]
        fibers_a, fibers_b = last_a - first_a, last_b - first_b
        pairs = fibers_a * fibers_b
        mean = 2 * elements_a * elements_b * pairs // (elements_a * fibers_b + elements_b * fibers_a)
        return max(1, mean)

    def _output_row(self, row: int) -> OutputRow:
        return self.output_rows[self.half * self.rows + row]

    def _tasks_of(self, element: int) -> Channel:
        return self.tasks[element]

    def counters(self) -> dict[str, int]:
        """Steps of the intersections of K1, microtile products and pairs begun."""
        return {"intersect_k1": self.steps, "products": self.products, "pairs": self.pairs}

    def signals(self) -> tuple[Signal, ...]:
        """Pairs begun, intersectors at work, products so far."""
        return (Signal("begun", 32), Signal("working", 16), Signal("products", 32))

    def sample(self) -> tuple[int, ...]:
        """Current values of the signals."""
        return self.pairs, self.working, self.products
