# cython: infer_types=True
"""The merge core of OuterSPACE: keeps the heads of many lists sorted and passes on the smallest."""

from __future__ import annotations

from array import array

from fiberscope.hw.stream import DATA, STOP, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import Protocol

ROW_TASK = Protocol("row task", coordinate="lists", reference="row")  # the row is for waveforms
SUCCESSOR = Protocol("successor", reference="list")  # reference: the list whose next element is requested
ELEMENT = Protocol("element", control="kind", coordinate="column", reference="list", value="value")

SYSTOLIC = "systolic"
SEQUENTIAL = "sequential"
FORMS = (SYSTOLIC, SEQUENTIAL)
LIST_BITS = 20  # most bits of a list's number
ENTRIES = (1, 1 << LIST_BITS)  # least and greatest number of entries of a unit
COLUMN_BITS = 42  # C: object; of a column, at the most: both are compared as one signed word

PHASES = ("idle", "taking", "walking")
IDLE_PHASE, TAKING, WALKING = range(len(PHASES))


class SortedHeads:  # C: final
    """The heads of lists, sorted: the smaller column leaves first, for equal columns the larger list.

    An entry is a key of one word: the column, then the inverted list. The array of keys is in descending
    order, so that the first head to leave is the last entry.

    Args:
        entries: capacity in heads.
    """

    def __init__(self, entries: int) -> None:
        self.count = 0
        self._keys = array("q", bytes(8 * entries))

    def position(self, column: int, source: int) -> int:  # C: noexcept
        """Return the number of heads that leave before a head of this column and list (``source``)."""
        return self._count_smaller((column << LIST_BITS) | (~source & ((1 << LIST_BITS) - 1)))

    def push(self, column: int, source: int) -> int:  # C: noexcept
        """Insert a head; an entry must be free.

        Args:
            column: column of the head, at most ``COLUMN_BITS`` bits.
            source: number of its list, at most ``LIST_BITS`` bits.

        Returns:
            The number of heads that leave before it.
        """
        key = (column << LIST_BITS) | (~source & ((1 << LIST_BITS) - 1))
        position = self._count_smaller(key)
        end = self.count
        for index in range(end, end - position, -1):
            self._keys[index] = self._keys[index - 1]
        self._keys[end - position] = key
        self.count += 1
        return position

    def column(self) -> int:  # C: noexcept
        """Return the column of the first head; there must be a head."""
        return self._keys[self.count - 1] >> LIST_BITS

    def source(self) -> int:  # C: noexcept
        """Return the list of the first head; there must be a head."""
        return ~self._keys[self.count - 1] & ((1 << LIST_BITS) - 1)

    def pop(self) -> None:  # C: noexcept
        """Remove the first head."""
        self.count -= 1

    def _count_smaller(self, key: int) -> int:  # C: noexcept
        """Return the number of smaller keys, by a walk from the first head on as in hardware."""
        index = self.count - 1  # C: long
        while index >= 0 and self._keys[index] < key:
            index -= 1
        return self.count - 1 - index


class SortedHeadUnit(Component):
    """Merges the lists of a row of T by column: passes on the smallest head, then requests its successor.

    Interface: a token on ``tasks`` starts a row and gives the number of its lists (0 for an empty row). The
    heads of all lists then arrive on ``elements`` in any order, each with its column, list and value. The
    smallest head leaves on ``merged`` with its list as reference, and ``successors`` requests the next
    element of this list. The next token on ``elements`` must be the successor: the next element of the list,
    or a stop if the list has ended. Of heads with equal columns, the head of the larger list leaves first.
    When all lists have ended, a stop leaves on ``merged``. A ``fiberscope.hw.fibers.arithmetic.Accumulator``
    that reads ``merged`` adds up elements with equal columns (the reduce stage).

    Timing: a task takes a cycle. In each later cycle, the unit takes a head or a stop from ``elements``, and
    inserts a head into the sorted entries. If no further head is awaited, the smallest head leaves in the
    same cycle, provided that both outputs have a free slot; it may be the head just taken. The unit itself
    sustains one element per cycle, but each element waits for its successor, a dependent access.

    - ``systolic``: every entry compares itself with the new head, and the entries after it move by one.
    - ``sequential``: one comparator walks from the first entry to the place of the new head. A walk takes
      1 + position cycles; position is the number of heads that leave before the new head. The smallest head
      leaves in the last of these cycles.

    Accounting: busy while tokens move or the comparator walks; waiting for output if the smallest head cannot
    leave; within a row, waiting for ``elements``.

    Counters: ``swaps`` is the sum of 1 + position over all heads of rows with more than one list; ``rows``
    counts rows taken; ``merged_elements`` counts elements passed on.

    Source: OuterSPACE (HPCA 2018) by TeAAL (MICRO 2023), Section 3.2 ("insertion sort"); the counts of swaps
    that TeAAL publishes follow from this order of equal columns. Both forms are choices of this model.

    Args:
        entries: capacity in heads of lists, 1 to 2^20.
        form: ``"systolic"`` or ``"sequential"``.

    Raises:
        ValueError: if ``entries`` or ``form`` is not one of these.
        SimulationError: in the run, if a task has more lists than there are entries, if a column has more
            than 42 bits, or if a list is not numbered from 0 to ``entries`` - 1.
    """

    PORTS = (
        Input("tasks", ROW_TASK),
        Input("elements", ELEMENT),
        Output("merged", STREAM),
        Output("successors", SUCCESSOR),
    )
    COUNTERS = ("rows", "merged_elements", "swaps")
    SIGNALS = (
        Signal("phase", 2, "state", PHASES),
        Signal("row", 48, "integer"),
        Signal("awaited", LIST_BITS + 1),
        Signal("swaps", 48),
    )

    tasks: Channel
    elements: Channel
    merged: Channel
    successors: Channel

    def __init__(self, name: str, entries: int, form: str = SYSTOLIC) -> None:
        super().__init__(name)
        if form not in FORMS:
            raise ValueError(f"{name}: form must be one of {', '.join(FORMS)}, not {form}")
        minimum, maximum = ENTRIES
        if not minimum <= entries <= maximum:
            raise ValueError(f"{name}: entries must be from {minimum} to {maximum}, not {entries}")
        self.entries = entries
        self.form = form  # C: str
        self.walks = form == SEQUENTIAL
        self.heads = SortedHeads(entries)
        self.values = array("d", bytes(8 * entries))  # by list, the value of its head
        self.phase = IDLE_PHASE
        self.row = -1
        self.lists = 0  # number of lists of the row
        self.awaited = 0  # number of heads or stops that have not yet arrived
        self.placed = 0  # cycle in which the walk reaches the place of the new head
        self.rows = 0
        self.merged_elements = 0
        self.swaps = 0

    def tick(self, now: int) -> int:
        """Take a head, or continue a walk, and pass on the smallest head if no other is awaited."""
        if self.phase == IDLE_PHASE:
            return self._begin(now)
        if self.phase == WALKING:
            if now < self.placed:
                return self.busy(self.placed)
            return self._end_of_walk(now)
        if self.awaited > 0:
            if not self.elements.can_pop():
                return self.wait_input(self.elements)
            if self._position() > 0:
                return self._walk(now)
        if self.awaited <= 1 and self._is_blocked():
            return self.wait_output(self._blocking())
        if self.awaited > 0:
            self._accept_head()
        return self._send_smallest(now)

    def _begin(self, now: int) -> int:
        """Take the task of the next row, if there is one."""
        if not self.tasks.can_pop():
            return self.idle()
        self.lists = self.tasks.coordinate()
        if self.lists > self.entries:
            raise SimulationError(
                f"{self.name}: a row of {self.lists} lists does not fit its {self.entries} entries; "
                "merge it in rounds"
            )
        self.row = self.tasks.reference()
        self.tasks.pop()
        self.awaited = self.lists
        self.phase = TAKING
        self.rows += 1
        return self.busy(now + 1)

    def _position(self) -> int:  # C: noexcept
        """Return the steps from the first entry to the place of the element at the head of ``elements``."""
        if not self.walks or self.elements.control() == STOP:
            return 0
        return self.heads.position(self.elements.coordinate(), self.elements.reference())

    def _walk(self, now: int) -> int:
        """Take a head whose place is not the first, and let the comparator walk to its place."""
        self.placed = now + self._position()
        self._accept_head()
        self.phase = WALKING
        return self.busy(self.placed)

    def _end_of_walk(self, now: int) -> int:
        """Let the smallest head leave in the last cycle of a walk, or wait for space."""
        if self.awaited == 0 and self._is_blocked():
            return self.wait_output(self._blocking())
        self.phase = TAKING
        return self._send_smallest(now)

    def _is_blocked(self) -> bool:  # C: noexcept
        """Return whether an output has no free slot for what leaves next: an element or the stop."""
        return not self.merged.can_push() or (self._stays() and not self.successors.can_push())

    def _blocking(self) -> Channel:
        """Return the first output without a free slot."""
        return self.successors if self.merged.can_push() else self.merged

    def _stays(self) -> bool:  # C: noexcept
        """Return whether a head is left once the token at the head of ``elements`` is taken."""
        if self.heads.count > 0:
            return True
        return self.awaited > 0 and self.elements.control() == DATA

    def _accept_head(self) -> None:
        """Take the head or stop at the head of ``elements``; insert a head into the entries."""
        elements = self.elements
        if elements.control() == DATA:
            source, column = elements.reference(), elements.coordinate()
            self._check(column, source)
            position = self.heads.push(column, source)
            self.values[source] = elements.value()
            if self.lists > 1:
                self.swaps += 1 + position
        elements.pop()
        self.awaited -= 1

    def _check(self, column: int, source: int) -> None:
        """Raise ``SimulationError`` if a column or the number of a list is out of range."""
        if column < 0 or column >> COLUMN_BITS:
            raise SimulationError(f"{self.name}: column {column} has more than {COLUMN_BITS} bits")
        if source < 0 or source >= self.entries:
            raise SimulationError(
                f"{self.name}: there is no list {source}; they are numbered from 0 to {self.entries - 1}"
            )

    def _send_smallest(self, now: int) -> int:
        """Pass on the smallest head, or the stop after the last one, unless a head is awaited."""
        if self.awaited == 0:
            if self.heads.count > 0:
                self._emit()
            else:
                self.merged.push(STOP)
                self.phase = IDLE_PHASE
        return self.busy(now + 1)

    def _emit(self) -> None:
        """Pass on the smallest head, and request its successor."""
        source = self.heads.source()
        self.merged.push(DATA, self.heads.column(), source, self.values[source])
        self.successors.push(DATA, 0, source, 0.0)
        self.heads.pop()
        self.awaited = 1
        self.merged_elements += 1
