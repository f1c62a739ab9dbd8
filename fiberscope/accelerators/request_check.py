"""A check that every request to memory is legal for the array at its address (``--checked``)."""

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

PREEXISTING = {Role.OPERAND, Role.STREAM, Role.STATE}  # roles of arrays that exist before the run
READ_ONLY = {Role.OPERAND, Role.STREAM}  # roles of arrays that are never written
MAX_FAULTS = 20  # largest number of faults in a report
BURSTS = {READ_BURST, WRITE_BURST}
SINGLE_ACCESS = {Role.STREAM, Role.PRODUCT}  # roles of arrays whose units are accessed at most once


class RequestCheck:
    """An observer of the requests of a machine's memory, which records faults.

    These are faults:

    - two arrays share a line, or a request lies outside of all arrays;
    - a request reads an array of the machine's own and none of its units has been written, reads an array
      that is only written, or writes an array that is only read;
    - a request reads or writes a unit again that the role of its array allows only once;
    - at the end of the run, a line was accessed that the ``used`` ranges exclude, or the reverse.

    A *unit* is the smallest access: a burst of the memory, or a line if a line is shorter.

    Args:
        machine: a ``Composition`` with memory that defines ``layouts``.

    Raises:
        ConfigurationError: if the machine has no memory, or no layouts.

    Attributes:
        faults: descriptions of the faults so far, one line each.
    """

    def __init__(self, machine: Any) -> None:  # noqa: ANN401 - any machine; refused if it is no Composition
        if not getattr(machine, "channels", ()):
            raise ConfigurationError("the machine has no memory whose requests could be checked")
        self.machine: Composition[Any] = machine
        self.line: int = machine.request_bytes
        self.unit: int = min(self.line, machine.memory_parameters.burst_bytes)
        self.faults: list[str] = []
        # Cycle and port of the first read of each unit of a read-only array, and of the first write of each
        # unit of any other array.
        self._first_accesses: dict[int, tuple[int, int]] = {}
        self._layouts = self._sorted_layouts()
        self._starts = [layout.start for layout in self._layouts]
        self._find_overlaps()

    def _sorted_layouts(self) -> list[Layout]:
        """Return the layouts of all arrays that a request may access, by address."""
        ordered = sorted(self.machine.layouts(), key=lambda layout: layout.start)
        if not ordered:
            raise ConfigurationError(f"{self.machine.NAME} should say in layouts() where its tensors lie")
        return [layout for layout in ordered if layout.size or layout.ahead]

    def _tensor(self, address: int) -> str:
        """Return the name of the tensor whose number is in the upper bits of an address."""
        number = address >> TENSOR_SHIFT
        names = (name for name, numbers in self.machine.tensors.items() if number in numbers)
        return next(names, f"tensor {number}")

    def _end(self, layout: Layout) -> int:
        """Return the first address after the last line of an array."""
        return -(-(layout.start + layout.size) // self.line) * self.line

    def _find_overlaps(self) -> None:
        """Record a fault for each pair of neighbouring arrays that share a line."""
        for layout, other in pairwise(self._layouts):
            if other.start // self.line * self.line < self._end(layout):
                lower, upper = self._tensor(layout.start), self._tensor(other.start)
                lines = f"{layout.start:#x} to {self._end(layout):#x}"
                self.faults.append(f"{upper}: an array at {other.start:#x} lies over one of {lower}, {lines}")

    def note(self, now: int, operation: int, address: int, tag: int) -> None:
        """Check one request, when a memory channel takes it; record at most one fault.

        Args:
            now: cycle of the memory clock.
            operation: operation of the request, as in ``hw.memory.protocol``.
            address: byte address of the request.
            tag: tag of the request; its upper bits are the port at the network to memory.
        """
        reads = operation in (READ, READ_BURST)
        unit = address // self.unit
        units = range(unit, unit + (1 if operation in BURSTS else self.line // self.unit))
        port = tag >> PORT_SHIFT
        layout = self._find(address)
        fault = self._fault(layout, reads, units)
        if fault:
            access = f"{self._who(port)} {'reads' if reads else 'writes'} {address:#x}"
            self.faults.append(f"{self._tensor(address)}: {access} in cycle {now} of memory: {fault}")
        # Reads of read-only arrays and writes of other arrays, see ``_first_accesses``
        if layout is not None and reads == (layout.role in READ_ONLY):
            for unit in units:
                self._first_accesses.setdefault(unit, (now, port))

    def _find(self, address: int) -> Layout | None:
        """Return the layout of the array, including its bytes ``ahead``, at an address; None for no array."""
        index = bisect_right(self._starts, address) - 1
        if index >= 0 and address < self._end(self._layouts[index]) + self._layouts[index].ahead:
            return self._layouts[index]
        return None

    def _fault(self, layout: Layout | None, reads: bool, units: range) -> str:
        """Describe the fault of a request; empty if the request is legal."""
        if layout is None:
            return "no array lies there"
        # Only a read may go on into the bytes ``ahead``.
        if units.stop * self.unit > self._end(layout) + (layout.ahead if reads else 0):
            return "it goes beyond the last line of the array"
        if reads:
            return self._read_fault(layout, units)
        if layout.role in READ_ONLY:
            return f"the array {layout.role.value}"
        return self._repetition_fault(layout, units)

    def _read_fault(self, layout: Layout, units: range) -> str:
        if layout.role is Role.PRODUCT:
            return "the array is only written"
        if layout.role not in PREEXISTING and not any(unit in self._first_accesses for unit in units):
            return "it was never written"
        return self._repetition_fault(layout, units)

    def _repetition_fault(self, layout: Layout, units: range) -> str:
        previous = next((self._first_accesses[unit] for unit in units if unit in self._first_accesses), None)
        if layout.role not in SINGLE_ACCESS or previous is None:
            return ""
        return f"the array {layout.role.value}, and {self._who(previous[1])} did in cycle {previous[0]}"

    def _who(self, port: int) -> str:
        """Return the component at a port of the memory network, with the component's own port number."""
        index, port_of_user = divmod(port, self.machine.ports_per_user)
        user = self.machine.users[index][0].name if index < len(self.machine.users) else f"port {port}"
        return f"{user}[{port_of_user}]" if self.machine.ports_per_user > 1 else user

    def ended(self, *, complete: bool) -> Sequence[str]:
        """Return the faults after a run, one line each: the first ``MAX_FAULTS``, and the number of others.

        Call this method once: for a complete run, it adds the faults of ``finish`` to ``faults``.

        Args:
            complete: whether the run is complete. Only then, the accessed lines are compared with the
                ``used`` ranges.
        """
        if complete:
            self.finish()
        omitted = len(self.faults) - MAX_FAULTS
        return [*self.faults[:MAX_FAULTS], *([f"and {omitted} more of this kind"] if omitted > 0 else [])]

    def finish(self) -> None:
        """Compare the lines that a complete run accessed with the ``used`` ranges; call this method once."""
        touched: dict[int, tuple[int, int]] = {}
        for unit, access in self._first_accesses.items():
            touched.setdefault(unit * self.unit // self.line, access)
        lines = sorted(touched)
        for layout in self.machine.layouts():
            if layout.used is not None:
                bounds = (layout.start, self._end(layout))
                first, end = (bisect_left(lines, address // self.line) for address in bounds)
                self._compare(layout, set(lines[first:end]), touched)

    def _compare(self, layout: Layout, touched: set[int], firsts: Mapping[int, tuple[int, int]]) -> None:
        """Record the lines of an array that should have been accessed and were not, and the reverse."""
        expected = layout.lines(self.line)
        name, verb = self._tensor(layout.start), "read" if layout.role in READ_ONLY else "written"
        if missing := expected - touched:
            address = min(missing) * self.line
            self.faults.append(f"{name}: {len(missing)} lines are never {verb}, the first at {address:#x}")
        if unexpected := touched - expected:
            address, (cycle, port) = min(unexpected) * self.line, firsts[min(unexpected)]
            access = f"{address:#x} by {self._who(port)} in cycle {cycle} of memory"
            self.faults.append(
                f"{name}: {len(unexpected)} lines are {verb} that nobody needs, the first at {access}"
            )


@contextmanager
def checked_requests(machine: Any) -> Iterator[RequestCheck]:  # noqa: ANN401 - as of RequestCheck
    """Check the requests of a machine's memory while the context is active.

    Yields:
        The check. Call ``ended`` after the run for the faults.

    Raises:
        ConfigurationError: if the machine has no memory, or no layouts.
    """
    check = RequestCheck(machine)
    with observe_requests(machine.channels, check.note):
        yield check
