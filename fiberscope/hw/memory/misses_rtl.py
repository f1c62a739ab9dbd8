"""Miss status holding registers as RTL: the twin of ``fiberscope.hw.memory.misses``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import pyrtl

from fiberscope.hw.rtl.kit.sram import Sram
from fiberscope.hw.rtl.kit.trees import all_up_to, any_of, chosen
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, alias, index_bits

OPERATION_BITS = 2  # bits of the operation of a target: a read or a consume


def one_hot(name: str, index: Signal, count: int) -> list[Signal]:
    """Return ``count`` named flags, of which the flag number ``index`` is set."""
    return [alias(f"{name}_{number:02}", index == number) for number in range(count)]


def number_of(flags: Sequence[Signal]) -> Signal:
    """Return the number of the flag that is set; 0 if none is. At most one may be set.

    Bit b of the number is the OR of the flags whose numbers have bit b.
    """
    bits = range(index_bits(len(flags)))
    ones = [[flag for number, flag in enumerate(flags) if number >> bit & 1] for bit in bits]
    return pyrtl.concat_list([reduce(or_, group) if group else pyrtl.Const(0, 1) for group in ones])


class FreeNumbers:
    """A pool of the numbers below a count, which are taken and given back. Call ``update`` once.

    The next number to take is in a register, so that it is known at the beginning of a cycle. When it is
    taken, the register gets the lowest free number. If no number is free, it gets the next number that is
    given back.

    Args:
        name: name of what is numbered, for the names of wires.
        count: number of numbers.

    Attributes:
        available: whether there is a number to take.
        next: this number.
    """

    def __init__(self, name: str, count: int) -> None:
        # The number in ``next`` counts as taken: after reset, it is 0
        self._taken: list[Signal] = [
            pyrtl.Register(1, f"{name}_taken_{i:02}", reset_value=int(i == 0)) for i in range(count)
        ]
        self._none: Signal = pyrtl.Register(1, f"no_{name}")
        self.next: Signal = pyrtl.Register(index_bits(count), f"next_{name}")
        self.available: Signal = alias(f"{name}_available", ~self._none)

    def update(self, take: Signal, give: Signal, returned: Signal) -> None:
        """Take ``next``, or give a number back. At most one of both may happen in a cycle.

        Args:
            take: whether ``next`` is taken.
            give: whether a number is given back.
            returned: this number.
        """
        # ``lowest`` is one-hot: the first number that is not taken. The last entry of ``below`` is not used.
        below = all_up_to(self._taken)
        lowest = [
            ~taken & before for taken, before in zip(self._taken, [pyrtl.Const(1, 1), *below], strict=False)
        ]
        # ``next`` gets another number when it is taken, and while the pool is empty (``_none``)
        moves = take | self._none
        next_number = pyrtl.select(below[-1], returned, number_of(lowest))
        self.next.next <<= pyrtl.select(moves, next_number, self.next)
        self._none.next <<= moves & below[-1] & ~give
        # A number given back to an empty pool goes directly to ``next``, and still counts as taken
        returns = give & ~self._none
        for number, (taken, first) in enumerate(zip(self._taken, lowest, strict=True)):
            taken.next <<= (taken | (moves & first)) & ~(returns & (returned == number))


@dataclass(frozen=True)
class Miss:
    """The registers of a miss.

    Args:
        placed: whether the line gets a place in the cache.
        set_index, way: this place.
        waiting: whether targets wait for the line.
        first, last: numbers of the first and the last of these targets.
    """

    placed: Signal
    set_index: Signal
    way: Signal
    waiting: Signal
    first: Signal
    last: Signal

    @classmethod
    def numbered(cls, number: int, widths: Sequence[int]) -> Miss:
        """Create the registers of a miss.

        Args:
            number: number of the miss, for the names of wires.
            widths: bits of each register except ``placed``.
        """
        names = [f"miss_{number:02}_{name}" for name in cls.__dataclass_fields__]
        # Only ``placed`` has a reset: it is read for all misses, the other registers for open misses only
        placed: Signal = pyrtl.Register(1, names[0])
        return cls(placed, *(DataRegister(bits, name) for bits, name in zip(widths, names[1:], strict=True)))


@dataclass(frozen=True)
class MissChanges:
    """Changes of the misses by the request that is decided.

    Args:
        opened: the request opens a miss.
        joined: the request joins a miss; never together with ``opened``.
        brings: for each miss, whether it fetches the line of the request.
        waits: the request becomes a target.
        consumed: the line loses its place, or gets none.
        line, set_index, way: number and place of the line of an opened miss.
        operation, tag: fields of a new target.
    """

    opened: Signal
    joined: Signal
    brings: Sequence[Signal]
    waits: Signal
    consumed: Signal
    line: Signal
    set_index: Signal
    way: Signal
    operation: Signal
    tag: Signal


class MissTable:
    """The lines in flight, and for each a queue of targets (the requests that wait for the line).

    Data that is needed of all misses at once is in registers, see ``Miss``. The numbers of the lines and the
    targets are in synchronous memories. The targets of a miss are a linked list (``following``), as in the
    component: the first is read when its line is taken, each other one after the target before it.

    Order of calls: ``take_line`` once, before ``of_arriving``, ``still`` and ``comes``; ``update`` once, at
    the end. The attributes ``takes``, ``closes``, ``operation``, ``tag`` and ``line`` exist after
    ``take_line``.

    Args:
        misses: maximum number of lines in flight.
        targets: maximum number of waiting requests of all misses together.
        line_bits: bits of a line's number.
        tag_bits: bits of a request's tag.
        sets, ways: sets and ways of the bank.

    Attributes:
        available, next: whether a miss can be opened, and its number.
        can_wait: whether another target can be added.
        takes: whether a line is taken from memory in this cycle.
        answering: whether a line has been taken whose targets are answered now.
        waiting: whether such a target is left, with this ``operation`` and ``tag``, for this ``line``.
        closes: whether the miss ends in this cycle.
    """

    def __init__(
        self, misses: int, targets: int, line_bits: int, tag_bits: int, sets: int, ways: int
    ) -> None:
        target_bits = index_bits(targets)
        widths = (index_bits(sets), index_bits(ways), 1, target_bits, target_bits)
        self._free_misses = FreeNumbers("miss", misses)
        self._free_targets = FreeNumbers("target", targets)
        self._misses = [Miss.numbered(number, widths) for number in range(misses)]
        self._lines = Sram("miss_lines", misses, line_bits)
        self._targets = Sram("targets", targets, OPERATION_BITS + tag_bits)
        self._following = Sram("following", targets, target_bits)
        self.available: Signal = self._free_misses.available
        self.next: Signal = self._free_misses.next
        self.can_wait: Signal = self._free_targets.available
        self.answering: Signal = pyrtl.Register(1, "answering")
        self.waiting: Signal = DataRegister(1, "target_waits")
        self._answered: Signal = DataRegister(index_bits(misses), "answered_miss")
        self._target: Signal = DataRegister(target_bits, "answered_target")
        self._last: Signal = DataRegister(target_bits, "last_target")

    def in_set(self, set_index: Signal) -> list[Signal]:
        """Return, for each miss, whether its line gets a place in this set."""
        return [
            alias(f"miss_{i:02}_in_set", miss.placed & (miss.set_index == set_index))
            for i, miss in enumerate(self._misses)
        ]

    def ways(self, flags: Sequence[Signal], ways: int) -> list[Signal]:
        """Return, for each way, whether the line of one of the flagged misses gets its place there."""
        decoded = [one_hot(f"miss_{i:02}_way", miss.way, ways) for i, miss in enumerate(self._misses)]
        return [
            any_of(
                f"in_flight_{way:02}",
                [flag & places[way] for flag, places in zip(flags, decoded, strict=True)],
            )
            for way in range(ways)
        ]

    def bringing(self, flags: Sequence[Signal], hits: Sequence[Signal]) -> list[Signal]:
        """Return, for each flagged miss, whether its line is the line that is found in a way (``hits``)."""
        way = alias("found_way", number_of(hits))
        present = any_of("found_any", hits)
        return [flag & present & (miss.way == way) for flag, miss in zip(flags, self._misses, strict=True)]

    def take_line(self, arriving: Signal, valid: Signal, room: Signal) -> Signal:
        """Take a line from memory if none is being answered, or the miss before it ends in this cycle.

        Args:
            arriving: number of the miss whose line is at the port.
            valid: whether a line is at the port.
            room: whether a reply can be sent.

        Returns:
            Whether a line can be taken in this cycle.
        """
        answered = alias("answered", self.answering & self.waiting & room)
        self._answers = answered
        last = alias("answers_last", answered & (self._target == self._last))
        self.closes: Signal = alias("closes", self.answering & (~self.waiting | last))
        free = alias("line_is_taken", ~self.answering | self.closes)
        takes = self.takes = alias("takes_line", free & valid)
        self.arriving = one_hot("arriving", arriving, len(self._misses))
        self._closing = [
            alias(f"closing_{i:02}", self.closes & flag)
            for i, flag in enumerate(one_hot("answered_miss_is", self._answered, len(self._misses)))
        ]
        self._read(takes, answered, arriving)
        self.answering.next <<= takes | (self.answering & ~self.closes)
        return free

    def _read(self, takes: Signal, answered: Signal, arriving: Signal) -> None:
        """Read the line that is taken and its first target, or the target after the answered one."""
        # These are copied, so that no target may join in this cycle, see ``comes``
        first, last, waiting = map(self.of_arriving, ("first", "last", "waiting"))
        moves = takes | answered
        # The memory shows the entry of the last address: the target behind the one that is answered now
        following: Signal = pyrtl.WireVector(len(first), "target_behind")
        address = alias("target_address", pyrtl.select(takes, first, following))
        following <<= self._following.read(address, moves)[0]
        (target,) = self._targets.read(address, moves)
        (self.line,) = self._lines.read(arriving, takes)
        self.operation: Signal = alias("target_operation", target[:OPERATION_BITS])
        self.tag: Signal = alias("target_tag", target[OPERATION_BITS:])
        self._target.next <<= pyrtl.select(moves, address, self._target)
        for register, value in ((self._last, last), (self.waiting, waiting), (self._answered, arriving)):
            register.next <<= pyrtl.select(takes, value, register)

    def of_arriving(self, name: str) -> Signal:
        """Return a register of ``Miss``, for the miss whose line is at the port."""
        value = chosen(self.arriving, [getattr(miss, name) for miss in self._misses])
        return alias(f"arriving_{name}", value)

    def still(self, flags: Sequence[Signal]) -> list[Signal]:
        """Return the flags of misses without the miss that ends in this cycle."""
        return [flag & ~closing for flag, closing in zip(flags, self._closing, strict=True)]

    def comes(self, valid: Signal, flags: Sequence[Signal]) -> Signal:
        """Return whether the line of a flagged miss is at the port, so that no request can join the miss."""
        return valid & any_of("comes", [a & b for a, b in zip(self.arriving, flags, strict=True)])

    def update(self, changes: MissChanges) -> None:
        """Change the table at the end of the cycle."""
        added = alias("target_added", changes.waits & (changes.opened | changes.joined))
        target = self._free_targets.next
        for i, miss in enumerate(self._misses):
            opened = alias(f"opened_{i:02}", changes.opened & (self.next == i))
            joined = alias(f"joined_{i:02}", changes.joined & changes.brings[i])
            self._change(miss, opened, joined, self._closing[i], changes)
        behind = alias(
            "target_behind_another",
            changes.joined & chosen(changes.brings, [m.waiting for m in self._misses]),
        )
        last = alias("joined_last", chosen(changes.brings, [miss.last for miss in self._misses]))
        self._lines.write(self.next, [changes.line], [changes.opened])
        self._targets.write(target, [pyrtl.concat(changes.tag, changes.operation)], [added])
        # The last target of a queue has no link: the answers end at the target in ``_last``
        self._following.write(last, [target], [added & behind])
        # Requests are decided only while no line is answered, so that a pool never takes and gives at once
        self._free_misses.update(changes.opened, self.closes, self._answered)
        self._free_targets.update(added, self._answers, self._target)

    def _change(
        self, miss: Miss, opened: Signal, joined: Signal, closes: Signal, changes: MissChanges
    ) -> None:
        """Update one miss."""
        target, waits = self._free_targets.next, joined & changes.waits
        for register, value in ((miss.set_index, changes.set_index), (miss.way, changes.way)):
            register.next <<= pyrtl.select(opened, value, register)
        kept = miss.placed & ~closes & ~(joined & changes.consumed)
        miss.placed.next <<= pyrtl.select(opened, ~changes.consumed, kept)
        miss.waiting.next <<= pyrtl.select(opened, changes.waits, miss.waiting | waits)
        miss.first.next <<= pyrtl.select(opened | (waits & ~miss.waiting), target, miss.first)
        miss.last.next <<= pyrtl.select(opened | waits, target, miss.last)
