"""Graphicionado again, plainly: its own modules as courses of steps, its wiring and layout written down anew.

Prefetchers, crossbar, update units, bitmaps, list writers and memory are those of ``hw/``. A kernel that
never sleeps ticks every module in every cycle, so that none has to say what it waits for.
"""

from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from graphicionado_apply import PlainApply, PlainFirstTouches, PlainLineReader, PlainOrder
from graphicionado_parts import Part, PlainControl, PlainDispatcher, PlainEdgePipe, PlainProcessor

from fiberscope.accelerators.composition import Composition
from fiberscope.accelerators.graphicionado import GraphicionadoConfiguration
from fiberscope.hw.fibers.arrays import values_of
from fiberscope.hw.fibers.list_writer import ListWriter
from fiberscope.hw.memory.atomic_update import AtomicUpdate
from fiberscope.hw.memory.prefetch import StreamPrefetcher
from fiberscope.hw.memory.protocol import TENSOR_SHIFT
from fiberscope.hw.memory.touched import TouchedBitmap
from fiberscope.hw.networks.concentrator import Concentrator
from fiberscope.hw.networks.islip import IslipCrossbar
from fiberscope.hw.networks.routes import CoordinateRoute
from fiberscope.sim import Kernel
from fiberscope.workloads.synchronous import weights_of

FRONTIER, EDGES, STARTS, PROPERTIES = range(4)
PAGE = 4096


def up(number: int, step: int) -> int:
    """How many steps hold a number."""
    return -(-number // step)


class PlainGraphicionado(Composition[GraphicionadoConfiguration]):
    """A machine of plain modules."""

    NAME = "graphicionado"
    TENSORS: ClassVar = {"frontier": (0,), "edges": (1,), "starts": (2,), "properties": (3,)}

    def __init__(self, parameters: GraphicionadoConfiguration, graph: Any, task: Any) -> None:
        super().__init__(parameters, None, Kernel(sleep=False))
        self.graph, self.task, self.program = graph, task, task.program
        self.count = graph.shape[0]
        self.all_active = self.program.all_active
        design = parameters.design
        self.kept = parameters.edge.source == "kept" or (
            parameters.edge.source == "auto" and design in ("graphicionado", "sparse_access")
        )
        automatic = {"csr_like": "memory", "graphdyns": "frontier"}.get(design, "edram")
        self.start = automatic if parameters.edge.start == "auto" else parameters.edge.start
        wide = {"graphicionado": "all", "graphdyns": "blocks"}.get(design, "touched")
        self.selects = "all" if self.all_active else wide
        self.group = min(8, parameters.prefetch.line // parameters.property.bytes)
        self.bounds = self._bounds()
        self.behind = 0  # bytes of memory that are taken
        self._deal()
        self.shared = SimpleNamespace(slice=0)
        self.streams = [self._stream(i) for i in range(parameters.streams)]
        self._join()
        group = 5 + parameters.edge.readers_per_stream
        users = [self._to_memory(one, number * group) for number, one in enumerate(self.streams)]
        self.add_memory(users, parameters.prefetch.line, group)
        self.build()

    def operations(self) -> dict[str, int]:
        """Those are of the reference."""
        return {}

    def _bounds(self) -> list[int]:
        step = self.parameters.block.vertices
        blocks = up(self.count, step)
        slices = max(1, min(self.parameters.slice.count, blocks))
        return [blocks * number // slices * step for number in range(slices)] + [self.count]

    def _deal(self) -> None:
        """The edges of every stream: those of the first slice, by source, then those of the next."""
        graph, streams = self.graph, self.parameters.streams
        sources = np.repeat(np.arange(self.count), np.diff(graph.indptr))
        weights = np.ones(graph.nnz)
        if self.program.uses_weights:
            weights = weights_of(graph, self.task, sources, np.arange(graph.nnz))
        self.edges = []
        for stream in range(streams):
            mine = SimpleNamespace(pointers=[], destinations=[], weights=[])
            for first, end in zip(self.bounds, self.bounds[1:], strict=False):
                pointers = [len(mine.destinations)]
                for vertex in range(stream, self.count, streams):
                    for place in range(graph.indptr[vertex], graph.indptr[vertex + 1]):
                        if first <= graph.indices[place] < end:
                            mine.destinations.append(int(graph.indices[place]))
                            mine.weights.append(float(weights[place]))
                    pointers.append(len(mine.destinations))
                mine.pointers.append(pointers)
            self.edges.append(mine)

    def _place(self, tensor: int, size: int) -> int:
        address = (tensor << TENSOR_SHIFT) + self.behind
        self.behind += up(size, PAGE) * PAGE
        return address

    def _stream(self, number: int) -> SimpleNamespace:
        """The parts of a stream."""
        parameters, program = self.parameters, self.program
        count = len(range(number, self.count, parameters.streams))
        properties = program.start(np.diff(self.graph.indptr), self.task.root)
        frontier = []
        if not self.all_active and self.task.root % parameters.streams == number:
            frontier.append((self.task.root // parameters.streams, float(properties[self.task.root])))
        one = SimpleNamespace(
            number=number,
            name=f"stream{number:02}",
            count=count,
            edges=self.edges[number],
            properties=[float(value) for value in properties[number :: parameters.streams]],
            degrees=np.diff(self.graph.indptr)[number :: parameters.streams].tolist(),
            temporary=values_of(np.full(max(1, count), program.neutral)),
            frontier=frontier,
            coming=[],
        )
        one.sent = list(one.properties)
        self._add_source(one)
        self._add_destination(one)
        self._add_apply(one)
        return one

    def _read(self, one: SimpleNamespace, name: str, base: int, element: int) -> Any:
        prefetch = self.parameters.prefetch
        sizes = {"line_bytes": prefetch.line, "lines": prefetch.lines}
        return self.add(StreamPrefetcher, f"{one.name}.{name}", base, element, **sizes)

    def _add(self, kind: type[Part], one: SimpleNamespace, name: str, **options: Any) -> Any:
        return self.add(kind, f"{one.name}.{name}", self, one, **options)

    def _add_source(self, one: SimpleNamespace) -> None:
        parameters, connect = self.parameters, self.kernel.connect
        own, name = parameters.property.bytes, parameters.id.bytes
        self.entry = name + own + (2 * name if self.start == "frontier" else 0)
        weight = own if self.program.uses_weights else 0
        edge = 2 * name + own if self.kept else name + weight
        looked_at = 0 if self.all_active or not self.kept else 1
        base = self._place(EDGES, max(looked_at, edge * len(one.edges.destinations)))
        entry = self.group * own if self.all_active else self.entry
        one.vertex_reader = self._read(one, "vertex_reader", self._place(FRONTIER, entry * one.count), entry)
        one.dispatcher = self._add(PlainDispatcher, one, "dispatcher")
        many = parameters.edge.readers_per_stream
        one.edge_readers = [self._read(one, f"edge_reader{i:02}", base, edge) for i in range(many)]
        one.edge_pipe = self._add(PlainEdgePipe, one, "edge_pipe")
        depth = parameters.queue.depth
        connect(one.vertex_reader, "elements", one.dispatcher, "entries", capacity=depth)
        one.start_reader, table = None, parameters.edram.read_latency
        if self.start == "memory":
            table = 1
            one.start_reader = self._add(
                PlainLineReader, one, "start_reader", base=self._place(STARTS, 8 * one.count)
            )
            connect(one.dispatcher, "wanted", one.start_reader, "wanted", capacity=depth)
            connect(one.start_reader, "here", one.dispatcher, "starts", capacity=depth)
        for i, reader in enumerate(one.edge_readers):
            waiting = {"capacity": depth - 1 + table, "latency": table}
            connect(one.dispatcher, f"jobs[{i}]", reader, "jobs", **waiting)
            connect(one.dispatcher, f"sources[{i}]", one.edge_pipe, f"sources[{i}]", **waiting)
            connect(reader, "elements", one.edge_pipe, f"elements[{i}]", capacity=2)
            connect(one.edge_pipe, f"stops[{i}]", reader, "stops", capacity=1)

    def latencies(self) -> tuple[int, int, int]:
        """Of what an edge does, a reduction, and an application."""
        if self.program.cycles is not None:
            return self.program.cycles
        least, add = self.parameters.compute.min_latency, self.parameters.compute.fp_add_latency
        return (
            least,
            least if self.program.reduce == "min" else add,
            least if self.program.apply == "min" else add + add,
        )

    def _add_destination(self, one: SimpleNamespace) -> None:
        parameters, (process, reduce, _apply) = self.parameters, self.latencies()
        one.processor = self._add(PlainProcessor, one, "processor")
        forwards = {"stall": False, "forward": True, "auto": parameters.design == "graphdyns"}
        one.atomic_update = self.add(
            AtomicUpdate,
            f"{one.name}.atomic_update",
            one.temporary,
            self.program.reduce,
            neutral=self.program.neutral,
            mode="forward" if forwards[parameters.atomic.mode] else "stall",
            read_latency=parameters.edram.read_latency,
            reduce_latency=reduce,
            write_latency=parameters.edram.write_latency,
        )
        pipeline = {"capacity": parameters.queue.depth - 1 + process, "latency": process}
        self.kernel.connect(one.processor, "updates", one.atomic_update, "updates", **pipeline)

    def _add_apply(self, one: SimpleNamespace) -> None:
        parameters, connect = self.parameters, self.kernel.connect
        depth, line = parameters.queue.depth, parameters.prefetch.line
        one.order = self._add(PlainOrder, one, "apply_order")
        blocked = up(self.count, parameters.block.vertices) * parameters.block.vertices // parameters.streams
        vertices = blocked if parameters.design == "graphdyns" else one.count
        base = self._place(PROPERTIES, parameters.property.bytes * vertices)
        one.property_reader = self._add(PlainLineReader, one, "property_reader", base=base)
        one.apply = self._add(PlainApply, one, "apply", base=base)
        base = self._place(FRONTIER, self.entry * one.count)
        one.list_writer = self.add(ListWriter, f"{one.name}.list_writer", base, self.entry, line_bytes=line)
        connect(one.order, "wanted", one.property_reader, "wanted", capacity=depth)
        connect(one.property_reader, "here", one.apply, "lines", capacity=2)
        latency = parameters.edram.read_latency + self.latencies()[2]
        connect(
            one.apply, "entries", one.list_writer, "entries", capacity=depth - 1 + latency, latency=latency
        )

    def _join(self) -> None:
        """Crossbar, bitmaps and control."""
        parameters, connect, streams = self.parameters, self.kernel.connect, self.streams
        depth = parameters.queue.depth
        crossbar = self.add(IslipCrossbar, "edge_crossbar", CoordinateRoute(), depth)
        for i, one in enumerate(streams):
            connect(one.edge_pipe, "sent", crossbar, f"inputs[{i}]", capacity=depth)
            connect(crossbar, f"outputs[{i}]", one.processor, "source", capacity=depth)
        noting = self._add_noting(depth)
        self.control = self.add(PlainControl, "control", self)
        for i, one in enumerate(streams):
            connect(self.control, f"jobs[{i}]", one.vertex_reader, "jobs", capacity=1)
            connect(self.control, f"applies[{i}]", one.order, "applies", capacity=1)
            connect(one.list_writer, "ends", self.control, f"ends[{i}]", capacity=1)
        for i, part in enumerate(noting):
            connect(part, "ready", self.control, f"ready[{i}]", capacity=1)
            if self.selects != "all":
                connect(self.control, f"scans[{i}]", part, "scans", capacity=1)

    def _add_noting(self, depth: int) -> list[Any]:
        """What notes the destinations that are reached."""
        parameters, connect, streams = self.parameters, self.kernel.connect, self.streams
        bits, block = parameters.scan.bits, parameters.block.vertices
        if self.selects == "blocks":
            shared = self.add(
                TouchedBitmap, "bitmap", up(self.count, block), width=bits, block=block // len(streams)
            )
            for i, one in enumerate(streams):
                connect(one.atomic_update, "touched", shared, f"sets[{i}]", capacity=depth)
                connect(shared, f"found[{i}]", one.order, "found", capacity=depth)
            return [shared]
        if self.selects == "all":
            counters = [self._add(PlainFirstTouches, one, "first_touches") for one in streams]
            for one, counter in zip(streams, counters, strict=True):
                connect(one.atomic_update, "touched", counter, "touched", capacity=depth)
            return counters
        bitmaps = []
        for one in streams:
            bitmaps.append(self.add(TouchedBitmap, f"{one.name}.bitmap", max(1, one.count), width=bits))
            connect(one.atomic_update, "touched", bitmaps[-1], "sets[0]", capacity=depth)
            connect(bitmaps[-1], "found[0]", one.order, "found", capacity=depth)
        return bitmaps

    def _to_memory(self, one: SimpleNamespace, first: int) -> tuple[Any, str, str]:
        port = self.add(Concentrator, f"{one.name}.memory_port", first)
        queue = self.parameters.network.queue
        reads = [one.vertex_reader, *one.edge_readers, one.property_reader]
        reads += [one.start_reader] if one.start_reader else []
        for i, part in enumerate([*reads, one.apply, one.list_writer]):
            self.kernel.connect(part, "requests", port, f"inputs[{i}]", capacity=queue)
        for i, part in enumerate(reads):
            self.kernel.connect(port, f"outputs[{i}]", part, "replies", capacity=queue)
        return port, "requests", "replies"
