"""The machine Graphicionado: streams, the crossbar between them, control, and memory.

A *stream* is one of the parallel pipelines, see ``stream``. The crossbar sends each edge from the stream of
its source vertex to the stream of its destination vertex.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from fiberscope.accelerators.composition import Composition, PartFactory, count
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.graphicionado.capacity import EdramDivision
from fiberscope.accelerators.graphicionado.configuration import GraphicionadoConfiguration
from fiberscope.accelerators.graphicionado.control import Control, Schedule
from fiberscope.accelerators.graphicionado.dispatcher import Dispatcher
from fiberscope.accelerators.graphicionado.edge_pipe import EdgePipe
from fiberscope.accelerators.graphicionado.first_touches import FirstTouches
from fiberscope.accelerators.graphicionado.layout import (
    START_BYTES,
    TENSORS,
    ArrayAllocator,
    partition_stream,
)
from fiberscope.accelerators.graphicionado.store import Edges, Frontier, Temporaries, Vertices
from fiberscope.accelerators.graphicionado.stream import SharedState, Stream
from fiberscope.accelerators.layout import Layout
from fiberscope.accelerators.machine import Iteration
from fiberscope.hw.fibers.arrays import rounded_to, values_of
from fiberscope.hw.memory.atomic_update import AtomicUpdate
from fiberscope.hw.memory.prefetch import StreamPrefetcher
from fiberscope.hw.memory.touched import TouchedBitmap
from fiberscope.hw.networks.concentrator import Concentrator
from fiberscope.hw.networks.islip import IslipCrossbar
from fiberscope.hw.networks.routes import CoordinateRoute
from fiberscope.hw.value_type import INTEGER, TYPES
from fiberscope.sim import Component, Kernel
from fiberscope.sim.names import numbered
from fiberscope.workloads.canonical import CsrArray, Values
from fiberscope.workloads.synchronous import GraphTask
from fiberscope.workloads.vertex_program import PAGERANK, RANK

NEVER_STREAMING = 1 << 62  # bound of touched vertices that no run reaches: never apply all vertices


class Graphicionado(Composition[GraphicionadoConfiguration]):
    """A Graphicionado that runs a vertex program on a graph.

    Args:
        parameters: configuration of the machine.
        graph: adjacency matrix in CSR; the rows are the sources of edges.
        task: vertex program with its parameters, and the number of iterations.
        parts: replacements of blocks in ``PARTS``, by the same names.
        kernel: kernel that runs the machine, for checks of the engine; a new kernel by default.

    Raises:
        ConfigurationError: if the graph does not fit in the eDRAM with the configured slices and table, or
            the type of values does not suit the program or the graph.
    """

    NAME = "graphicionado"
    PARTS: ClassVar[Mapping[str, PartFactory]] = {
        **Composition.PARTS,
        "edge_crossbar": IslipCrossbar,
        "dispatcher": Dispatcher,
        "prefetcher": StreamPrefetcher,
        "edge_pipe": EdgePipe,
        "atomic_update": AtomicUpdate,
        "bitmap": TouchedBitmap,
        "concentrator": Concentrator,
    }
    TENSORS = TENSORS
    work = "edges"

    def __init__(
        self,
        parameters: GraphicionadoConfiguration,
        graph: CsrArray,
        task: GraphTask,
        *,
        parts: Mapping[str, PartFactory] | None = None,
        kernel: Kernel | None = None,
    ) -> None:
        super().__init__(parameters, parts, kernel)
        self.task = task
        self.program = task.program
        self.value_type = TYPES[parameters.value]
        self._check_type()
        self.vertex_count, self.edge_count = int(graph.shape[0]), int(graph.nnz)
        self.blocks = -(-self.vertex_count // parameters.block.vertices)
        self.division = EdramDivision.find(parameters, self.vertex_count)
        self.bounds = self.division.slice_bounds(parameters, self.vertex_count)
        self.degrees = np.diff(graph.indptr)
        self.names = numbered("stream", parameters.streams)
        self.arrays = ArrayAllocator()
        self.streams = self._add_streams(graph)
        self._connect_crossbar()
        self._add_bitmaps()
        self._add_control()  # after the bitmaps or counters, which it connects to the control
        self._connect_memory()
        self.build()

    def _add_streams(self, graph: CsrArray) -> list[Stream]:
        """Add all streams; the weights of all edges are in one array, one stream after another."""
        count = self.parameters.streams
        partitions = [
            partition_stream(graph, self.task, number, count, self.bounds) for number in range(count)
        ]
        # The crossbar takes an edge to another stream, whose processor then finds the weight by its index
        weights = values_of(
            self._round_to_type(np.concatenate([partition.weights for partition in partitions]))
        )
        shared = SharedState(
            self, self.program, weights, self.division.vertices_per_entry, self.blocks, self.arrays
        )
        properties = self._round_to_type(self.program.start(self.degrees, self.task.root))
        temporaries = Temporaries(count, self.vertex_count, self.program.neutral)
        streams, first_weight = [], 0
        for number, partition in enumerate(partitions):
            size = len(partition.degrees)
            values = temporaries.stream_values(number, size)
            # Vertex v belongs to stream v modulo ``count``, in which its number is v // ``count``
            vertices = Vertices(properties[number::count], partition.degrees, values)  # type: ignore[arg-type]
            frontier = Frontier(max(1, size))
            if not self.program.all_active and self.task.root % count == number:
                frontier.add(self.task.root // count, float(properties[self.task.root]))
                frontier.swap()  # ``add`` fills the list of the next iteration; make it that of the first
            edges = Edges(partition, first_weight, temporaries)
            streams.append(Stream(shared, self.names[number], vertices, edges, frontier))
            first_weight += len(partition.weights)
        return streams

    def _check_type(self) -> None:
        """Check that the program can compute with the type of values.

        Raises:
            ConfigurationError: if it cannot; the error names suitable types.
        """
        program, kind = self.program, self.value_type
        if kind.name == INTEGER and program.apply == RANK:
            raise ConfigurationError(
                "value is integer, but ranks are fractions; use float32, float64 or bfloat16"
            )
        # A function with a name has a version for each type; a function of the user has none
        functions = (program.process_edge, program.reduce, program.apply)
        if kind.floats and not all(isinstance(function, str) for function in functions):
            raise ConfigurationError(
                f"value is {kind.name}; functions of your own compute with doubles; use auto"
            )

    def _round_to_type(self, values: Values) -> Values:
        """Return weights or properties, rounded to the machine's type of values.

        Raises:
            ConfigurationError: if the type cannot represent a value; or if a value is negative and the type
                rounds, since sums may then cancel and no bound of the relative error holds.
        """
        kind = self.value_type
        if kind.floats and bool(np.any(values < 0)):
            raise ConfigurationError(
                f"value is {kind.name}; with negative weights it should be auto or integer"
            )
        try:
            return rounded_to(kind, values)
        except ValueError as error:
            raise ConfigurationError(f"G: {error}") from None

    def _connect_crossbar(self) -> None:
        """Connect the crossbar that sends edges from source streams to destination streams."""
        connect, depth = self.kernel.connect, self.parameters.queue.depth
        crossbar = self.add("edge_crossbar", "edge_crossbar", CoordinateRoute(), depth)
        for i, stream in enumerate(self.streams):
            connect(stream.edge_pipe, "sent", crossbar, f"inputs[{i}]", capacity=depth)
            connect(crossbar, f"outputs[{i}]", stream.processor, "source", capacity=depth)

    def _add_bitmaps(self) -> None:
        """Add the recorders of touched vertices: a bitmap a stream, a bitmap of blocks, or a counter."""
        parameters, connect = self.parameters, self.kernel.connect
        selection = "all" if self.program.all_active else parameters.selects
        self.bitmaps: list[Component] = []
        self.counters: list[Component] = []
        bits, depth = parameters.scan.bits, {"capacity": parameters.queue.depth}
        if selection == "blocks":
            block = parameters.block.vertices // parameters.streams  # vertices of a block in each stream
            bitmap = self.add("bitmap", "bitmap", self.blocks, width=bits, block=block)
            self.bitmaps.append(bitmap)
            for i, stream in enumerate(self.streams):
                connect(stream.atomic_update, "touched", bitmap, f"sets[{i}]", **depth)
                connect(bitmap, f"found[{i}]", stream.order, "found", **depth)
            return
        for name, stream in zip(self.names, self.streams, strict=True):
            if selection == "all":
                counter = self.add(FirstTouches, f"{name}.first_touches")
                self.counters.append(counter)
                connect(stream.atomic_update, "touched", counter, "touched", **depth)
                continue
            bitmap = self.add("bitmap", f"{name}.bitmap", max(1, stream.vertices.count), width=bits)
            self.bitmaps.append(bitmap)
            connect(stream.atomic_update, "touched", bitmap, "sets[0]", **depth)
            connect(bitmap, "found[0]", stream.order, "found", **depth)

    def _add_control(self) -> None:
        """Add the control, and connect it to the streams and to the recorders of touched vertices."""
        connect = self.kernel.connect
        self.control = self.add(Control, "control", self.streams, self._schedule())
        for i, stream in enumerate(self.streams):
            connect(self.control, f"jobs[{i}]", stream.vertex_reader, "jobs", capacity=1)
            connect(self.control, f"applies[{i}]", stream.order, "applies", capacity=1)
            connect(stream.list_writer, "ends", self.control, f"ends[{i}]", capacity=1)
        for i, recorder in enumerate(self.bitmaps or self.counters):
            connect(recorder, "ready", self.control, f"ready[{i}]", capacity=1)
        for i, bitmap in enumerate(self.bitmaps):
            connect(self.control, f"scans[{i}]", bitmap, "scans", capacity=1)

    def _schedule(self) -> Schedule:
        """Return the schedule, with the bounds of slices in the vertex numbers of each stream."""
        parameters, streams = self.parameters, self.parameters.streams
        # Stream i has ceil((v - i) / streams) of the vertices 0 to v - 1
        bounds = [[-(-max(0, int(v) - i) // streams) for i in range(streams)] for v in self.bounds]
        groups = [-(-stream.vertices.count // parameters.group) for stream in self.streams]
        # With more touched vertices than lines, a line for each of them is more than all lines of the slice
        lines_per_slice = self.vertex_count // parameters.line_vertices // self.division.slices
        return Schedule(
            bounds,
            self.task.iterations,
            groups if self.program.all_active else None,
            parameters.selects == "all" or self.program.all_active,
            lines_per_slice if parameters.apply.auto else NEVER_STREAMING,
        )

    def _connect_memory(self) -> None:
        ports = self.streams[0].ports
        users = [stream.connect_memory(number * ports) for number, stream in enumerate(self.streams)]
        self.add_memory(users, self.parameters.prefetch.line, ports)

    def result(self) -> Values:
        """Return the property of every vertex; for PageRank the rank (memory has the rank per out-edge)."""
        properties = np.empty(self.vertex_count)
        for number, stream in enumerate(self.streams):
            properties[number :: self.parameters.streams] = np.asarray(stream.vertices.properties)
        if self.program is PAGERANK:
            properties *= np.maximum(self.degrees, 1)
        return properties

    def operations(self) -> dict[str, int]:
        """Return the number of edges visited, of other operations, and of the edges of the fullest stream."""
        counts = {
            "edges": count("edges", *self._all("edge_pipe")),
            "updates": count("updates", self.control),
            "iterations": count("iterations", self.control),
            "activations": count("activations", self.control),
            "applied": count("applied", *self._all("apply")),
            "changed": count("changed", *self._all("apply")),
            "stalls": count("stalls", *self._all("atomic_update")),
            "edges_of_fullest_stream": max(self._edges_by_stream()),
        }
        if self.parameters.selects == "blocks" and self.bitmaps:
            counts["blocks"] = count("bits_found", *self.bitmaps)
        return counts

    def _edges_by_stream(self) -> list[int]:
        """Return the number of processed edges to the vertices of each stream."""
        return [count("edges", processor) for processor in self._all("processor")]

    def _all(self, attribute: str) -> list[Component]:
        """Return the component that each stream has under an attribute name."""
        return [getattr(stream, attribute) for stream in self.streams]

    def layouts(self) -> Sequence[Layout]:
        """Return the layouts of all arrays; each iteration writes the frontier of the next iteration."""
        return self.arrays.layouts

    def useful_bytes(self) -> dict[str, tuple[int, int]]:
        """Return the useful bytes read and written by tensor.

        All properties of an applied block count as useful.
        """
        parameters = self.parameters
        width = parameters.property.bytes
        applied, changed = count("applied", *self._all("apply")), count("changed", *self._all("apply"))
        blocks = self.operations().get("blocks", 0)
        listed = count("entries_taken", *self._all("list_writer")) * (parameters.id.bytes + width)
        starts = count("vertices", *self._all("dispatcher")) if parameters.start == "memory" else 0
        edges = count("edges", *self._all("edge_pipe")) * parameters.edge_bytes(self.program.uses_weights)
        return {
            "frontier": (count("used_bytes", *self._all("vertex_reader")), listed),
            "edges": (edges, 0),
            "starts": (starts * START_BYTES, 0),
            "properties": (
                (blocks * parameters.block.vertices if blocks else applied) * width,
                (applied if parameters.writes_all else changed) * width,
            ),
        }

    def traffic_minimum_bytes(self) -> int:
        """Return the bytes of the design with the least traffic, for the operations so far."""
        return self.minimum_bytes(self.operations())

    def minimum_bytes(self, counts: Mapping[str, int]) -> int:
        """Return the bytes of the design with the least traffic, for given operations.

        With ids and properties of 4 bytes, the formula is 16 F + (4 + w) E + 4 U + 4 N + 8 N
        (docs/graphicionado.md), with F active vertices, E edges with a weight of w bytes, U updated vertices,
        and N changed vertices. With few edges for each active vertex, a design whose edges have sources moves
        less: 8 F + 12 E in place of the first two terms.
        If all vertices are active, nothing is listed: 4 F + (4 + w) E + 4 U + 4 N.

        Args:
            counts: number of operations by name, as of ``operations``.
        """
        id_bytes, property_bytes = self.parameters.id.bytes, self.parameters.property.bytes
        active, edges = counts["activations"], counts["edges"]
        edge_bytes = (id_bytes + (property_bytes if self.program.uses_weights else 0)) * edges
        applied_bytes = property_bytes * (counts["updates"] + counts["changed"])
        if self.program.all_active:
            return property_bytes * active + edge_bytes + applied_bytes
        listed_bytes = (id_bytes + property_bytes) * (active + counts["changed"])
        with_sources = (2 * id_bytes + property_bytes) * edges
        return listed_bytes + min(START_BYTES * active + edge_bytes, with_sources) + applied_bytes

    def iterations(self) -> Sequence[Iteration]:
        """Return the record of each iteration that has ended."""
        return self.control.records

    def progress(self) -> tuple[int, int]:
        """Return the number of edges visited, and the number expected.

        The expected number is that of the graph, times the iterations if all vertices are always active. It
        is never below the number visited: a vertex that is active several times sends its edges each time.
        """
        iterations = self.task.iterations if self.program.all_active else 1
        edges = count("edges", *self._all("edge_pipe"))
        return edges, max(edges, iterations * self.edge_count)

    def chosen(self) -> tuple[str, ...]:
        """Return the number of slices and the coarseness of the edge-id table, unless both are 1."""
        division = self.division
        if (division.slices, division.vertices_per_entry) == (1, 1):
            return ()
        return (
            f"{division.slices} slices by destination, "
            f"a table of {division.vertices_per_entry} vertices an entry",
        )

    def explained(self) -> str:
        """Return a sentence about the skew of the streams: updates of the fullest stream over the mean."""
        edges = self._edges_by_stream()
        skew = max(edges) * len(edges) / max(1, sum(edges))
        return f"The fullest stream has {skew:.2f} times the mean of updates."
