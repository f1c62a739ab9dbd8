"""Units of Gamma's processing element alone, each beside its twin: what is around, and who serves them."""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from channel_scenario import PassOn
from fiber_streams import STOP_TOKEN
from memory_stub import MemoryStub
from pairs import End, Pair, random_channel
from scipy import sparse
from stream_values_scenario import number_of

from fiberscope.accelerators.configuration import load
from fiberscope.accelerators.gamma import ACCELERATOR, Gamma, GammaConfiguration
from fiberscope.accelerators.gamma.element import ProcessingElement
from fiberscope.accelerators.gamma.element_rtl import ElementAdapter, matching, parts
from fiberscope.accelerators.gamma.layout import NO_PARENT
from fiberscope.accelerators.gamma.prefetcher_rtl import POINTER_BYTES
from fiberscope.hw.fibers.arithmetic import Multiplier
from fiberscope.hw.fibers.arithmetic_rtl import MULTIPLIER, MultiplierParameters
from fiberscope.hw.fibers.merge_rtl import SCALE
from fiberscope.hw.fibers.pages import PageAllocator
from fiberscope.hw.fibers.tasks_rtl import OUTPUT, TaskInput, Tasks, word_of
from fiberscope.hw.rtl.kit.arithmetic import VALUES
from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.hw.rtl.kit.interface import Payload, Stream
from fiberscope.hw.value_type import INTEGER
from fiberscope.sim import Component, Kernel
from fiberscope.sim.testing import StreamSink, Token, random_stalls

LONGEST = 20  # elements of a partial fiber
TASKS = 60
END_OF_WORK: Token = (0, 0, -1, 0.0)


class Scaled(MULTIPLIER.adapter):  # type: ignore[name-defined,misc]
    """Serves a multiplier with its scales."""

    SERVED = ("operands",)

    def configure(self, scales: array[float], field: Any) -> None:
        self.scales, self.field = scales, field

    def served_payloads(self, stream: Stream, token: Token) -> dict[str, int]:
        scale = self.scales[token.reference] if token.reference >= 0 else 0.0
        return {stream.wire(SCALE): word_of(self.field, scale)}


def multiplier_pair(seed: int) -> Pair:
    """A multiplier with the channel and a wire behind it, and the module."""
    generator = random.Random(seed)
    given = MultiplierParameters(
        generator.choice([1, 8, 62]),
        capacity=generator.choice([1, 2, 6, 11]),
        latency=(1, 2, 3, 4, 9)[seed % 5],
        values=VALUES[seed % len(VALUES)],
    )

    def number() -> float:
        if given.values != INTEGER:
            return number_of(generator, given, 0)
        return float(generator.randint(1, 1 << 15) * generator.choice([-1, 1]))

    scales = array("d", [number() for _ in range(6)])
    coordinates = range(1 << given.coordinate_bits)
    tokens = [
        STOP_TOKEN
        if generator.random() < 0.1
        else (0, generator.choice(coordinates), generator.randint(-1, 5), number())
        for _ in range(150)
    ]

    def composed(kernel: Kernel, scope: str) -> Mapping[str, End]:
        unit = kernel.add(Multiplier(f"{scope}.unit", scales, given.values))
        wire = kernel.add(PassOn(f"{scope}.wire"))
        kernel.connect(unit, "products", wire, "in", capacity=given.capacity, latency=given.latency)
        return {"operands": (unit, "operands"), "products": (wire, "out")}

    def rtl(name: str) -> Component:
        adapter = Scaled(name, MULTIPLIER.interface(given), PyrtlBackend(MULTIPLIER.twin(given), seed))
        adapter.configure(scales, given.value_field)
        adapter.drain = given.latency
        return adapter

    return Pair("multiplier", rtl, rtl, {"operands": tokens}, ("products",), seed, composed=composed)


def machine_for(generator: random.Random, values: str) -> Gamma:
    """A machine of such values whose partial fibers are there already."""
    settings = {
        "value": values,
        "format.element": 16 if values == "float64" else generator.choice([8, 16]),
        "format.dense": "none",
        "pe.radix": generator.choice([2, 3, 5]),
        "pe.row_reads": generator.choice([2, 4, 16]),
        "pe.buffer_lines": generator.choice([2, 4]),
        "pe.finishing": generator.choice([1, 3, 8]),
        "pe.prefetch": generator.random() < 0.7,
        "fibercache.line": generator.choice([32, 64]),
        "network.queue": generator.choice([2, 4]),
        "scheduler.output": generator.choice(["memory", "cache"]),
        "scheduler.output_page": generator.choice([64, 256]),
    }
    machine = made_of(_matrix(generator, 14, values), _matrix(generator, 40, values), settings)
    table = machine.table
    for task in range(table.count):
        if table.parents[task] != NO_PARENT:
            _store_partial(machine, task, generator)
    return machine


def made_of(a: sparse.csr_array, b: sparse.csr_array, settings: Mapping[str, Any]) -> Gamma:
    """A machine for a product, with these settings."""
    return Gamma(load(GammaConfiguration, ACCELERATOR.shipped, name="gamma", settings=settings), a, b)


def crossing_machine(radix: int, row_reads: int, rows: int) -> Gamma:
    """A machine every task of which has as many inputs as there are ways, all of them in lines of their own.

    The row pointers of each input of a task are in two lines, which no other input has.

    Args:
        radix: ways.
        row_reads: reads of row pointers in flight.
        rows: of A, each a task.
    """
    settings = {
        "value": INTEGER,
        "format.element": 8,
        "format.dense": "none",
        "pe.radix": radix,
        "pe.row_reads": row_reads,
        "fibercache.line": 32,
    }
    pointers = 32 // POINTER_BYTES  # of a line
    columns = [2 * pointers * way + pointers - 1 for way in range(radix)]
    a = sparse.csr_array((np.ones(rows * radix), np.tile(columns, rows), np.arange(rows + 1) * radix))
    b = sparse.csr_array(np.ones((a.shape[1] + 1, 2)) * np.arange(1, 3))
    return made_of(sparse.csr_array((a.data, a.indices, a.indptr), shape=(rows, b.shape[0])), b, settings)


def _matrix(generator: random.Random, columns: int, values: str) -> sparse.csr_array:
    lengths = [generator.choice([0, 1, 2, 3, 9, 14]) for _ in range(14)]
    indices = [sorted(generator.sample(range(columns), length)) for length in lengths]
    drawn = [_value(generator, values) for _ in range(sum(lengths))]
    pointers = np.cumsum([0, *lengths])
    return sparse.csr_array((drawn, np.concatenate(indices), pointers), shape=(14, columns))


def _value(generator: random.Random, values: str) -> float:
    number = generator.choice([-1, 1]) * float(generator.randint(1, 255))
    return number if values == INTEGER else number / 256


def _store_partial(machine: Gamma, task: int, generator: random.Random) -> None:
    length, stored = generator.randint(0, LONGEST), machine.partials
    start = machine.table.output_starts[task] = stored.allocate(LONGEST)
    machine.table.output_lengths[task] = length
    for place, coordinate in enumerate(sorted(generator.sample(range(999), length)), start):
        stored.coordinates[place] = coordinate
        stored.values[place] = _value(generator, machine.value_type.name)


def found(machine: Gamma, source: int) -> tuple[int, int]:
    """Of an input of a task, the elements at which it begins and ends."""
    if source >= 0:
        row = machine.a.coordinates[source]
        return machine.b.pointers[row], machine.b.pointers[row + 1]
    start = machine.table.output_starts[-1 - source]
    return start, start + machine.table.output_lengths[-1 - source]


def inputs_of(machine: Gamma, task: int) -> list[TaskInput]:
    """The fibers of a task that have an element."""
    table, scales = machine.table, machine.a.values
    sources = table.inputs[table.first_inputs[task] : table.first_inputs[task + 1]]
    inputs = [TaskInput(one, *found(machine, one), scales[one] if one >= 0 else 1.0) for one in sources]
    return [one for one in inputs if one.end > one.first]


class UnitAdapter(ElementAdapter):
    """Serves a unit alone from the machine's stores, and keeps what leaves, with what is beside it."""

    SERVED = ("tasks", "replies", "output_tasks")
    OBSERVED = None

    def elaborate(self) -> None:
        super().elaborate()
        self.left: list[tuple[str, int, dict[str, int]]] = []

    def observe(self, moved: Mapping[str, Any]) -> None:
        for label, token in moved.items():
            stream = self.end(label).stream
            if stream.direction == "output":
                payloads = [name for name, field in stream.content.items() if isinstance(field, Payload)]
                beside = {name: self.payload(label, name) for name in payloads}
                self.left.append((label, token.reference, beside))


class ReaderAdapter(UnitAdapter):
    """Of a task, the fibers that have an element are found."""

    def _task(self, task: int) -> dict[str, int]:
        tasks = Tasks(self.parameters.radix, self.parameters.value_field)
        bits = tasks.bits(inputs_of(self.machine, task), self._output(task))
        beyond = range(bits["count"], tasks.radix)  # whose words are of a task before
        for name, word in (("firsts", 1), ("ends", 5)):
            bits[name] |= sum(word << tasks.widths[name] * i for i in beyond)
        return bits


class WriterAdapter(UnitAdapter):
    """Of a task, where its output goes is told."""

    def _payload_bits(self, stream: Stream, token: Token) -> dict[str, int]:
        is_task = stream.label == "output_tasks" and token.reference >= 0
        return {OUTPUT: self._output(token.reference)} if is_task else {}


class CountSink(StreamSink):
    """One for numbers of ways; the task beside them is for waveforms."""

    def tick(self, now: int) -> int:
        wake = super().tick(now)
        self.received = [(cycle, (control, count, 0, 0.0)) for cycle, (control, count, *_) in self.received]
        return wake


def sink_behind(
    kernel: Kernel, end: End, name: str, generator: random.Random, kind: type[StreamSink] = StreamSink
) -> StreamSink:
    """A sink that stalls."""
    often = generator.choice([0.0, 0.2, 0.5])
    sink = kernel.add(kind(name, random_stalls(generator.randrange(1 << 30), often=often)))
    kernel.connect(*end, sink, "in", **random_channel(generator))
    return sink


class Unit:
    """A unit of an element of some machine: its tasks, what else comes, and what is around it.

    Args:
        name: as in the element.
        seed: of all that is drawn.
        served: how the twin is served.
        answered: the requests that memory answers.
        machine: that it is a unit of; drawn if there is none.
    """

    outputs: tuple[str, ...] = ()

    def __init__(
        self,
        name: str,
        seed: int,
        served: type[UnitAdapter],
        answered: Sequence[int],
        machine: Gamma | None = None,
    ) -> None:
        self.name, self.seed, self.served, self.answered = name, seed, served, answered
        self.generator = random.Random(seed)
        self.machine = machine or machine_for(self.generator, VALUES[seed % len(VALUES)])
        self.given = matching(self.machine, 0)
        self.tasks = [self.generator.randrange(self.machine.table.count) for _ in range(TASKS)]
        self.numbers: list[Token] = [(0, 0, task, 0.0) for task in self.tasks]

    def pair(self, inputs: Mapping[str, Sequence[Token]], outputs: Sequence[str]) -> Pair:
        """The unit and its twin, which is kept as ``twin``."""
        return Pair(
            self.name,
            self._rtl,
            self._rtl,
            inputs,
            outputs,
            self.seed,
            around=self.around,
            composed=self.composed,
        )

    def _rtl(self, name: str) -> Component:
        part = parts(self.given)[self.name]
        own = {name: getattr(part.block.adapter, name) for name in ("PORTS", "ARBITERS", "RETRACTS")}
        kind = type(self.name, (self.served,), own)
        self.twin = kind(name, part.interface, PyrtlBackend(part.block.twin(part.parameters), self.seed))
        self.twin.configure(self.machine, 0)
        return self.twin

    def composed(self, kernel: Kernel, scope: str) -> Mapping[str, End]:
        """The component; the reader with the buffers of its ways, and a wire behind each."""
        unit = kernel.add(getattr(ProcessingElement(f"{scope}.element", self.machine, 0), self.name))
        ends: dict[str, End] = {}
        for stream in parts(self.given)[self.name].interface.streams:
            ends[stream.label] = (unit, stream.label)
        for wire in self.given.wires:
            if self.name == "reader" and wire.output.startswith("ways"):
                behind = kernel.add(PassOn(f"{scope}.{wire.output}"))
                kernel.connect(unit, wire.output, behind, "in", capacity=wire.capacity)
                ends[wire.output] = (behind, "out")
        return ends

    def around(
        self, kernel: Kernel, scope: str, end: Callable[[str], End], generator: random.Random
    ) -> Sequence[Component]:
        """Memory, and what else is at ports that are no streams of tokens alone."""
        latencies = [generator.randint(1, generator.choice([1, 10, 40])) for _ in range(37)]
        pauses = random_stalls(
            generator.randrange(1 << 30), often=generator.choice([0.0, 0.3, 1.0]), longest=12
        )
        memory = kernel.add(MemoryStub(f"{scope}.memory", latencies, pauses, self.answered))
        kernel.connect(*end("requests"), memory, "requests", capacity=self.given.request_queue)
        kernel.connect(memory, "replies", *end("replies"), **random_channel(generator))
        return [memory, *self.others(kernel, scope, end, generator)]

    def others(
        self, kernel: Kernel, scope: str, end: Callable[[str], End], generator: random.Random
    ) -> Sequence[Component]:
        """What the reader tells of its ways, and the writer's pages."""
        if self.name == "reader":
            return [sink_behind(kernel, end("merge_tasks"), f"{scope}.counts", generator, CountSink)]
        if self.name == "writer":
            pages = kernel.add(PageAllocator(f"{scope}.pages"))
            kernel.connect(*end("page_requests"), pages, "page_requests[0]", **random_channel(generator))
            kernel.connect(pages, "pages[0]", *end("pages"), **random_channel(generator))
            return [pages]
        return []

    def room(self, task: int) -> int:
        """Elements that the output of a task has space for."""
        table, starts = self.machine.table, self.machine.product.starts
        if table.parents[task] != NO_PARENT:
            return LONGEST
        row = table.rows[task]
        return min(LONGEST, starts[row + 1] - starts[row])

    def fibers(self) -> list[list[tuple[int, float]]]:
        """An output for each task."""
        drawn, values = self.generator, self.machine.value_type.name
        lengths = [drawn.randint(0, self.room(task)) for task in self.tasks]
        return [
            [(place, _value(drawn, values)) for place in sorted(drawn.sample(range(999), length))]
            for length in lengths
        ]

    def find(self, task: int) -> None:
        """Tell the table where the fibers of a task are, as a prefetcher does."""
        table = self.machine.table
        for place in range(table.first_inputs[task], table.first_inputs[task + 1]):
            table.starts[place], table.ends[place] = found(self.machine, table.inputs[place])
