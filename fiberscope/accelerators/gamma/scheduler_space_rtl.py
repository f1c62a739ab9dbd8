"""Partial fibers in the scheduler as RTL: their starts, their lengths and the cache lines they occupy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import pyrtl

from fiberscope.accelerators.gamma.scheduler_parameters_rtl import FINE
from fiberscope.accelerators.gamma.scheduler_parts_rtl import Completion, ForwardingMemory
from fiberscope.hw.fibers.tasks_rtl import INDEX_BITS, INPUT_FIELDS, OUTPUT
from fiberscope.hw.rtl.kit.trees import chosen, decoded, ones_of, total
from fiberscope.hw.rtl.kit.twin import Signal, alias, index_bits, packed, resized, split_word, unless
from fiberscope.hw.streams.memory_rtl import Memory

if TYPE_CHECKING:
    from fiberscope.accelerators.gamma.scheduler_parameters_rtl import SchedulerParameters
    from fiberscope.accelerators.gamma.scheduler_tables_rtl import SchedulerTables


class _FreedSpace(NamedTuple):
    """Space that may be freed in a cycle.

    Args:
        flag: 1 if the space is freed.
        task: task whose partial fiber had the space.
        number: number of the size of the space.
    """

    flag: Signal
    task: Signal
    number: Signal


class _Space:
    """An allocator equal to ``PartialStore``: it reuses the space of a size that was freed last, or adds new.

    Free space is identified by the task whose fiber was there. The free spaces of a size form a linked list:
    a register for each size has the task of the space that was freed last, and the memory
    ``returned_before`` has, for each task, the task of the space that was freed before.

    Args:
        parameters: the parameters of the scheduler.
        starts: memory with the start of each task's space.
        freed: space freed in this cycle, in the order of freeing.
    """

    def __init__(self, parameters: SchedulerParameters, starts: Memory, freed: Sequence[_FreedSpace]) -> None:
        bits = index_bits(parameters.tasks) + 1  # number of a task, and above it a bit: 1 if there is one
        self._starts = starts
        self._used: Signal = pyrtl.Register(parameters.unit_bits, "used_space")
        numbers = range(parameters.sizes)
        self._last_freed: list[Signal] = [pyrtl.Register(bits, f"returned_{i:02}") for i in numbers]
        self._last_freed_now, writes = list(self._last_freed), []
        # One after another, so that a space freed in this cycle links to a space freed before in this cycle
        for flag, task, number in freed:
            is_size = list(decoded(number, len(self._last_freed)))
            writes.append((flag, task, chosen(is_size, self._last_freed_now)))
            freed_space = pyrtl.concat(pyrtl.Const(1, 1), resized(task, bits - 1))
            self._last_freed_now = [
                pyrtl.select(flag & is_this_size, freed_space, other)
                for is_this_size, other in zip(is_size, self._last_freed_now, strict=True)
            ]
        self._freed_before = ForwardingMemory("returned_before", parameters.tasks, bits, writes)

    def allocate(self, is_allocated: Signal, number: Signal, size: Signal) -> Signal:
        """Return the start of free space of a size; allocate it if ``is_allocated`` is 1. Call this once."""
        is_size = list(decoded(number, len(self._last_freed)))
        freed_space = chosen(is_size, self._last_freed_now)
        is_old, owner = alias("is_old_space", freed_space[-1]), alias("space_was_of", freed_space[:-1])
        previous = self._freed_before[owner]  # forwarded, as the space may be freed in this cycle
        for register, is_this_size, newest in zip(
            self._last_freed, is_size, self._last_freed_now, strict=True
        ):
            register.next <<= pyrtl.select(is_allocated & is_old & is_this_size, previous, newest)
        grown = (self._used + unless(is_old, size))[: len(self._used)]
        self._used.next <<= pyrtl.select(is_allocated, grown, self._used)
        return pyrtl.select(is_old, self._starts[owner], self._used)


class Fibers:
    """State of the partial fibers after the completions of a cycle.

    Args:
        parameters: the parameters of the scheduler.
        tables: memories of the scheduler.
        completions: the completions of the cycle, by processing element.

    Attributes:
        lines: lines of the FiberCache that partial fibers occupied before the cycle, as ``PartialOccupancy``
            counts them.
    """

    def __init__(
        self, parameters: SchedulerParameters, tables: SchedulerTables, completions: Sequence[Completion]
    ) -> None:
        self._parameters, self._tables = parameters, tables
        tasks, radix = parameters.tasks, parameters.radix
        announced = [(fiber.flag, fiber.task, fiber.length) for fiber in completions]
        self._lengths = ForwardingMemory("lengths", tasks, parameters.length_bits, announced)
        # Read for each input of a task, and for a space that is reused
        self._starts = Memory("starts", tasks, parameters.unit_bits, radix + 1)
        self._size_numbers = Memory("size_numbers", tasks, index_bits(parameters.sizes), radix)
        self._dispatched = Memory(
            "given", tasks, sum(parameters.dispatch_fields.values()), parameters.elements
        )
        consumed = [
            split_word(self._dispatched[fiber.task], parameters.dispatch_fields) for fiber in completions
        ]
        freed = [
            _FreedSpace(fiber.flag & fields[f"is_merged_{i}"], fields[f"child_{i}"], fields[f"number_{i}"])
            for fiber, fields in zip(completions, consumed, strict=True)
            for i in range(radix)
        ]
        self._space = _Space(parameters, self._starts, freed)
        self.lines: Signal = pyrtl.Register(parameters.total_bits, "partial_lines")
        self._lines_now = alias("partial_lines_now", self._lines_after(completions, consumed))
        # Trees with all leaves dispatched whose root is not complete, as ``completable_trees`` of the model
        self._ending: Signal = pyrtl.Register(tasks.bit_length(), "trees_ending")
        ends = [
            alias(f"tree_ends_{i}", fiber.flag & fiber.word["merges"] & ~fiber.word["is_partial"])
            for i, fiber in enumerate(completions)
        ]
        self._ending_now = (self._ending - ones_of(pyrtl.concat_list(ends)))[: len(self._ending)]

    def _lines_after(
        self, completions: Sequence[Completion], consumed: Sequence[dict[str, Signal]]
    ) -> Signal:
        """Return the number of lines occupied after these completions."""
        written = [
            alias(
                f"lines_written_{i}",
                unless(~(fiber.flag & fiber.word["is_partial"]), self._lines(fiber.length)),
            )
            for i, fiber in enumerate(completions)
        ]
        freed_lines = [
            alias(f"lines_left_{i}", unless(~fiber.flag, fields["lines"]))
            for i, (fiber, fields) in enumerate(zip(completions, consumed, strict=True))
        ]
        return (self.lines + total(written) - total(freed_lines))[: len(self.lines)]

    def _lines(self, elements: Signal) -> Signal:
        """Return the number of lines that ``elements`` elements take."""
        numerator, denominator = self._parameters.share
        bits = denominator.bit_length() - 1  # a power of two, since a line has a power of two bytes
        return (elements * pyrtl.Const(numerator) + (denominator - 1))[bits:]

    def admits(self, task: Signal, word: dict[str, Signal]) -> tuple[Signal, Signal]:
        """Return whether a leaf task may start, after the completions of this cycle and before them.

        The task may start if it writes no partial fiber, if its fiber fits the cache, or if no task tree can
        free space. The second result is for the status outputs.
        """
        lines = self._lines(self._tables.bounds[task])
        is_admitted, was_admitted = (
            ~word["is_partial"] | (ending == 0) | (occupied + lines <= self._parameters.room)
            for ending, occupied in ((self._ending_now, self._lines_now), (self._ending, self.lines))
        )
        return is_admitted, was_admitted

    def allocate(self, task: Signal, word: dict[str, Signal], is_sent: Signal) -> dict[str, Signal]:
        """Allocate the partial fiber of a task if it ``is_sent``; return the further fields of its token."""
        inputs = _Inputs(self._tables, task, word, self._parameters)
        lengths = [self._lengths[child] for child in inputs.children]
        merged = [unless(~flag, length) for flag, length in zip(inputs.flags, lengths, strict=True)]
        bound = self._bound_length(task, merged)
        needs_space = alias("takes_space", is_sent & word["is_partial"])
        start = self._allocate_space(task, needs_space, bound)
        fiber_lines = unless(~word["is_partial"], self._lines(bound))
        new_lines = alias("lines_begun", unless(~is_sent, fiber_lines))
        self.lines.next <<= (self._lines_now + new_lines)[: len(self.lines)]
        # After its last leaf, a tree can be merged to the end. A row without a tree writes no partial fiber.
        is_last = alias("is_last_leaf", needs_space & word["is_last"] & ~word["merges"])
        self._ending.next <<= (self._ending_now + is_last)[: len(self._ending)]
        self._record_dispatch(task, is_sent, inputs, total([fiber_lines, *map(self._lines, merged)]))
        begins = [self._element(self._starts[child]) for child in inputs.children]
        output = pyrtl.concat(word["is_partial"], unless(~word["is_partial"], self._element(start)))
        return inputs.fields(begins, lengths) | {OUTPUT: output}

    def _bound_length(self, task: Signal, merged: Sequence[Signal]) -> Signal:
        """Return the largest number of elements that the fiber can have.

        Args:
            task: the task.
            merged: lengths of the partial fibers that it merges; 0 for other inputs.
        """
        elements, columns = total([self._tables.bounds[task], *merged]), self._parameters.columns
        limit = pyrtl.Const(columns, self._parameters.length_bits)
        return alias("bound", pyrtl.select(elements > columns, limit, elements[: len(limit)]))

    def _allocate_space(self, task: Signal, needs_space: Signal, bound: Signal) -> Signal:
        """Return the start of the fiber's space, and store it with the number of its size."""
        # Space of 0 elements still takes a line, as in ``PartialStore``
        last_index = unless(bound == 0, (bound - 1)[: len(bound)])
        units = pyrtl.shift_right_logical(last_index, self._parameters.granule_bits)
        number, size = _size(units, index_bits(self._parameters.sizes))
        start = alias("start", self._space.allocate(needs_space, number, size))
        self._starts.write(task, start, needs_space)
        self._size_numbers.write(task, number, needs_space)
        return start

    def _record_dispatch(self, task: Signal, is_sent: Signal, inputs: _Inputs, lines: Signal) -> None:
        """Record the lines and the space that the task's completion frees."""
        fields = {"lines": lines}
        for i, (flag, child) in enumerate(zip(inputs.flags, inputs.children, strict=True)):
            fields |= {f"is_merged_{i}": flag, f"child_{i}": child, f"number_{i}": self._size_numbers[child]}
        fitted = {
            name: resized(fields[name], bits) for name, bits in self._parameters.dispatch_fields.items()
        }
        self._dispatched.write(task, packed(fitted), is_sent)

    def _element(self, start: Signal) -> Signal:
        """Return the number of the first element of a space."""
        return pyrtl.shift_left_logical(resized(start, INDEX_BITS), self._parameters.granule_bits)


class _Inputs:
    """The inputs of a task.

    Attributes:
        flags: for each input, 1 if it is a partial fiber.
        children: for each input that is a partial fiber, the task that wrote it.
    """

    def __init__(
        self, tables: SchedulerTables, task: Signal, word: dict[str, Signal], parameters: SchedulerParameters
    ) -> None:
        self._count = word["count"]
        self._lanes = tables.inputs(task)
        sources = [source for source, _row, _scale in self._lanes]
        # A partial fiber is the negative number -1 - task, whose complement is the task
        self.flags = [(self._count > i) & source[-1] for i, source in enumerate(sources)]
        self.children = [(~source)[: index_bits(parameters.tasks)] for source in sources]

    def fields(self, begins: Sequence[Signal], lengths: Sequence[Signal]) -> dict[str, Signal]:
        """Return the fields of the task's token that have a word for each input, and the number of inputs."""
        firsts = [
            pyrtl.select(flag, begin, row)
            for flag, begin, (_source, row, _scale) in zip(self.flags, begins, self._lanes, strict=True)
        ]
        # Of use for partial fibers only: the prefetcher finds the end of a row of B
        ends = [(begin + length)[:INDEX_BITS] for begin, length in zip(begins, lengths, strict=True)]
        sources, _rows, scales = zip(*self._lanes, strict=True)
        words = zip(INPUT_FIELDS, (sources, firsts, ends, scales), strict=True)
        return {"count": self._count} | {name: pyrtl.concat_list(list(lanes)) for name, lanes in words}


def _size(size_minus_one: Signal, bits: int) -> tuple[Signal, Signal]:
    """Return the number of a size and the size, rounded up as in ``PartialStore``.

    A size is a number from 1 to 2**``FINE``, shifted to the left. The number of a size is like a floating-
    point number of the requested size minus 1: the ``FINE`` - 1 bits below the leading 1, and above them the
    distance of the shift plus 1. If the requested size minus 1 has fewer bits, it is the number itself.

    Args:
        size_minus_one: requested size minus 1, in units of the smallest number of elements that fills whole
            lines.
        bits: width of the number of the size.
    """
    size_minus_one = resized(size_minus_one, max(len(size_minus_one), FINE))
    number, size = size_minus_one[:FINE], size_minus_one[:FINE] + 1
    for step in range(1, len(size_minus_one) - FINE + 1):
        fine_bits, is_larger = size_minus_one[step : step + FINE], size_minus_one[step + FINE - 1 :] != 0
        shifted = pyrtl.concat(pyrtl.Const(step + 1), fine_bits[:-1])
        number = pyrtl.select(is_larger, shifted, number)  # the largest step that applies counts
        size = pyrtl.select(is_larger, pyrtl.concat(fine_bits + 1, pyrtl.Const(0, step)), size)
    return resized(number, bits), size
