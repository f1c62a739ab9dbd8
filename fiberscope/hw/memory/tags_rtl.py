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

GROUP = 4  # ways whose victim is found in the stage that compares, before the one among the groups


def set_of(line: Signal, sets: Sets) -> Signal:
    """The set of a line, of its number a remainder, or all bits folded; the divisor is a power of two."""
    bits = index_bits(sets.sets)
    rest = line[sets.divisor.bit_length() - 1 :]
    if sets.sets == 1:
        return pyrtl.Const(0, 1)
    if not sets.hashed:
        return remainder(rest, sets.sets).zero_extended(bits)
    parts = [rest[i : i + bits].zero_extended(bits) for i in range(0, len(rest), bits)]
    return reduce(xor, parts)


@dataclass(frozen=True)
class State:
    """State of a way beside its line; counts only where it has one. ``reuse`` is SRRIP's prediction."""

    dirty: Signal
    priority: Signal
    reuse: Signal


@dataclass(frozen=True)
class Victim:
    """The ``way`` for a new line, and as a flag for each; whether a line ``leaves`` it, with what state.

    ``rank`` and ``reuse`` are those of the line that leaves, or would.
    """

    chosen: Sequence[Signal]
    way: Signal
    leaves: Signal
    rank: Signal
    reuse: Signal
    line: Signal

    @property
    def leaves_dirty(self) -> Signal:
        """Return whether a line leaves that must be written back."""
        return self.leaves & (self.rank[0] ^ (self.rank[1:] == 0))


@dataclass(frozen=True)
class TagChanges:
    """Changes of a set by the request that is decided: its line replaces the victim, or changes.

    A line that takes a place is ``dirty`` if it was written. It awaits a read if it is fetched, or written
    and not ``unread``.
    """

    place: Signal
    fetch: Signal
    read: Signal
    write: Signal
    unread: Signal
    drop: Signal

    def any(self) -> Signal:
        """Return whether anything happens."""
        return self.place | self.fetch | self.read | self.write | self.drop


class Tags:
    """Lines that a bank holds: a set is read in one cycle, and written when its request is decided.

    Two synchronous memories of an entry a set: the lines, a lane each with a bit that says whether there is
    one, and the ways' states. They come out of a reset with any contents, so a register says of each set
    whether it was ever written.

    Args:
        sets, ways: the sets and ways of the bank.
        priority_limit, reuse_limit: as in the component.
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
        """Look at a set; says whether it was ever written."""
        self._entries = self._lines.read(set_index, enable)
        (self._state,) = self._states.read(set_index, enable)
        return alias("set_known", (self._written & self._flag(set_index)) != 0)

    def _flag(self, set_index: Signal) -> Signal:
        """A bit for each set: whether it is this one."""
        sets = range(len(self._written))
        return pyrtl.concat_list([set_index == number for number in sets])

    def compare(self, line: Signal, is_known: Signal) -> list[Signal]:
        """A flag for each way: whether the line is there; of the set that was read."""
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
        dirty, priority, _reuse = self._widths
        return State(
            alias(f"way_{way:02}_dirty", entry[0]),
            alias(f"way_{way:02}_priority", entry[dirty : dirty + priority]),
            alias(f"way_{way:02}_reuse", entry[dirty + priority :]),
        )

    def candidates(self, states: Sequence[State], in_flight: Sequence[Signal]) -> list[Candidate]:
        """The lines that may leave: of each group of ways that of the lowest rank, then by SRRIP."""
        bits = index_bits(self.ways)
        lines = [
            Candidate(
                valid & ~flies,
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
        """A flag for each way: whether it is the first that has no line."""
        free = alias("free_ways", pyrtl.concat_list([~valid for valid in self._valid]))
        first = alias("first_free", free & ~(free - 1)[: len(free)])
        return [first[i] for i in range(self.ways)]

    def victim(self, candidates: Sequence[Candidate], free: Sequence[Signal]) -> Victim:
        """The first free way, or else that of the lowest of all candidates."""
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
        """Change the set of the request that is decided about at the end of the cycle.

        The first write to a set clears all other ways of it.
        """
        unknown = alias("set_becomes_known", changes.place & ~is_known)
        lines, enables, after = [], [], []
        for i, state in enumerate(states):
            takes = alias(f"takes_{i:02}", changes.place & victim.chosen[i])
            lines.append(pyrtl.concat(line, takes))
            enables.append(alias(f"line_written_{i:02}", takes | unknown | (changes.drop & hits[i])))
            older = alias(f"aged_reuse_{i:02}", self._aged(state, self._ages(state, changes, victim), victim))
            kept = self._befallen(state, older, hits[i], changes)
            after.append(_entry(_either(takes, self._placed(changes), kept)))
        self._lines.write(set_index, lines, enables)
        self._states.write(set_index, [pyrtl.concat_list(after)], [alias("tags_change", changes.any())])
        self._written.next <<= self._written | pyrtl.select(changes.place, self._flag(set_index), 0)

    def _ages(self, state: State, changes: TagChanges, victim: Victim) -> Signal:
        """Return whether a way is among those that the victim was chosen among for its prediction."""
        return changes.place & victim.leaves & (_rank(state) == victim.rank)

    def _aged(self, state: State, ages: Signal, victim: Victim) -> Signal:
        """The prediction of a way; one that ages does so by what the victim's lacks to the limit."""
        limit = self._limits[1]
        older = state.reuse + (limit - victim.reuse)[: len(state.reuse)]
        capped = pyrtl.select(older > limit, pyrtl.Const(limit, len(older)), older)[: len(state.reuse)]
        return pyrtl.select(ages, capped, state.reuse)

    def _placed(self, changes: TagChanges) -> State:
        """The state of a new line."""
        priority_limit, reuse_limit = self._limits
        first_priority = pyrtl.Const(min(1, priority_limit), self._widths[1])
        awaited = changes.fetch | (changes.write & ~changes.unread)
        return State(
            dirty=changes.write,
            priority=pyrtl.select(awaited, first_priority, pyrtl.Const(0, len(first_priority))),
            reuse=pyrtl.Const(reuse_limit - 1, self._widths[2]),
        )

    def _befallen(self, state: State, older: Signal, is_hit: Signal, changes: TagChanges) -> State:
        """The state of a way that keeps its line."""
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
    return State(
        *(pyrtl.select(condition, *pair) for pair in zip(_fields(state), _fields(other), strict=True))
    )


def _fields(state: State) -> list[Signal]:
    return [getattr(state, name) for name in State.__dataclass_fields__]


def _entry(state: State) -> Signal:
    """A way's state, the first field in the lowest bits."""
    return pyrtl.concat_list(_fields(state))


def _rank(state: State) -> Signal:
    """Priority; of equal ones the clean before the dirty, or the other way round where they await no read."""
    return pyrtl.concat(state.priority, state.dirty ^ (state.priority == 0))


def _bits(limit: int) -> int:
    """Bits of a number up to a limit."""
    return max(1, limit.bit_length())
