"""The tags of a set-associative bank as RTL: the twin of ``fiberscope.hw.memory.tags``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import xor

import pyrtl

from fiberscope.hw.memory.misses_rtl import number_of
from fiberscope.hw.memory.tags import Sets
from fiberscope.hw.rtl.kit.smallest import Candidate, select_smallest
from fiberscope.hw.rtl.kit.sram import Sram
from fiberscope.hw.rtl.kit.trees import any_of, remainder
from fiberscope.hw.rtl.kit.twin import Signal, alias, index_bits

GROUP = 4  # ways of a group; the victim of each group is chosen one stage before that of all groups


def set_of(line: Signal, sets: Sets) -> Signal:
    """Return the set of a line, see ``Sets.set_of``.

    Args:
        line: number of the line.
        sets: the mapping; its divisor must be a power of two.
    """
    bits = index_bits(sets.sets)
    # A division by a power of two cuts off the low bits
    rest = line[sets.divisor.bit_length() - 1 :]
    if sets.sets == 1:
        return pyrtl.Const(0, 1)
    if not sets.hashed:
        return remainder(rest, sets.sets).zero_extended(bits)
    # Fold the number: the XOR of its pieces of ``bits`` bits
    parts = [rest[i : i + bits].zero_extended(bits) for i in range(0, len(rest), bits)]
    return reduce(xor, parts)


@dataclass(frozen=True)
class State:
    """The state of a way; valid only if the way has a line.

    Args:
        dirty: whether the line has to be written back.
        priority: number of expected reads.
        reuse: re-reference prediction value of SRRIP.
    """

    dirty: Signal
    priority: Signal
    reuse: Signal


@dataclass(frozen=True)
class Victim:
    """The way for a new line.

    Args:
        chosen: for each way, whether it is this way.
        way: number of this way.
        leaves: whether a line is evicted from it; false for a free way.
        rank: rank of the evicted line, see ``_rank``.
        reuse: its prediction value.
        line: its number.
    """

    chosen: Sequence[Signal]
    way: Signal
    leaves: Signal
    rank: Signal
    reuse: Signal
    line: Signal

    @property
    def leaves_dirty(self) -> Signal:
        """Return whether the evicted line is dirty, which its rank and its priority imply.

        Bit 0 of a rank is inverted for priority 0, see ``_rank``.
        """
        return self.leaves & (self.rank[0] ^ (self.rank[1:] == 0))


@dataclass(frozen=True)
class TagChanges:
    """Changes of a set by the request that is decided.

    Args:
        place: a new line replaces the victim.
        fetch: the line is fetched: one more read is expected.
        read: the line is read: one read less is expected.
        write: the line is written, and dirty from now on.
        unread: no read of a written new line is expected.
        drop: the line is removed.
    """

    place: Signal
    fetch: Signal
    read: Signal
    write: Signal
    unread: Signal
    drop: Signal

    def any(self) -> Signal:
        """Return whether there is a change."""
        return self.place | self.fetch | self.read | self.write | self.drop


class Tags:
    """The tags of a bank. A set is read when its request is taken, and written when it is decided.

    There are two synchronous memories with an entry for each set. One has a lane for each way, with a valid
    bit and the line; the other has the states of all ways. Their contents after reset are undefined; a
    register bit for each set says whether the set was ever written.

    Order of calls: ``read``, then ``compare``, then the others; ``update`` once, at the end.

    Args:
        sets, ways: sets and ways of the bank.
        priority_limit, reuse_limit: see ``TagStore``.
        line_bits: bits of a line's number.
    """

    def __init__(self, sets: int, ways: int, priority_limit: int, reuse_limit: int, line_bits: int) -> None:
        self.ways = ways
        self._limits = priority_limit, reuse_limit
        self._widths = (1, _bits(priority_limit), _bits(reuse_limit))
        self._lines = Sram("tag_lines", sets, 1 + line_bits, lanes=ways)
        self._states = Sram("tag_states", sets, ways * sum(self._widths))
        self._written: Signal = pyrtl.Register(sets, "sets_written")

    def read(self, set_index: Signal, enable: Signal) -> Signal:
        """Read a set, if enabled; return whether it was ever written. The other methods use the set read."""
        self._entries = self._lines.read(set_index, enable)
        (self._state,) = self._states.read(set_index, enable)
        return alias("set_known", (self._written & self._flag(set_index)) != 0)

    def _flag(self, set_index: Signal) -> Signal:
        """Return a one-hot word with a bit for each set."""
        sets = range(len(self._written))
        return pyrtl.concat_list([set_index == number for number in sets])

    def compare(self, line: Signal, is_known: Signal) -> list[Signal]:
        """Return, for each way of the set that was read, whether it has the line."""
        self._valid = [
            alias(f"way_{i:02}_valid", entry[0] & is_known) for i, entry in enumerate(self._entries)
        ]
        return [
            alias(f"found_{i:02}", valid & (entry[1:] == line))
            for i, (valid, entry) in enumerate(zip(self._valid, self._entries, strict=True))
        ]

    def states(self) -> list[State]:
        """Return the states of all ways in the set that was read."""
        bits = sum(self._widths)
        return [self._cut(i, self._state[i * bits : (i + 1) * bits]) for i in range(self.ways)]

    def _cut(self, way: int, entry: Signal) -> State:
        """Return the state of a way from its part of the entry."""
        dirty, priority, _reuse = self._widths
        return State(
            alias(f"way_{way:02}_dirty", entry[0]),
            alias(f"way_{way:02}_priority", entry[dirty : dirty + priority]),
            alias(f"way_{way:02}_reuse", entry[dirty + priority :]),
        )

    def candidates(self, states: Sequence[State], in_flight: Sequence[Signal]) -> list[Candidate]:
        """Return the victim of each group of ways: the line with the lowest rank, then by SRRIP.

        Args:
            states: states of all ways.
            in_flight: for each way, whether its line is in flight and cannot be evicted.
        """
        bits = index_bits(self.ways)
        lines = [
            Candidate(
                valid & ~flies,
                # SRRIP evicts the largest prediction value, and ``select_smallest`` takes the smallest key.
                {"coordinate": pyrtl.concat(_rank(state), ~state.reuse), "line": entry[1:]},
                pyrtl.Const(i, bits),
            )
            for i, (valid, flies, state, entry) in enumerate(
                zip(self._valid, in_flight, states, self._entries, strict=True)
            )
        ]
        starts = range(0, self.ways, GROUP)
        return [select_smallest(lines[start : start + GROUP], f"group_{start:02}") for start in starts]

    def free(self) -> list[Signal]:
        """Return, for each way, whether it is the first way without a line."""
        free = alias("free_ways", pyrtl.concat_list([~valid for valid in self._valid]))
        # A number and the number minus one differ in the lowest set bit and the bits below it
        first = alias("first_free", free & ~(free - 1)[: len(free)])
        return [first[i] for i in range(self.ways)]

    def victim(self, candidates: Sequence[Candidate], free: Sequence[Signal]) -> Victim:
        """Return the first free way; without one, the way of the lowest candidate of all groups.

        No way is chosen if the lines of all ways are in flight.
        """
        lowest = select_smallest(candidates, "victim")
        is_free = any_of("way_is_free", free)
        key, reuse_bits = lowest.fields["coordinate"], self._widths[-1]
        return Victim(
            [
                alias(f"victim_{i:02}", pyrtl.select(is_free, free[i], lowest.present & (lowest.way == i)))
                for i in range(self.ways)
            ],
            way=alias("victim_way", pyrtl.select(is_free, number_of(free), lowest.way)),
            leaves=alias("evicts", ~is_free & lowest.present),
            rank=alias("victim_rank", key[reuse_bits:]),
            reuse=alias("victim_reuse", ~key[:reuse_bits]),
            line=lowest.fields["line"],
        )

    def update(
        self,
        changes: TagChanges,
        set_index: Signal,
        line: Signal,
        is_known: Signal,
        hits: Sequence[Signal],
        states: Sequence[State],
        victim: Victim,
    ) -> None:
        """Change the set of the decided request at the end of the cycle.

        The first write to a set invalidates its other ways.

        Args:
            set_index: number of the set.
            line: line of the request.
            is_known: whether the set was ever written.
            hits: for each way, whether it has the line.
            states: states of all ways.
            victim: the way for a new line.
        """
        unknown = alias("set_becomes_known", changes.place & ~is_known)
        lines, enables, after = [], [], []
        for i, state in enumerate(states):
            takes = alias(f"takes_{i:02}", changes.place & victim.chosen[i])
            # The valid bit is 1 for the new line only: a dropped line, and the other ways of a set that was
            # never written, are written as invalid
            lines.append(pyrtl.concat(line, takes))
            enables.append(alias(f"line_written_{i:02}", takes | unknown | (changes.drop & hits[i])))
            older = alias(f"aged_reuse_{i:02}", self._aged(state, self._ages(state, changes, victim), victim))
            kept = self._befallen(state, older, hits[i], changes)
            after.append(_entry(_either(takes, self._placed(changes), kept)))
        self._lines.write(set_index, lines, enables)
        # One entry has the states of all ways, so that a change of one state writes all of them
        self._states.write(set_index, [pyrtl.concat_list(after)], [alias("tags_change", changes.any())])
        self._written.next <<= self._written | pyrtl.select(changes.place, self._flag(set_index), 0)

    def _ages(self, state: State, changes: TagChanges, victim: Victim) -> Signal:
        """Return whether a way has the rank of the evicted line, so that SRRIP decided between them.

        The rank has the priority and the dirty bit. Lines in flight age too, as in ``TagStore``.
        """
        return changes.place & victim.leaves & (_rank(state) == victim.rank)

    def _aged(self, state: State, ages: Signal, victim: Victim) -> Signal:
        """Return the prediction value of a way; ageing adds the victim's distance to the limit."""
        limit = self._limits[1]
        # The sum is one bit wider than its operands, so that the limit can be compared without a wrap
        older = state.reuse + (limit - victim.reuse)[: len(state.reuse)]
        capped = pyrtl.select(older > limit, pyrtl.Const(limit, len(older)), older)[: len(state.reuse)]
        return pyrtl.select(ages, capped, state.reuse)

    def _placed(self, changes: TagChanges) -> State:
        """Return the state of a new line."""
        priority_limit, reuse_limit = self._limits
        first_priority = pyrtl.Const(min(1, priority_limit), self._widths[1])
        # The read that asks for a line is not counted as expected: the arriving line answers it
        awaited = changes.fetch | (changes.write & ~changes.unread)
        return State(
            dirty=changes.write,
            priority=pyrtl.select(awaited, first_priority, pyrtl.Const(0, len(first_priority))),
            reuse=pyrtl.Const(reuse_limit - 1, self._widths[2]),
        )

    def _befallen(self, state: State, older: Signal, is_hit: Signal, changes: TagChanges) -> State:
        """Return the state of a way that keeps its line.

        Args:
            older: its prediction value after ageing.
            is_hit: whether it has the line of the request.
            changes: the changes by the request.
        """
        limit, width = self._limits[0], self._widths[1]
        more = pyrtl.select(state.priority == limit, state.priority, (state.priority + 1)[:width])
        fewer = pyrtl.select(state.priority == 0, state.priority, (state.priority - 1)[:width])
        fetched, was_read = is_hit & changes.fetch, is_hit & changes.read
        return State(
            dirty=state.dirty | (is_hit & changes.write),
            priority=pyrtl.select(fetched, more, pyrtl.select(was_read, fewer, state.priority)),
            reuse=pyrtl.select(fetched | was_read, pyrtl.Const(0, len(older)), older),
        )


def _either(condition: Signal, state: State, other: State) -> State:
    """Return one of two states."""
    return State(
        *(pyrtl.select(condition, *pair) for pair in zip(_fields(state), _fields(other), strict=True))
    )


def _fields(state: State) -> list[Signal]:
    return [getattr(state, name) for name in State.__dataclass_fields__]


def _entry(state: State) -> Signal:
    """Return a state as one word, the first field in the lowest bits."""
    return pyrtl.concat_list(_fields(state))


def _rank(state: State) -> Signal:
    """Return the rank of a line; the lowest is evicted first.

    The rank is the priority. Of lines with equal priority, clean lines precede dirty lines, but dirty lines
    precede if no read is expected (priority 0), see ``TagStore``.
    """
    return pyrtl.concat(state.priority, state.dirty ^ (state.priority == 0))


def _bits(limit: int) -> int:
    """Return the bits of a number from 0 to a limit, at least one."""
    return max(1, limit.bit_length())
