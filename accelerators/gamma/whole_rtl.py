"""Gamma but its memory as one module on one clock, in the machine's place.

Memory is the event model's: the lines that the module reads and writes stand beside its requests and replies.
What no line tells, where in Z each row is, follows from what moves within: pages, and the ends of tasks.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from fiberscope.accelerators.gamma import scheduler_rtl
from fiberscope.accelerators.gamma.element_rtl import SHOWN, ElementParameters, ElementStandIn, matching
from fiberscope.accelerators.gamma.layout import B_BASE, B_POINTERS_BASE, NO_PARENT, Z_BASE
from fiberscope.accelerators.gamma.prefetcher_rtl import POINTER_BYTES
from fiberscope.accelerators.gamma.writer_rtl import LENGTH
from fiberscope.hw.fibers.tasks_rtl import INDEX_BITS, Element, joined, word_of
from fiberscope.hw.memory.cache_rtl import ARRAY
from fiberscope.hw.memory.protocol import READ, REPLY, REQUEST
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.interface import Interface, Stream, Token
from fiberscope.hw.rtl.kit.memory_port import LINE
from fiberscope.hw.rtl.kit.whole import REPLIES, REQUESTS, SeatKernel, Whole
from fiberscope.hw.streams.memory_rtl import LOAD, fill
from fiberscope.sim import ANY, Channel, Input, Output, SimulationError

if TYPE_CHECKING:
    from fiberscope.accelerators.gamma.machine import Gamma
    from fiberscope.hw.rtl.kit.backend import Backend
    from fiberscope.hw.rtl.kit.composition import Composition
    from fiberscope.workloads.canonical import CsrArray

NAME = "gamma"  # of the module


def composition(kernel: SeatKernel) -> Composition:
    """The module, of what its kernel was given, with what tells of its elements.

    Raises:
        ValueError: for a machine whose Z may stay where nobody reads it.
    """
    machine = machine_of(kernel)
    if machine.parameters.scheduler.output != "memory":
        raise ValueError("machine: nobody reads Z in the FiberCache; set scheduler.output=memory")
    taps: dict[str, tuple[str, ...]] = {}
    status: dict[str, str] = {}
    for i, name in enumerate(elements_of(kernel)):
        taps[f"ended_{i}"] = (f"{name}.completions",)
        taps[f"task_{i}"] = f"{name}.completions", "reference"
        taps[f"length_{i}"] = f"{name}.completions", LENGTH
        taps[f"paged_{i}"] = (f"{name}.pages",)
        status |= {f"{shown}_{i}": f"{name}.{shown}" for shown in SHOWN}
    values, line = matching(machine, 0).values, machine.parameters.fibercache.line
    return kernel.composition(NAME, {"line_bits": 8 * line, "data": ARRAY, "values": values}, status, taps)


def elements_of(kernel: SeatKernel) -> list[str]:
    """The processing elements among its seats."""
    return [name for name, seat in kernel.seats.items() if seat.block.name == "pe"]


def machine_of(kernel: SeatKernel) -> Gamma:
    """The machine whose seats these are."""
    machine: Gamma = next(seat.arguments[0] for seat in kernel.seats.values() if seat.block.name == "pe")
    return machine


def loads(kernel: SeatKernel) -> Iterator[Token]:
    """What fills the module's memories."""
    scheduler = kernel.seats["scheduler"]
    values = matching(machine_of(kernel), 0).values
    return scheduler_rtl.loads(*scheduler.arguments, **scheduler.options, values=values)


def operands(machine: Gamma, given: ElementParameters) -> dict[int, int]:
    """The lines of B and of its row pointers, by address; of A no line is looked at.

    Raises:
        ValueError: an operand has a value that is none of the elements' type.
    """
    for value in machine.a.values:
        word_of(given.value_field, value)
    elements = [*map(Element, machine.b.coordinates, machine.b.values)]
    size, count = given.line_bytes, given.line_bytes // POINTER_BYTES
    pointers = {
        B_POINTERS_BASE + i // count * size: joined(machine.b.pointers[i : i + count], INDEX_BITS)
        for i in range(0, len(machine.b.pointers), count)
    }
    of_line = given.elements.count
    return pointers | {
        B_BASE + i // of_line * size: given.elements.packed(elements[i : i + of_line])
        for i in range(0, len(elements), of_line)
    }


def told(kernel: SeatKernel, product: CsrArray) -> dict[str, Any]:
    """What a bench of the module has to know: what fills its memories, what it reads, and its product.

    Raises:
        ValueError: a value is none of the elements' type.
    """
    machine, given = machine_of(kernel), matching(machine_of(kernel), 0)
    table, value = machine.table, given.value_field
    return {
        "elements": len(elements_of(kernel)),
        "channels": machine.parameters.memory.channels,
        "bytes": {
            "line": given.line_bytes,
            "element": given.element_bytes,
            "value": value.width // 8,
            "page": given.page_bytes,
        },
        "z": Z_BASE,
        "load": [token[:3] for token in loads(kernel)],
        "memory": list(operands(machine, given).items()),
        "rows": [
            row if parent == NO_PARENT else -1 for row, parent in zip(table.rows, table.parents, strict=True)
        ],
        "product": {
            "pointers": product.indptr.tolist(),
            "columns": product.indices.tolist(),
            "values": [word_of(value, one) for one in product.data.tolist()],
        },
    }


class _Written:
    """What an element has done: its pages of Z, its rows there that are not gathered, and its counts."""

    def __init__(self) -> None:
        self.pages: list[int] = []
        self.rows: deque[tuple[int, int]] = deque()  # of the product, and their lengths
        self.gathered = 0  # elements
        self.counts = {"multiply": 0, "merged_elements": 0, "add": 0}


class GammaStandIn(ElementStandIn):
    """Stands in for all of a Gamma but its memory, and is that memory's contents."""

    PORTS = (  # type: ignore[assignment]  # of another module
        Output(REQUESTS, REQUEST, array=True),
        Input(REPLIES, REPLY, array=True),
        Input(LOAD, ANY, optional=True),
    )
    SERVED = (REPLIES,)  # type: ignore[assignment]
    OBSERVED = None  # type: ignore[assignment]  # every cycle

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        self.lines: dict[int, int] = {}  # of memory, by address
        self.pages = self.tasks = 0

    def given(self, kernel: SeatKernel) -> None:  # type: ignore[override]
        """Learn what the module is made of, and fill its memories."""
        super().given(machine_of(kernel), 0)
        names = elements_of(kernel)
        self.parts = [_Written() for _name in names]
        for part, name in zip(self.parts, names, strict=True):
            kernel.seats[name].counted = partial(dict, part.counts)
        kernel.seats["scheduler"].counted = lambda: {"tasks": self.tasks}
        try:
            self.lines = operands(self.machine, self.parameters)
        except ValueError as error:
            raise SimulationError(f"{self.name}: {error}") from None
        fill(self._backend, self.interface, {LOAD: loads(kernel)})

    def beside(self, stream: Stream, token: Token) -> dict[str, int]:
        """A line of memory."""
        return {stream.wire(LINE): self.lines.get(token.reference, 0)}

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Keep lines that are written, and put rows of the product together."""
        for label, token in moved.items():
            if label.startswith(REQUESTS) and token.control != READ:
                self.lines[token.reference] = self.payload(label, LINE)
        for i, part in enumerate(self.parts):
            if self.status[f"paged_{i}"]:
                part.pages.append(self.pages)
                self.pages += 1
            if self.status[f"ended_{i}"]:
                self._end(part, self.status[f"task_{i}"], self.status[f"length_{i}"])
            self._gather_rows(part)

    def _end(self, part: _Written, task: int, length: int) -> None:
        table = self.machine.table
        self.tasks += 1
        part.counts["add"] -= length
        if table.parents[task] == NO_PARENT:
            part.rows.append((table.rows[task], length))
            table.row_lengths[table.rows[task]] = length

    def _gather_rows(self, part: _Written) -> None:
        """Put rows whose lines have all been written where they belong."""
        while part.rows:
            row, length = part.rows[0]
            places = [self._place(part, part.gathered + i) for i in range(length)]
            if not all(address in self.lines for address, _lane in places):
                return
            part.rows.popleft()
            part.gathered += length
            elements = [self.elements.unpacked(self.lines[address])[lane] for address, lane in places]
            self._put(self.machine.product, self.machine.product.starts[row], elements)

    def _place(self, part: _Written, number: int) -> tuple[int, int]:
        """The address of the line that has an element of Z, and which of that it is."""
        given = self.parameters
        page, offset = divmod(number * given.element_bytes, given.page_bytes)
        of_line = offset % given.line_bytes
        return Z_BASE + part.pages[page] * given.page_bytes + offset - of_line, of_line // given.element_bytes

    def account(self, now: int, moved: Mapping[str, Any], blocked: Channel | None) -> int:
        """Count what the elements do; else as of any module."""
        for i, part in enumerate(self.parts):
            scaled, passed = (self.status[f"{shown}_{i}"] for shown in SHOWN)
            part.counts["multiply"] += scaled
            part.counts["merged_elements"] += scaled + passed
            part.counts["add"] += scaled + passed
        return Adapter.account(self, now, moved, blocked)

    def counters(self) -> dict[str, int]:
        """What the machine counts of all elements."""
        totals = Counter[str]()
        for part in self.parts:
            totals.update(part.counts)
        return {"tasks": self.tasks, **totals}


WHOLE = Whole(composition, GammaStandIn, told)
