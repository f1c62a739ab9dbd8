# cython: infer_types=True
"""OuterSPACE's merge core: the heads of many lists, kept in order, of which the smallest leaves."""

from __future__ import annotations

from array import array

from fiberscope.hw.stream import DATA, STOP, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import Protocol

ROW_TASK = Protocol("row task", coordinate="lists", reference="row")  # the row is for waveforms
SUCCESSOR = Protocol("successor", reference="list")  # of which the next element is wanted
ELEMENT = Protocol("element", control="kind", coordinate="column", reference="list", value="value")

SYSTOLIC = "systolic"
SEQUENTIAL = "sequential"
FORMS = (SYSTOLIC, SEQUENTIAL)
LIST_BITS = 20  # of a list's number, at the most
ENTRIES = (1, 1 << LIST_BITS)  # least and most heads of a unit
COLUMN_BITS = 42  # C: object; of a column, at the most: both are compared as one signed word

PHASES = ("idle", "taking", "walking")
IDLE_PHASE, TAKING, WALKING = range(len(PHASES))


class SortedHeads:  # C: final
    """Heads of lists by (column, list): the smaller column leaves first; of equal ones the larger list.

    Entries lie in the order of leaving, the first one last, as keys of one word: column, inverted list.

    Args:
        entries: heads that there is room for.
    """

    def __init__(self, entries: int) -> None:
        self.filled = 0
        self._keys = array("q", bytes(8 * entries))

    def position(self, column: int, source: int) -> int:  # C: noexcept
        """Return the number of heads that leave before one of this column and list."""
        return self._before((column << LIST_BITS) | (~source & ((1 << LIST_BITS) - 1)))

    def push(self, column: int, source: int) -> int:  # C: noexcept
        """Insert a head, for which there is room; gives its position, the number that leave before it."""
        key = (column << LIST_BITS) | (~source & ((1 << LIST_BITS) - 1))
        position = self._before(key)
        place = self.filled
        for moved in range(place, place - position, -1):
            self._keys[moved] = self._keys[moved - 1]
        self._keys[place - position] = key
        self.filled += 1
        return position

    def column(self) -> int:  # C: noexcept
        """The column of the first head; only when there is one."""
        return self._keys[self.filled - 1] >> LIST_BITS

    def source(self) -> int:  # C: noexcept
        """The list of the first head; only when there is one."""
        return ~self._keys[self.filled - 1] & ((1 << LIST_BITS) - 1)

    def pop(self) -> None:  # C: noexcept
        """Let the first head leave."""
        self.filled -= 1

    def _before(self, key: int) -> int:  # C: noexcept
        """Count the smaller keys, from the first key on, as a hardware walk does."""
        place = self.filled - 1  # C: long
        while place >= 0 and self._keys[place] < key:
            place -= 1
        return self.filled - 1 - place


class SortedHeadUnit(Component):
    """Merges the lists of a row of T by column: the smallest head leaves, then the next of its list comes.

    Interface: a token on ``tasks`` says how many lists the row has (0 gives an empty row); first the heads of
    all lists come on ``elements``, in any order, each with its column, list and value. The smallest leaves on
    ``merged`` as an element of a fiber, its list as reference, and its list is named on ``successors``. What
    comes next on ``elements`` is the successor: the list's next element, or a stop when it has ended. Of
    equal columns that of the larger list leaves first. When all lists have ended, a stop leaves on
    ``merged``. An ``fiberscope.hw.fibers.arithmetic.Accumulator`` behind it adds up equal columns: the reduce
    stage.

    Timing: a task takes a cycle of its own. From then on, in each cycle, a head is taken and put in its place
    in the order, or a stop; and when no more are awaited, the smallest of all, perhaps the one just taken,
    leaves in the same cycle, when there is space on both outputs. So the unit itself gives an element a
    cycle; what it waits for is the successor, which is one dependent access each.

    - ``systolic``: each of the ``entries`` compares itself with the new head; those behind it move by one.
    - ``sequential``: one comparator walks from the first entry on and stops at the place: 1 + position
      cycles, position being the number of heads that leave before the new one. The smallest leaves in the
      last of them.

    Accounting: busy while tokens move or the comparator walks; waiting for output when the smallest cannot
    leave; within a row waiting for ``elements``.

    Counts: ``swaps``, the sum of 1 + position over all heads of rows with more than one list; the rows taken;
    the elements merged.

    Source: OuterSPACE (HPCA 2018) by TeAAL (MICRO 2023), Section 3.2 ("insertion sort"); the counts of swaps
    that TeAAL publishes follow from this order of equal columns. Both forms are choices of this model.

    Args:
        name: instance name.
        entries: heads of lists that there is room for, 1 to 2^20.
        form: ``"systolic"`` or ``"sequential"``.

    Raises:
        ValueError: for another form or number.
        SimulationError: in the run, if a task has more lists than there are entries, or a number does not
            fit: columns have up to 42 bits, lists are numbered from 0 to ``entries`` - 1.
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
        least, most = ENTRIES
        if not least <= entries <= most:
            raise ValueError(f"{name}: entries must be from {least} to {most}, not {entries}")
        self.entries = entries
        self.form = form  # C: str
        self.walks = form == SEQUENTIAL
        self.heads = SortedHeads(entries)
        self.values = array("d", bytes(8 * entries))  # of the head of each list
        self.phase = IDLE_PHASE
        self.row = -1
        self.lists = 0  # of the row
        self.awaited = 0  # heads that have yet to come
        self.placed = 0  # the cycle in which the walk reaches its place
        self.rows = 0
        self.merged_elements = 0
        self.swaps = 0

    def tick(self, now: int) -> int:
        """Take a head, and let the smallest leave."""
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
            self._take()
        return self._let_leave(now)

    def _begin(self, now: int) -> int:
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
        """The steps that the comparator has to walk before the element that shows is placed."""
        if not self.walks or self.elements.control() == STOP:
            return 0
        return self.heads.position(self.elements.coordinate(), self.elements.reference())

    def _walk(self, now: int) -> int:
        self.placed = now + self._position()
        self._take()
        self.phase = WALKING
        return self.busy(self.placed)

    def _end_of_walk(self, now: int) -> int:
        if self.awaited == 0 and self._is_blocked():
            return self.wait_output(self._blocking())
        self.phase = TAKING
        return self._let_leave(now)

    def _is_blocked(self) -> bool:  # C: noexcept
        """Return whether there is no space for what is to leave: an element and its list, or the stop."""
        return not self.merged.can_push() or (self._stays() and not self.successors.can_push())

    def _blocking(self) -> Channel:
        return self.successors if self.merged.can_push() else self.merged

    def _stays(self) -> bool:  # C: noexcept
        """Return whether a head will be there, once the element that shows is taken."""
        if self.heads.filled > 0:
            return True
        return self.awaited > 0 and self.elements.control() == DATA

    def _take(self) -> None:
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
        if column < 0 or column >> COLUMN_BITS:
            raise SimulationError(f"{self.name}: column {column} has more than {COLUMN_BITS} bits")
        if source < 0 or source >= self.entries:
            raise SimulationError(
                f"{self.name}: there is no list {source}; they are numbered from 0 to {self.entries - 1}"
            )

    def _let_leave(self, now: int) -> int:
        """Once no head is awaited: the smallest, or the stop behind the last."""
        if self.awaited == 0:
            if self.heads.filled > 0:
                self._emit()
            else:
                self.merged.push(STOP)
                self.phase = IDLE_PHASE
        return self.busy(now + 1)

    def _emit(self) -> None:
        source = self.heads.source()
        self.merged.push(DATA, self.heads.column(), source, self.values[source])
        self.successors.push(DATA, 0, source, 0.0)
        self.heads.pop()
        self.awaited = 1
        self.merged_elements += 1
