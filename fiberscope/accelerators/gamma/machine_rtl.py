"""Gamma without its memory as one RTL module on one clock, which replaces the machine.

Memory is that of the event model. The contents of lines accompany the module's requests and replies. The
adapter derives the place of each row of Z from events in the module: pages that arrive, and tasks that end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from fiberscope.accelerators.gamma import scheduler_rtl
from fiberscope.accelerators.gamma.element_rtl import (
    SHOWN,
    ElementAdapter,
    ElementParameters,
    matching,
    type_of,
)
from fiberscope.accelerators.gamma.layout import (
    A_BASE,
    A_POINTERS_BASE,
    B_BASE,
    B_POINTERS_BASE,
    NO_PARENT,
    Z_BASE,
    Z_POINTERS_BASE,
)
from fiberscope.accelerators.gamma.prefetcher_rtl import POINTER_BYTES
from fiberscope.accelerators.gamma.scheduler_lines_rtl import END_BITS
from fiberscope.accelerators.gamma.writer_rtl import LENGTH
from fiberscope.hw.fibers.tasks_rtl import INDEX_BITS, Element, joined, word_of
from fiberscope.hw.memory.cache_parameters_rtl import ARRAY
from fiberscope.hw.memory.protocol import READ, REPLY, REQUEST
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.interface import Interface, Stream, Token
from fiberscope.hw.rtl.kit.machine_module import REPLIES, REQUESTS, MachineModule, ModuleKernel
from fiberscope.hw.rtl.kit.memory_port import LINE
from fiberscope.hw.rtl.kit.parameters import Refusals
from fiberscope.hw.streams.memory_rtl import LOAD, fill
from fiberscope.sim import ANY, Channel, Input, Output, SimulationError

if TYPE_CHECKING:
    from fiberscope.accelerators.gamma.machine import Gamma
    from fiberscope.hw.fibers.compressed import CompressedRows
    from fiberscope.hw.rtl.kit.backend import Backend
    from fiberscope.hw.rtl.kit.composition import Composition
    from fiberscope.workloads.canonical import CsrArray

NAME = "gamma"  # name of the module


def composition(kernel: ModuleKernel) -> Composition:
    """Return the module, composed of the parts in the kernel, with outputs for the events of its elements.

    Raises:
        ValueError: if the machine may leave Z in the FiberCache, stores A as values alone, or has a part that
            no RTL matches; the error lists all reasons.
    """
    machine, refusals = machine_of(kernel), Refusals()
    if machine.parameters.scheduler.output != "memory":
        refusals.add("machine: nobody reads Z in the FiberCache; set scheduler.output=memory")
    if machine.a_sizes != machine.parameters.sizes:
        refusals.add("machine: lines of A are read as compressed rows; set format.dense=none")
    # Events inside the module as status outputs: whether a token moves at a port, or a field of the token
    taps: dict[str, tuple[str, ...]] = {}
    status: dict[str, str] = {}
    for i, name in enumerate(elements_of(kernel)):
        taps[f"ended_{i}"] = (f"{name}.completions",)
        taps[f"task_{i}"] = f"{name}.completions", "reference"
        taps[f"length_{i}"] = f"{name}.completions", LENGTH
        taps[f"paged_{i}"] = (f"{name}.pages",)
        status |= {f"{shown}_{i}": f"{name}.{shown}" for shown in SHOWN}
    wanted = {"line_bits": 8 * machine.parameters.fibercache.line, "data": ARRAY, "values": type_of(machine)}
    with refusals.collected():
        module = kernel.compose(NAME, wanted, status, taps)
    refusals.check()
    return module


def elements_of(kernel: ModuleKernel) -> list[str]:
    """Return the names of the processing elements among the kernel's placeholders."""
    return [name for name, placeholder in kernel.placeholders.items() if placeholder.block.name == "pe"]


def machine_of(kernel: ModuleKernel) -> Gamma:
    """Return the machine that the kernel's placeholders belong to."""
    machine: Gamma = next(
        placeholder.arguments[0]
        for placeholder in kernel.placeholders.values()
        if placeholder.block.name == "pe"
    )
    return machine


def loads(kernel: ModuleKernel) -> Iterator[Token]:
    """Return the contents of the module's memories, as tokens that fill them."""
    scheduler = kernel.placeholders["scheduler"]
    parameters = matching(machine_of(kernel), 0)  # all elements are equal but for their number
    return scheduler_rtl.loads(
        *scheduler.arguments,
        **scheduler.options,
        values=parameters.values,
        line_bits=8 * parameters.line_bytes,
    )


def operands(machine: Gamma, parameters: ElementParameters) -> dict[int, int]:
    """Return the lines of A, of B and of their row pointers, by address.

    Raises:
        ValueError: if the type of the processing elements cannot represent a value of an operand.
    """
    of_a = _lines(machine.a, A_BASE, A_POINTERS_BASE, parameters)
    return of_a | _lines(machine.b, B_BASE, B_POINTERS_BASE, parameters)


def _lines(
    rows: CompressedRows, base: int, pointers_base: int, parameters: ElementParameters
) -> dict[int, int]:
    """Return the lines of a matrix and of its row pointers, by address; the first entry is the lowest."""
    elements = [*map(Element, rows.coordinates, rows.values)]
    size, count = parameters.line_bytes, parameters.line_bytes // POINTER_BYTES
    pointers = {
        pointers_base + i // count * size: joined(rows.pointers[i : i + count], INDEX_BITS)
        for i in range(0, len(rows.pointers), count)
    }
    of_line = parameters.elements.count
    return pointers | {
        base + i // of_line * size: parameters.elements.packed(elements[i : i + of_line])
        for i in range(0, len(elements), of_line)
    }


def bench_data(kernel: ModuleKernel, product: CsrArray) -> dict[str, Any]:
    """Return the data of a bench of the module: contents of its memories, lines that it reads, its product.

    Raises:
        ValueError: a value is none of the elements' type.
    """
    machine, parameters = machine_of(kernel), matching(machine_of(kernel), 0)
    value = parameters.value_field
    return {
        "elements": len(elements_of(kernel)),
        "channels": machine.parameters.memory.channels,
        "bytes": {
            "line": parameters.line_bytes,
            "element": parameters.element_bytes,
            "value": value.width // 8,
            "page": parameters.page_bytes,
        },
        "z": Z_BASE,
        "pointers": {"z": Z_POINTERS_BASE, "end_bits": END_BITS},
        "tasks": machine.table.count,
        # Memory, address and word; the value of these tokens has no meaning
        "load": [token[:3] for token in loads(kernel)],
        "memory": list(operands(machine, parameters).items()),
        "product": {
            "pointers": product.indptr.tolist(),
            "columns": product.indices.tolist(),
            "values": [word_of(value, number) for number in product.data.tolist()],
        },
    }


class _ElementOutput:
    """Output of an element: its pages of Z and its counters."""

    def __init__(self) -> None:
        self.pages: list[int] = []
        self.counts = {"multiply": 0, "merged_elements": 0, "add": 0}


class GammaAdapter(ElementAdapter):
    """An adapter that replaces a Gamma without its memory, and holds the contents of the memory."""

    PORTS = (  # type: ignore[assignment]  # of another module
        Output(REQUESTS, REQUEST, array=True),
        Input(REPLIES, REPLY, array=True),
        Input(LOAD, ANY, optional=True),
    )
    SERVED = (REPLIES,)  # type: ignore[assignment]
    OBSERVED = None  # type: ignore[assignment]  # every cycle

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        self.lines: dict[int, int] = {}  # contents of the lines of memory, by address
        self.pages = self.tasks = 0  # pages allocated, and tasks completed

    def configure(self, kernel: ModuleKernel) -> None:  # type: ignore[override]
        """Record the parts of the module, and fill its memories."""
        super().configure(machine_of(kernel), 0)
        names = elements_of(kernel)
        self.parts = [_ElementOutput() for _name in names]
        for part, name in zip(self.parts, names, strict=True):
            kernel.placeholders[name].get_counters = partial(dict, part.counts)
        kernel.placeholders["scheduler"].get_counters = lambda: {"tasks": self.tasks}
        try:
            self.lines = operands(self.machine, self.parameters)
        except ValueError as error:
            raise SimulationError(f"{self.name}: {error}") from None
        fill(self._backend, self.interface, {LOAD: loads(kernel)})

    def served_payloads(self, stream: Stream, token: Token) -> dict[str, int]:
        """Return the contents of the line of memory that a reply carries; 0 for a line without contents."""
        return {stream.wire(LINE): self.lines.get(token.reference, 0)}

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Store lines that are written, record pages and completions, and assemble rows of the product."""
        for label, token in moved.items():
            if label.startswith(REQUESTS) and token.control != READ:
                self.lines[token.reference] = self.payload(label, LINE)
        for i, part in enumerate(self.parts):
            if self.status[f"paged_{i}"]:
                part.pages.append(self.pages)
                self.pages += 1
            if self.status[f"ended_{i}"]:
                self._end(part, self.status[f"task_{i}"], self.status[f"length_{i}"])
        if any(label.startswith(REQUESTS) for label in moved):
            self._gather_rows()

    def _end(self, part: _ElementOutput, task: int, length: int) -> None:
        table = self.machine.table
        self.tasks += 1
        # ``account`` counts each merged element as an addition, but the first of each coordinate is none
        part.counts["add"] -= length
        if table.parents[task] == NO_PARENT:
            table.row_lengths[table.rows[task]] = length

    def _gather_rows(self) -> None:
        """Assemble the product once all its lines are in memory; read the row pointers first.

        The low ``END_BITS`` of a row pointer are the end of the row among the elements of Z that a processing
        element writes, and the bits above are the number of that element. An empty row has the pointer 0.
        """
        count, of_line = len(self.machine.table.row_lengths), self.parameters.line_bytes // POINTER_BYTES
        places = [Z_POINTERS_BASE + i * self.parameters.line_bytes for i in range(count // of_line + 1)]
        if not all(place in self.lines for place in places):
            return
        pointers = [self.lines[place] >> INDEX_BITS * i for place in places for i in range(of_line)]
        for i, part in enumerate(self.parts):
            own = [
                (word & (1 << END_BITS) - 1, row)
                for row, word in enumerate(word & (1 << INDEX_BITS) - 1 for word in pointers)
                if word and word >> END_BITS == i
            ]
            self._gather_from(part, sorted(own))  # a row begins where the row with the next lower end ends

    def _gather_from(self, part: _ElementOutput, rows: Sequence[tuple[int, int]]) -> None:
        """Copy the rows of an element to the product; ``rows`` holds the end and the index of each row."""
        begin = 0
        for end, row in rows:
            places = [self._place(part, number) for number in range(begin, end)]
            if not all(address in self.lines for address, _lane in places):
                return
            elements = [self.elements.unpacked(self.lines[address])[lane] for address, lane in places]
            self._put(self.machine.product, self.machine.product.starts[row], elements)
            begin = end

    def _place(self, part: _ElementOutput, number: int) -> tuple[int, int]:
        """Return the address of the line that holds an element of Z, and the element's index in the line."""
        parameters = self.parameters
        page, offset = divmod(number * parameters.element_bytes, parameters.page_bytes)
        of_line = offset % parameters.line_bytes
        # A page that has not been given out has an address that no line has
        base = (
            Z_BASE + part.pages[page] * parameters.page_bytes if page < len(part.pages) else -1 << INDEX_BITS
        )
        return base + offset - of_line, of_line // parameters.element_bytes

    def account(self, now: int, moved: Mapping[str, Any], blocked: Channel | None) -> int:
        """Count the multiplications and merged elements of this cycle; else account as for any module."""
        for i, part in enumerate(self.parts):
            scaled, passed = (self.status[f"{shown}_{i}"] for shown in SHOWN)
            part.counts["multiply"] += scaled
            part.counts["merged_elements"] += scaled + passed
            part.counts["add"] += scaled + passed
        return Adapter.account(self, now, moved, blocked)

    def counters(self) -> dict[str, int]:
        """Return the counters of all elements."""
        totals = Counter[str]()
        for part in self.parts:
            totals.update(part.counts)
        return {"tasks": self.tasks, **totals}


WHOLE = MachineModule(composition, GammaAdapter, bench_data)
