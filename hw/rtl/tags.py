"""The tags of a set-associative bank as RTL: the twin of ``hw.tags``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import pyrtl

from hw.rtl.kit.smallest import Candidate, smallest
from hw.rtl.kit.twin import Signal, index_bits, named
from hw.rtl.misses import memory, write


@dataclass(frozen=True)
class Way:
    """What one way of the set holds. All but ``valid`` counts only where that is set.

    ``pending``: in flight, to be brought by ``miss``. ``reuse`` is the prediction of SRRIP.
    """

    valid: Signal
    pending: Signal
    dirty: Signal
    priority: Signal
    reuse: Signal
    miss: Signal
    line: Signal


@dataclass(frozen=True)
class TagChanges:
    """What happens in the set in a cycle: a line takes the victim's place, or the one found changes.

    A line that takes a place is ``dirty`` if it was written, and else brought by ``miss``. It awaits a read
    if it is fetched, or written and not ``unread``.
    """

    place: Signal
    fetch: Signal
    read: Signal
    write: Signal
    unread: Signal
    arrive: Signal
    drop: Signal
    miss: Signal

    def any(self) -> Signal:
        """Whether anything happens."""
        return self.place | self.fetch | self.read | self.write | self.arrive | self.drop


class Tags:
    """Which lines a bank holds: one set a cycle is looked at for one line, and may be changed.

    Each way is a memory of as many entries as there are sets. Memories come out of a reset with any contents,
    so a register says of each set whether it was ever written.

    Args:
        sets, ways: of the bank.
        priority_limit, reuse_limit: as in the component.
        miss_bits: of a miss's number.
        line: the line looked for.
        set_index: where.

    Attributes say of the line whether it is ``present`` (``under_way`` at the time, to be brought by
    ``miss``); whether there is a victim, whether that is a line (``evicts``), dirty at that, and which.
    """

    def __init__(
        self,
        sets: int,
        ways: int,
        priority_limit: int,
        reuse_limit: int,
        miss_bits: int,
        line: Signal,
        set_index: Signal,
    ) -> None:
        self._limits = priority_limit, reuse_limit
        self._widths = 1, 1, 1, _bits(priority_limit), _bits(reuse_limit), miss_bits, len(line)
        self._line, self._set_index = line, set_index
        self._memories = [memory(f"way_{i:02}", sum(self._widths), sets) for i in range(ways)]
        self._written: Signal = pyrtl.Register(sets, "sets_written")
        self._set = named("set_looked_at", pyrtl.concat_list([set_index == i for i in range(sets)]))
        known = named("set_known", (self._set & self._written) != 0)
        self._ways = [self._read(i, known) for i in range(ways)]

        self._found = [
            named(f"found_{i:02}", way.valid & (way.line == line)) for i, way in enumerate(self._ways)
        ]
        self.present: Signal = named("present", _any(self._found))
        self.miss: Signal = named("found_miss", _chosen(self._found, [way.miss for way in self._ways]))
        self.under_way: Signal = named(
            "found_under_way", _chosen(self._found, [way.pending for way in self._ways])
        )
        self._choose()

    def _read(self, number: int, known: Signal) -> Way:
        """The way's fields in the set; the lowest bits are the first of them."""
        entry = named(f"way_{number:02}_entry", self._memories[number][self._set_index])
        ends = list(accumulate(self._widths))
        fields = {
            name: entry[end - width : end]
            for name, width, end in zip(Way.__dataclass_fields__, self._widths, ends, strict=True)
        }
        fields["valid"] = fields["valid"] & known
        return Way(**{name: named(f"way_{number:02}_{name}", wire) for name, wire in fields.items()})

    def _choose(self) -> None:
        """The victim: the first free way, or else that of the lowest rank, then by SRRIP."""
        bits = index_bits(len(self._ways))
        root = smallest(
            [
                Candidate(
                    way.valid & ~way.pending,
                    {"coordinate": pyrtl.concat(_rank(way), ~way.reuse)},
                    pyrtl.Const(i, bits),
                )
                for i, way in enumerate(self._ways)
            ]
        )
        free = named("free_ways", pyrtl.concat_list([~way.valid for way in self._ways]))
        first_free = named("first_free", free & ~(free - 1)[: len(free)])
        self.evicts: Signal = named("evicts", (free == 0) & root.present)
        self._victim = [
            named(f"victim_{i:02}", pyrtl.select(free != 0, first_free[i], root.present & (root.way == i)))
            for i in range(len(self._ways))
        ]
        self.has_victim: Signal = named("has_victim", _any(self._victim))
        key = root.fields["coordinate"]
        reuse_bits = self._widths[4]
        self._victim_class = named("victim_class", key[reuse_bits:])  # among which SRRIP decided
        self._victim_reuse = named("victim_reuse", ~key[:reuse_bits])
        self.evicts_dirty: Signal = named(
            "evicts_dirty", self.evicts & (key[reuse_bits] ^ (key[reuse_bits + 1 :] == 0))
        )
        self.victim_line: Signal = named(
            "victim_line", _chosen(self._victim, [way.line for way in self._ways])
        )

    def update(self, changes: TagChanges) -> None:
        """Change the set at the end of the cycle."""
        changed = named("tags_change", changes.any())
        nothing = pyrtl.Const(0, len(self._set))
        self._written.next <<= self._written | pyrtl.select(changed, self._set, nothing)
        for i, way in enumerate(self._ways):
            ages = named(f"ages_{i:02}", self._ages(way, changes))
            older = named(f"aged_reuse_{i:02}", self._aged(way, ages))
            after = self._befallen(way, older, self._found[i], changes)
            entry = pyrtl.select(changes.place & self._victim[i], self._placed(changes), after)
            write(self._memories[i], self._set_index, entry, changed)

    def _ages(self, way: Way, changes: TagChanges) -> Signal:
        """Whether a way is among those that the victim was chosen among for its prediction."""
        equal = _rank(way) == self._victim_class
        return changes.place & self.evicts & equal

    def _aged(self, way: Way, ages: Signal) -> Signal:
        """The prediction of a way; one that ages does so by what the victim's lacks to the limit."""
        limit = self._limits[1]
        older = way.reuse + (limit - self._victim_reuse)[: len(way.reuse)]
        capped = pyrtl.select(older > limit, pyrtl.Const(limit, len(older)), older)[: len(way.reuse)]
        return pyrtl.select(ages, capped, way.reuse)

    def _placed(self, changes: TagChanges) -> Signal:
        """The entry of a new line."""
        priority_limit, reuse_limit = self._limits
        one = pyrtl.Const(min(1, priority_limit), self._widths[3])
        return _entry(
            Way(
                valid=pyrtl.Const(1, 1),
                pending=~changes.write,
                dirty=changes.write,
                priority=pyrtl.select(
                    changes.fetch | (changes.write & ~changes.unread), one, pyrtl.Const(0, len(one))
                ),
                reuse=pyrtl.Const(reuse_limit - 1, self._widths[4]),
                miss=changes.miss,
                line=self._line,
            )
        )

    def _befallen(self, way: Way, older: Signal, found: Signal, changes: TagChanges) -> Signal:
        """The entry of a way that keeps its line, or drops it."""
        limit, width = self._limits[0], self._widths[3]
        more = pyrtl.select(way.priority == limit, way.priority, (way.priority + 1)[:width])
        fewer = pyrtl.select(way.priority == 0, way.priority, (way.priority - 1)[:width])
        fetched, was_read = found & changes.fetch, found & changes.read
        return _entry(
            Way(
                valid=way.valid & ~(found & changes.drop),
                pending=way.pending & ~(found & changes.arrive),
                dirty=way.dirty | (found & changes.write),
                priority=pyrtl.select(fetched, more, pyrtl.select(was_read, fewer, way.priority)),
                reuse=pyrtl.select(fetched | was_read, pyrtl.Const(0, len(older)), older),
                miss=way.miss,
                line=way.line,
            )
        )


def _entry(way: Way) -> Signal:
    """A way's fields side by side, the first in the lowest bits."""
    return pyrtl.concat_list([getattr(way, name) for name in Way.__dataclass_fields__])


def _rank(way: Way) -> Signal:
    """Priority; of equal ones the clean before the dirty, or the other way round where they await no read."""
    return pyrtl.concat(way.priority, way.dirty ^ (way.priority == 0))


def _bits(limit: int) -> int:
    """Bits of a number up to a limit."""
    return max(1, limit.bit_length())


def _any(flags: Sequence[Signal]) -> Signal:
    return pyrtl.concat_list(list(flags)) != 0


def _chosen(flags: Sequence[Signal], fields: Sequence[Signal]) -> Signal:
    """The field whose flag is set, zeros if none is; no more than one may be."""
    gated = [
        pyrtl.select(flag, field, pyrtl.Const(0, len(field)))
        for flag, field in zip(flags, fields, strict=True)
    ]
    merged = gated[0]
    for field in gated[1:]:
        merged = merged | field
    return merged
