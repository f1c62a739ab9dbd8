"""Holds every request that memory gets to the tensor that it belongs to."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.accelerators.layout import Layout, Role
from fiberscope.accelerators.memory import observe_requests
from fiberscope.hw.memory.protocol import PORT_SHIFT, READ, READ_BURST, TENSOR_SHIFT, WRITE_BURST

if TYPE_CHECKING:
    from fiberscope.accelerators.composition import Composition

GIVEN = {Role.OPERAND, Role.STREAM, Role.STATE}
READ_ONLY = {Role.OPERAND, Role.STREAM}
MOST_TOLD = 20  # lines
BURSTS = {READ_BURST, WRITE_BURST}
ONCE = {Role.STREAM, Role.PRODUCT}


class RequestCheck:
    """Hears the requests of a machine's memory, and keeps what is wrong with them, a line each.

    Wrong are layouts that share a line, a request outside of all layouts, a read of what was never written, a
    write to what is only read, and a second one where there is to be one; and in the end lines that are not
    touched and should be, or are and should not.

    Args:
        machine: that has its memory and says its ``layouts``.

    Raises:
        ConfigurationError: it has none, or does not.
    """

    def __init__(self, machine: Any) -> None:  # noqa: ANN401 - any machine; refused if it is no Composition
        if not getattr(machine, "channels", ()):
            raise ConfigurationError("the machine has no memory whose requests could be checked")
        self.machine: Composition[Any] = machine
        self.line: int = machine.request_bytes
        self.unit: int = min(self.line, machine.memory_parameters.burst_bytes)
        self.faults: list[str] = []
        # By unit that is written, or read of what is only read: the cycle and the port of who did so first.
        self._touched: dict[int, tuple[int, int]] = {}
        self._layouts = self._sorted_layouts()
        self._starts = [layout.start for layout in self._layouts]
        self._find_overlaps()

    def _sorted_layouts(self) -> list[Layout]:
        """The arrays that may be touched at all, by address."""
        ordered = sorted(self.machine.layouts(), key=lambda layout: layout.start)
        if not ordered:
            raise ConfigurationError(f"{self.machine.NAME} should say in layouts() where its tensors lie")
        return [layout for layout in ordered if layout.size or layout.ahead]

    def _tensor(self, address: int) -> str:
        """The name of the tensor that an address is of, by its number."""
        number = address >> TENSOR_SHIFT
        names = (name for name, numbers in self.machine.tensors.items() if number in numbers)
        return next(names, f"tensor {number}")

    def _end(self, layout: Layout) -> int:
        """The first address behind the last line."""
        return -(-(layout.start + layout.size) // self.line) * self.line

    def _find_overlaps(self) -> None:
        for layout, other in pairwise(self._layouts):
            if other.start // self.line * self.line < self._end(layout):
                lower, upper = self._tensor(layout.start), self._tensor(other.start)
                place = f"{layout.start:#x} to {self._end(layout):#x}"
                self.faults.append(f"{upper}: an array at {other.start:#x} lies over one of {lower}, {place}")

    def note(self, now: int, operation: int, address: int, tag: int) -> None:
        """A channel takes a request."""
        reads = operation in (READ, READ_BURST)
        unit = address // self.unit
        units = range(unit, unit + (1 if operation in BURSTS else self.line // self.unit))
        port = tag >> PORT_SHIFT
        layout = self._find(address)
        fault = self._fault(layout, reads, units)
        if fault:
            access = f"{self._who(port)} {'reads' if reads else 'writes'} {address:#x}"
            self.faults.append(f"{self._tensor(address)}: {access} in cycle {now} of memory: {fault}")
        if layout is not None and reads == (layout.role in READ_ONLY):
            for unit in units:
                self._touched.setdefault(unit, (now, port))

    def _find(self, address: int) -> Layout | None:
        """The array that an address lies in."""
        place = bisect_right(self._starts, address) - 1
        if place >= 0 and address < self._end(self._layouts[place]) + self._layouts[place].ahead:
            return self._layouts[place]
        return None

    def _fault(self, layout: Layout | None, reads: bool, units: range) -> str:
        """Describe what is wrong with a request; empty if nothing is."""
        if layout is None:
            return "no array lies there"
        if units.stop * self.unit > self._end(layout) + (layout.ahead if reads else 0):
            return "it goes beyond the last line of the array"
        if reads:
            return self._read_fault(layout, units)
        if layout.role in READ_ONLY:
            return f"the array {layout.role.value}"
        return self._again(layout, units)

    def _read_fault(self, layout: Layout, units: range) -> str:
        if layout.role is Role.PRODUCT:
            return "the array is only written"
        if layout.role not in GIVEN and not any(unit in self._touched for unit in units):
            return "it was never written"
        return self._again(layout, units)

    def _again(self, layout: Layout, units: range) -> str:
        previous = next((self._touched[unit] for unit in units if unit in self._touched), None)
        if layout.role not in ONCE or previous is None:
            return ""
        return f"the array {layout.role.value}, and {self._who(previous[1])} did in cycle {previous[0]}"

    def _who(self, port: int) -> str:
        """The component at the network to memory, and the port behind it."""
        place, behind = divmod(port, self.machine.numbers_each)
        user = self.machine.users[place][0].name if place < len(self.machine.users) else f"port {port}"
        return f"{user}[{behind}]" if self.machine.numbers_each > 1 else user

    def ended(self, *, complete: bool) -> Sequence[str]:
        """Describe what is wrong with the requests of a run that has ended, a line each; the first ones"""
        if complete:
            self.finish()
        omitted = len(self.faults) - MOST_TOLD
        return [*self.faults[:MOST_TOLD], *([f"and {omitted} more of this kind"] if omitted > 0 else [])]

    def finish(self) -> None:
        """The run is done: hold what was touched to what it is to use."""
        touched: dict[int, tuple[int, int]] = {}
        for unit, by in self._touched.items():
            touched.setdefault(unit * self.unit // self.line, by)
        lines = sorted(touched)
        for layout in self.machine.layouts():
            if layout.used is not None:
                first, end = (bisect_left(lines, at // self.line) for at in (layout.start, self._end(layout)))
                self._compare(layout, set(lines[first:end]), touched)

    def _compare(self, layout: Layout, touched: set[int], firsts: Mapping[int, tuple[int, int]]) -> None:
        """Tell of lines that are not touched and should be, or are and should not: the first of each."""
        expected = layout.lines(self.line)
        name, verb = self._tensor(layout.start), "written" if layout.role is Role.PRODUCT else "read"
        if missing := expected - touched:
            place = min(missing) * self.line
            self.faults.append(f"{name}: {len(missing)} lines are never {verb}, the first at {place:#x}")
        if unexpected := touched - expected:
            place, (cycle, port) = min(unexpected) * self.line, firsts[min(unexpected)]
            who = f"by {self._who(port)} in cycle {cycle} of memory"
            self.faults.append(
                f"{name}: {len(unexpected)} lines are {verb} that nobody needs, the first at {place:#x} {who}"
            )


@contextmanager
def checked_requests(machine: Any) -> Iterator[RequestCheck]:  # noqa: ANN401 - as of RequestCheck
    """Hold the requests that the machine's memory gets meanwhile.

    Raises:
        ConfigurationError: as of ``RequestCheck``.
    """
    check = RequestCheck(machine)
    with observe_requests(machine.channels, check.note):
        yield check
