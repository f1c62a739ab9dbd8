"""A processing element of Gamma as one Verilog module: the RTL of its units and the channels between them.

The event model keeps the contents of tasks, fibers and lines in stores. In RTL, the contents accompany the
tokens. The adapter of the element reads them from the stores and writes them back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fiberscope.accelerators.gamma import prefetcher_rtl as prefetcher
from fiberscope.accelerators.gamma import writer_rtl as writer
from fiberscope.accelerators.gamma.element import PIPELINE, UNITS, ProcessingElement, Wire, wires
from fiberscope.accelerators.gamma.layout import B_POINTERS, NO_PARENT, PARTIAL, B, Z
from fiberscope.hw.fibers import arithmetic_rtl as arithmetic
from fiberscope.hw.fibers import merge_rtl as merger
from fiberscope.hw.fibers import reader_rtl as reader
from fiberscope.hw.fibers.tasks_rtl import (
    ELEMENTS,
    INDEX_BITS,
    NUMBER_BITS,
    Element,
    LineParameters,
    TaskInput,
    Tasks,
    joined,
)
from fiberscope.hw.memory.protocol import TENSOR_SHIFT
from fiberscope.hw.rtl.kit import channel
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.arithmetic import carried_as, value_type
from fiberscope.hw.rtl.kit.composition import joined as joined_by_channel
from fiberscope.hw.rtl.kit.interface import Interface, Stream, Token
from fiberscope.hw.rtl.kit.memory_port import LINE
from fiberscope.hw.rtl.kit.parameters import Parameters, Refusals, number, one_of
from fiberscope.hw.rtl.kit.sram import memory_parameter
from fiberscope.hw.rtl.kit.wrapper import Composition, Link, Part, composed
from fiberscope.hw.value_type import DOUBLE, INTEGER
from fiberscope.sim.channel import Channel
from fiberscope.sim.errors import SimulationError

if TYPE_CHECKING:
    from fiberscope.accelerators.gamma.machine import Gamma
    from fiberscope.hw.fibers.partials import PartialStore
    from fiberscope.hw.fibers.product import ProductRows
    from fiberscope.hw.rtl.kit.backend import Backend

QUEUE = (1, channel.CAPACITY[1])
DELAY = channel.LATENCY


@dataclass(frozen=True)
class ElementParameters(LineParameters):
    """Parameters of a processing element, as its configuration has them; bytes, tokens and cycles.

    Args:
        place: the place of the element among all, by which its ports at the FiberCache's network are known.
        request_queue: tokens in the channels of its requests.
        prefetch, keeps_z_in_cache: whether fibers are fetched, and rows of Z stay in the FiberCache: 0 or 1.
        values: the type of all values.
        memory: of the reader's buffers: ``combinational``, or ``registered``, which takes the same cycles.
    """

    place: int = number(0, 0, 255)
    radix: int = number(4, *merger.WAYS)
    task_queue: int = number(2, *QUEUE)
    row_reads: int = one_of(16, *prefetcher.WINDOWS)
    buffer_lines: int = one_of(4, 2, 4, 8)
    merge_queue: int = number(2, *QUEUE)
    output_queue: int = number(4, *QUEUE)
    pipeline_queue: int = number(2, *QUEUE)
    finishing: int = number(8, 1, 64)
    merger_stages: int = number(6, 1, merger.MAX_STAGES)
    merger_latency: int = number(1, *DELAY)
    multiplier_latency: int = number(4, *DELAY)
    accumulator_latency: int = number(1, *DELAY)
    prefetch: int = number(1, 0, 1)
    keeps_z_in_cache: int = number(0, 0, 1)
    line_bytes: int = one_of(64, 32, 64, 128)
    element_bytes: int = one_of(8, *ELEMENTS)
    page_bytes: int = one_of(4096, *writer.PAGES)
    request_queue: int = number(4, 2, 1024)
    values: str = value_type()
    memory: str = memory_parameter()

    @property
    def block_name(self) -> str:
        """Return the text for messages."""
        return "pe"

    @property
    def wires(self) -> list[Wire]:
        """Channels between the units."""
        return list(wires(self, self.elements.count + 1))

    @property
    def first_port(self) -> int:
        """Number of the element's first port at the FiberCache's network."""
        return len(UNITS) * self.place


def matching(machine: Gamma, number: int) -> ElementParameters:
    """Return the parameters of the RTL of a processing element of a machine.

    Raises:
        ValueError: there is no such module.
    """
    parameters = machine.parameters
    # An element holds its coordinate (NUMBER_BITS) below its value
    sizes = [size for size in ELEMENTS if 8 * size >= NUMBER_BITS + machine.value_type.bits]
    element = parameters.format.element
    pe = parameters.pe.model_dump(exclude={"count", "partial_queue"})
    refusals = Refusals()
    with refusals.collected():
        _check_format(machine, sizes)
    with refusals.collected():
        suiting = ElementParameters(
            **pe | {"prefetch": int(parameters.pe.prefetch)},
            place=number,
            keeps_z_in_cache=int(parameters.scheduler.output == "cache"),
            line_bytes=parameters.fibercache.line,
            # ``_check_format`` refuses another size; a valid size lets the other parameters be checked too
            element_bytes=element if element in sizes else sizes[0],
            page_bytes=parameters.scheduler.output_page,
            request_queue=parameters.network.queue,
            values=type_of(machine),
        )
    refusals.check()
    return suiting


def type_of(machine: Gamma) -> str:
    """Return the type that all values have in Verilog: integers where the model computes with doubles."""
    return INTEGER if machine.value_type is DOUBLE else machine.parameters.value


def _check_format(machine: Gamma, sizes: Sequence[int]) -> None:
    """Refuse a format that no module reads; the error names every setting to change."""
    of = machine.parameters.format
    needed = []
    if of.element not in sizes:
        needed.append(f"format.element={sizes[0]}")
    if of.pointer != prefetcher.POINTER_BYTES:
        needed.append(f"format.pointer={prefetcher.POINTER_BYTES}")
    # B has other sizes if it is stored as values only, without coordinates and pointers
    if machine.b_sizes != machine.parameters.sizes:
        needed.append("format.dense=none")
    if needed:
        raise ValueError(f"pe: no module reads fibers as they lie in memory; set {' '.join(needed)}")


def parts(element: ElementParameters) -> dict[str, Part]:
    """Return the units, by their names in the machine."""
    units_of = {**_of_lines(element), **_of_elements(element)}
    return {name: Part(*units_of[name]) for name in PIPELINE}


def _of_lines(element: ElementParameters) -> Mapping[str, tuple[Any, Parameters]]:
    """Return the parts that move lines, each with its port at the FiberCache's network."""
    lines: dict[str, Any] = {
        name: getattr(element, name) for name in ("line_bytes", "element_bytes", "values")
    }
    port, way = element.first_port, next(wire.capacity for wire in element.wires if wire.output == "ways[0]")
    return {
        "prefetcher": (
            prefetcher.BLOCK,
            prefetcher.PrefetcherParameters(
                element.radix,
                element.row_reads,
                port=port,
                queue=element.request_queue,
                fetching=element.prefetch,
                **lines,
            ),
        ),
        "reader": (
            reader.BLOCK,
            reader.FiberReaderParameters(
                element.radix,
                element.buffer_lines,
                way,
                port=port + 1,
                tensor=B,
                partial_tensor=PARTIAL,
                memory=element.memory,
                **lines,
            ),
        ),
        "writer": (
            writer.BLOCK,
            writer.FiberWriterParameters(
                page_bytes=element.page_bytes,
                finishing=element.finishing,
                keeps_z_in_cache=element.keeps_z_in_cache,
                port=port + 2,
                **lines,
            ),
        ),
    }


def _of_elements(element: ElementParameters) -> Mapping[str, tuple[Any, Parameters]]:
    """Return the parts that elements pass one by one."""
    bits, values = NUMBER_BITS, element.values
    behind = next((wire.capacity, wire.latency) for wire in element.wires if wire.producer == "multiplier")
    return {
        "merger": (
            merger.BLOCK,
            merger.MergerParameters(
                element.radix,
                bits,
                INDEX_BITS,
                stages=element.merger_stages,
                scale_bits=element.value_field.width,
                **carried_as(values, bits),
            ),
        ),
        "multiplier": (
            arithmetic.MULTIPLIER,
            arithmetic.MultiplierParameters(bits, INDEX_BITS, bits, *behind, values=values),
        ),
        "accumulator": (
            arithmetic.BLOCK,
            arithmetic.AccumulatorParameters(bits, bits, bits, INDEX_BITS, values=values),
        ),
    }


def compose(element: ElementParameters) -> Composition:
    """Return the units, connected as in the machine."""
    units = parts(element)
    links: list[Link] = []
    for wire in element.wires:
        source, target = f"{wire.producer}.{wire.output}", f"{wire.consumer}.{wire.port}"
        if wire.producer == "multiplier" or wire.output.startswith("ways"):  # inside the module
            links.append(Link(source, target, 0))
        else:
            links += joined_by_channel(units, source, target, wire.capacity, wire.latency)
    exports = {
        _outer(unit, stream): f"{unit}.{stream.label}"
        for unit in UNITS
        for stream in units[unit].interface.streams
        if not any(f"{unit}.{stream.label}" in (link.source, link.target) for link in links)
    }
    status = {shown: f"multiplier.{shown}" for shown in SHOWN}
    return Composition("pe", units, tuple(links), exports, status)


SHOWN = (arithmetic.MULTIPLIES, arithmetic.PASSES)  # counters that the multiplier shows


def _outer(unit: str, stream: Stream) -> str:
    """Return the name of a port outside the element: ports at the FiberCache's network are numbered."""
    port, dot, lane = stream.label.partition(".")
    return f"{port}[{UNITS.index(unit)}]{dot}{lane}" if port in ("requests", "replies") else stream.label


class ElementAdapter(Adapter):
    """An adapter that replaces a processing element, between the machine's stores."""

    PORTS = ProcessingElement.PORTS
    SERVED = ("tasks", "replies")
    OBSERVED = ("requests[2]", "completions")
    ARBITERS = (*prefetcher.BLOCK.adapter.ARBITERS, *reader.BLOCK.adapter.ARBITERS)
    AWAITS = False

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        self.done = dict.fromkeys(SHOWN, 0)
        self.sums = 0  # sums in finished fibers
        self.rows: deque[tuple[int, int]] = deque()  # finished rows of Z: task and length
        self.written: deque[Element] = deque()  # written elements of Z, in the order of their lines

    def configure(self, machine: Gamma, number: int) -> None:  # type: ignore[override]
        """Record the machine, and the parameters of its element ``number``."""
        self.machine, self.parameters = machine, matching(machine, number)
        self.elements = self.parameters.elements

    def served_payloads(self, stream: Stream, token: Token) -> dict[str, int]:
        """Return the fibers of a task, or the contents of a line of memory."""
        try:
            bits = self._payload_bits(stream, token)
        except ValueError as error:
            raise SimulationError(f"{self.name}: {error}") from None
        return {stream.wire(field): number for field, number in bits.items()}

    def _payload_bits(self, stream: Stream, token: Token) -> dict[str, int]:
        if stream.port[0] == "tasks":
            return self._task(token.reference) if token.reference >= 0 else {}
        if LINE in stream.content:
            return {LINE: self._line(self.end(stream.label).first.channel.reference())}
        return {}

    def _task(self, task: int) -> dict[str, int]:
        table = self.machine.table
        sources = table.inputs[table.first_inputs[task] : table.first_inputs[task + 1]]
        tasks = Tasks(self.parameters.radix, self.parameters.value_field)
        return tasks.bits([self._input(source) for source in sources], self._output(task))

    def _output(self, task: int) -> int:
        # The highest bit of ``output`` marks a partial fiber
        table = self.machine.table
        return int(table.parents[task] != NO_PARENT) << INDEX_BITS | table.output_starts[task]

    def _input(self, source: int) -> TaskInput:
        machine = self.machine
        # A negative source is the partial fiber of task -1 - source, whose place is known. Any other source
        # is a nonzero of A, whose row of B the prefetcher locates
        if source < 0:
            start = machine.table.output_starts[-1 - source]
            return TaskInput(source, start, start + machine.table.output_lengths[-1 - source], 1)
        return TaskInput(source, machine.a.coordinates[source], 0, machine.a.values[source])

    def _line(self, address: int) -> int:
        """Return the contents of the line of memory at an address."""
        tensor, offset = address >> TENSOR_SHIFT, address & (1 << TENSOR_SHIFT) - 1
        if tensor == B_POINTERS:
            first = offset // prefetcher.POINTER_BYTES
            count = self.parameters.line_bytes // prefetcher.POINTER_BYTES
            return joined(self.machine.b.pointers[first : first + count], INDEX_BITS)
        fibers = self.machine.b if tensor == B else self.machine.partials
        # Past the end of a tensor, a line has fewer elements; the remaining bits are 0
        place = slice(offset // self.elements.element_bytes, None)
        place = slice(place.start, place.start + self.elements.count)
        pairs = zip(fibers.coordinates[place], fibers.values[place], strict=True)
        return self.elements.packed([Element(*pair) for pair in pairs])

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Write the contents of written lines and the lengths of fibers to the stores."""
        if "requests[2]" in moved:
            self._store(moved["requests[2]"].reference, self.payload("requests[2]", LINE))
        if "completions" in moved:
            self._complete(moved["completions"].reference, self.payload("completions", writer.LENGTH))
        self._gather()

    def _store(self, address: int, line: int) -> None:
        elements = self.elements.unpacked(line)
        if address >> TENSOR_SHIFT == Z:
            self.written.extend(elements)  # lines cross rows of Z: ``_complete`` brings the lengths
            return
        first = (address & (1 << TENSOR_SHIFT) - 1) // self.elements.element_bytes
        self._put(self.machine.partials, first, elements)

    def _complete(self, task: int, length: int) -> None:
        table = self.machine.table
        self.sums += length
        if table.parents[task] == NO_PARENT:
            self.rows.append((table.rows[task], length))
            table.row_lengths[table.rows[task]] = length
        else:
            table.output_lengths[task] = length

    def _gather(self) -> None:
        """Copy the rows of Z whose lines are written to the product; the zeros of the last line are left."""
        while self.rows and self.rows[0][1] <= len(self.written):
            row, length = self.rows.popleft()
            elements = [self.written.popleft() for _ in range(length)]
            self._put(self.machine.product, self.machine.product.starts[row], elements)

    def _put(self, store: PartialStore | ProductRows, first: int, elements: Sequence[Element]) -> None:
        # The stores have signed coordinates of 32 bits
        largest = max((element.coordinate for element in elements), default=0)
        if first + len(elements) > len(store.values) or largest >> 31:
            raise SimulationError(f"{self.name}: writes coordinates up to {largest} from element {first} on")
        for place, element in enumerate(elements, first):
            store.coordinates[place] = element.coordinate
            store.values[place] = element.value

    def account(self, now: int, moved: Mapping[str, Any], blocked: Channel | None) -> int:
        """Add up the counters that the multiplier shows, and classify the cycle as for any module."""
        for shown in SHOWN:
            self.done[shown] += self.status[shown]
        return super().account(now, moved, blocked)

    def counters(self) -> dict[str, int]:
        """Return the counters of the units; ``add`` is too large by the sums of unfinished fibers."""
        scaled, passed = (self.done[shown] for shown in SHOWN)
        merged = scaled + passed
        # A sum of n elements takes n - 1 additions
        return {"multiply": scaled, "merged_elements": merged, "add": merged - self.sums}


BLOCK = replace(
    composed(
        "pe",
        "processing element of Gamma: combines the fibers of a task into one",
        ElementParameters,
        compose,
        ElementAdapter,
    ),
    matching=matching,
)
