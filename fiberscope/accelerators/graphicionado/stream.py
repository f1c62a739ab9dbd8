"""The units of one stream of Graphicionado, and their connections.

A *stream* is one of the machine's parallel pipelines; vertex v belongs to stream v modulo the number of
streams. A stream has three pipes:

- the source pipe (stages P1 to P3) reads active vertices and their edges;
- the destination pipe (P4 to P9) processes edges, and reduces their results into temporary properties;
- the apply pipe (A1 to A5) applies temporary properties to properties, and writes the next frontier.
"""

from __future__ import annotations

from dataclasses import dataclass

from fiberscope.accelerators.composition import Composition, User
from fiberscope.accelerators.graphicionado.apply_order import ApplyOrder
from fiberscope.accelerators.graphicionado.apply_pipe import ApplyPipe
from fiberscope.accelerators.graphicionado.configuration import GraphicionadoConfiguration
from fiberscope.accelerators.graphicionado.edge_processor import EdgeProcessor
from fiberscope.accelerators.graphicionado.layout import (
    EDGES,
    FRONTIER,
    PROPERTIES,
    START_BYTES,
    STARTS,
    ArrayAllocator,
)
from fiberscope.accelerators.graphicionado.line_reader import LineReader
from fiberscope.accelerators.graphicionado.store import Edges, Frontier, Vertices
from fiberscope.accelerators.layout import Role
from fiberscope.hw.fibers.list_writer import ListWriter
from fiberscope.hw.memory.atomic_update import FORWARD, STALL
from fiberscope.hw.value_type import AUTO
from fiberscope.sim import Component
from fiberscope.sim.names import numbered
from fiberscope.workloads.vertex_program import VertexProgram

EDGES_SENT = 2  # capacity, in edges, of the channel from an edge reader to the edge pipe


@dataclass(frozen=True)
class SharedState:
    """State that all streams of a machine share.

    Args:
        machine: machine to which the streams belong.
        program: vertex program that the machine runs.
        weights: weights of the edges of all streams, one stream after another.
        coarsen: number of vertices that share an entry of the edge-id table.
        blocks: number of blocks of vertices. The vertices of a block share a bit of GraphDynS's bitmap.
        arrays: allocator of arrays in memory.
    """

    machine: Composition[GraphicionadoConfiguration]
    program: VertexProgram
    weights: memoryview[float]
    coarsen: int
    blocks: int
    arrays: ArrayAllocator

    @property
    def cycles(self) -> tuple[int, int, int]:
        """Return the cycles of the program's functions: process an edge, reduce, and apply.

        The program may declare them. Otherwise, they follow from the operations of the functions.
        """
        if self.program.cycles is not None:
            return self.program.cycles
        compute = self.machine.parameters.compute
        add_cycles = compute.fp_add_latency
        reduce_cycles = compute.min_latency if self.program.reduce == "min" else add_cycles
        # A rank takes a multiplication and an addition.
        apply_cycles = compute.min_latency if self.program.apply == "min" else 2 * add_cycles
        return compute.min_latency, reduce_cycles, apply_cycles


class Stream:
    """One stream. The constructor adds the units to the machine and connects them within the stream.

    The machine then connects the stream with the crossbar, the control, the recorder of touched vertices,
    and, with ``connect_memory``, the memory.

    Args:
        shared: state that all streams share.
        name: name of the stream within the machine.
        vertices, edges, frontier: functional contents of the stream: its vertices, the edges from its
            vertices, and its active vertices.
    """

    def __init__(
        self, shared: SharedState, name: str, vertices: Vertices, edges: Edges, frontier: Frontier
    ) -> None:
        self.shared, self.name = shared, name
        self.machine, self.program = shared.machine, shared.program
        self.parameters = shared.machine.parameters
        self.vertices, self.edges, self.frontier = vertices, edges, frontier
        self._add_source()
        self._add_destination()
        self._add_apply()
        self._connect_source()
        self._connect_destination()
        self._connect_apply()

    def _add_source(self) -> None:
        """Add the source pipe: readers of the frontier and of edges, the dispatcher and the edge pipe."""
        parameters, name, program = self.parameters, self.name, self.program
        # If all vertices are active, there is no list: the reader fetches properties by groups.
        group = parameters.group if program.all_active else 0
        entry_bytes = group * parameters.property.bytes or parameters.entry_bytes
        edge_bytes = parameters.edge_bytes(program.uses_weights)
        # The end of a list must be known for a group, or if edges have no source that shows the end.
        counts_edges = group > 0 or not parameters.keeps_source
        base = self._allocate_edges(edge_bytes, counts_edges)
        # With groups, ``group`` times more bytes than the entries take: only addresses depend on them.
        self.vertex_reader = self._add_prefetcher(
            "vertex_reader", self._allocate(FRONTIER, entry_bytes, Role.STATE), entry_bytes
        )
        self.dispatcher = self.machine.add(
            "dispatcher",
            f"{name}.dispatcher",
            self.edges,
            self.frontier,
            self.vertices.count,
            group=group,
            counts_edges=counts_edges,
            coarsen=self.shared.coarsen,
            line_bytes=parameters.prefetch.line,
        )
        readers = numbered("edge_reader", parameters.edge.readers_per_stream)
        self.edge_readers = [self._add_prefetcher(reader, base, edge_bytes) for reader in readers]
        stores, streams = (self.edges, self.vertices), parameters.streams
        self.edge_pipe = self.machine.add(
            "edge_pipe", f"{name}.edge_pipe", *stores, streams, all_active=group > 0
        )
        has_start_table = parameters.start == "memory"
        self.start_reader = (
            self._add_line_reader("start_reader", STARTS, START_BYTES, Role.OPERAND)
            if has_start_table
            else None
        )

    def _allocate(self, tensor: int, size: int, role: Role, block: int = 0) -> int:
        """Allocate an array with an element for each vertex of the stream, and return its address.

        Args:
            tensor: number of the tensor.
            size: bytes of an element.
            role: role of the array in a run.
            block: vertices of this stream in a block; the array then has whole blocks. 0 for no blocks.
        """
        return self.shared.arrays.allocate(
            tensor, size * (self.shared.blocks * block or self.vertices.count), role
        )

    def _allocate_edges(self, size: int, counts_edges: bool) -> int:
        """Allocate the array of edges; readers that do not know the number of edges read past its end."""
        prefetch = self.parameters.prefetch
        # Bytes in the buffers of a reader, and edges sent before the stop from the edge pipe arrives.
        prefetch_bytes = 0 if counts_edges else prefetch.lines * prefetch.line + 2 * EDGES_SENT * size
        return self.shared.arrays.allocate(
            EDGES, size * len(self.edges.destinations), Role.OPERAND, prefetch_bytes
        )

    def _add_prefetcher(self, name: str, base: int, element_bytes: int) -> Component:
        prefetch = self.parameters.prefetch
        sizes = {"line_bytes": prefetch.line, "lines": prefetch.lines}
        return self.machine.add("prefetcher", f"{self.name}.{name}", base, element_bytes, **sizes)

    def _add_line_reader(self, name: str, tensor: int, size: int, role: Role, block: int = 0) -> LineReader:
        """Add a reader of an array; the arguments after the name are those of ``_allocate``."""
        prefetch = self.parameters.prefetch
        return self.machine.add(
            LineReader,
            f"{self.name}.{name}",
            self._allocate(tensor, size, role, block),
            line_bytes=prefetch.line,
            lines=prefetch.lines,
            # As many waiting tokens as table entries fit in all line buffers, and at least two for each line.
            max_waiting=prefetch.lines * max(2, prefetch.line // START_BYTES),
        )

    def _add_destination(self) -> None:
        """Add the destination pipe: the edge processor and the atomic update."""
        parameters, program = self.parameters, self.program
        self.processor = self.machine.add(
            EdgeProcessor,
            f"{self.name}.processor",
            program.process_edge,
            self.shared.weights,
            parameters.streams,
            parameters.value,
        )
        typed = {"values": parameters.value} if parameters.value != AUTO else {}
        self.atomic_update = self.machine.add(
            "atomic_update",
            f"{self.name}.atomic_update",
            self.vertices.temporary,
            program.reduce,
            neutral=program.neutral,
            mode=FORWARD if parameters.forwards else STALL,
            read_latency=parameters.edram.read_latency,
            reduce_latency=self.shared.cycles[1],
            write_latency=parameters.edram.write_latency,
            **typed,
        )

    def _add_apply(self) -> None:
        """Add the apply pipe: order of vertices, reader of properties, pipe, and writer of the frontier."""
        parameters, program, name = self.parameters, self.program, self.name
        # The vertices of a block are spread evenly over the streams.
        block = parameters.block.vertices // parameters.streams if parameters.selects == "blocks" else 0
        line, line_vertices = parameters.prefetch.line, parameters.line_vertices
        self.order = self.machine.add(
            ApplyOrder, f"{name}.apply_order", line_vertices=line_vertices, block=block
        )
        size = parameters.property.bytes
        self.property_reader = self._add_line_reader("property_reader", PROPERTIES, size, Role.STATE, block)
        self.apply = self.machine.add(
            ApplyPipe,
            f"{name}.apply",
            self.vertices,
            self.frontier,
            program.apply,
            neutral=program.neutral,
            base=self.property_reader.base,
            line_bytes=line,
            line_vertices=line_vertices,
            write_all=parameters.writes_all,
            lists=not program.all_active,
            values=parameters.value,
        )
        entry_bytes = parameters.entry_bytes
        base = self._allocate(FRONTIER, entry_bytes, Role.WORK)
        self.list_writer = self.machine.add(
            ListWriter, f"{name}.list_writer", base, entry_bytes, line_bytes=line
        )

    def _connect_source(self) -> None:
        """Connect the source pipe: reader of vertices, dispatcher, edge readers and edge pipe."""
        connect, depth = self.machine.kernel.connect, self.parameters.queue.depth
        # The latency of the on-chip table of first edges; entries that bring their edges keep this latency.
        latency = self.parameters.edram.read_latency if self.start_reader is None else 1
        connect(self.vertex_reader, "elements", self.dispatcher, "entries", capacity=depth)
        if self.start_reader is not None:
            connect(self.dispatcher, "wanted", self.start_reader, "wanted", capacity=depth)
            connect(self.start_reader, "here", self.dispatcher, "starts", capacity=depth)
        # The capacity includes tokens in flight: a pipeline of ``latency - 1`` stages before a queue.
        pipeline = {"capacity": depth + latency - 1, "latency": latency}
        for i, reader in enumerate(self.edge_readers):
            connect(self.dispatcher, f"jobs[{i}]", reader, "jobs", **pipeline)
            connect(self.dispatcher, f"sources[{i}]", self.edge_pipe, f"sources[{i}]", **pipeline)
            connect(reader, "elements", self.edge_pipe, f"elements[{i}]", capacity=EDGES_SENT)
            connect(self.edge_pipe, f"stops[{i}]", reader, "stops", capacity=1)

    def _connect_destination(self) -> None:
        # The output channel has the latency of the unit; entry 0 of ``cycles`` is for ``process_edge``.
        latency = self.shared.cycles[0]
        pipeline = {"capacity": self.parameters.queue.depth + latency - 1, "latency": latency}
        self.machine.kernel.connect(self.processor, "updates", self.atomic_update, "updates", **pipeline)

    def _connect_apply(self) -> None:
        connect, depth = self.machine.kernel.connect, self.parameters.queue.depth
        connect(self.order, "wanted", self.property_reader, "wanted", capacity=depth)
        connect(self.property_reader, "here", self.apply, "lines", capacity=2)
        latency = self.parameters.edram.read_latency + self.shared.cycles[2]
        pipeline = {"capacity": depth + latency - 1, "latency": latency}
        connect(self.apply, "entries", self.list_writer, "entries", **pipeline)

    def connect_memory(self, first_port: int) -> User:
        """Connect the units of the stream to a concentrator, and return its port at the network to memory.

        Args:
            first_port: number of the first of ``ports`` port numbers of the stream.
        """
        connect, name = self.machine.kernel.connect, f"{self.name}.memory_port"
        port = self.machine.add("concentrator", name, first_port)
        queue = self.parameters.network.queue
        # Readers first: the last requesters of a concentrator may have no output, and writers get no replies.
        readers = [self.vertex_reader, *self.edge_readers, self.property_reader]
        readers += [] if self.start_reader is None else [self.start_reader]
        for i, unit in enumerate([*readers, self.apply, self.list_writer]):
            connect(unit, "requests", port, f"inputs[{i}]", capacity=queue)
        for i, reader in enumerate(readers):
            connect(port, f"outputs[{i}]", reader, "replies", capacity=queue)
        return port, "requests", "replies"

    @property
    def ports(self) -> int:
        """Return the largest number of components at the stream's port of the memory network."""
        # Readers of vertices, properties and first edges, the apply pipe, and the writer of the list.
        return 5 + len(self.edge_readers)
