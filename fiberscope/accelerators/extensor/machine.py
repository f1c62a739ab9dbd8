"""The ExTensor machine: sequencer, last-level buffer, processing elements, memory and their networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from fiberscope.accelerators.composition import Composition, PartFactory, count
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.extensor.configuration import SCANNERS, ExTensorConfiguration
from fiberscope.accelerators.extensor.dispatcher import Dispatcher
from fiberscope.accelerators.extensor.drain import Drain
from fiberscope.accelerators.extensor.layout import HALVES, PARTIAL, SPARE_SLOTS, TENSORS, A, B, Z
from fiberscope.accelerators.extensor.loader import Loader
from fiberscope.accelerators.extensor.operand import TILES, least_bytes
from fiberscope.accelerators.extensor.output import OutputBuffer, OutputRow, PartialSlot
from fiberscope.accelerators.extensor.pe import IntersectingCore, MicrotileBuffer
from fiberscope.accelerators.extensor.product import StoredProduct
from fiberscope.accelerators.extensor.sequencer import Sequencer, pairs_of
from fiberscope.accelerators.extensor.tiles import Tiling
from fiberscope.accelerators.extensor.units import PARTS_WITH_UNITS, WORD_BITS, fiber_masks, mask_words
from fiberscope.accelerators.full_operands import full_operand_notes
from fiberscope.accelerators.layout import Layout
from fiberscope.accelerators.values import convert_values
from fiberscope.hw.fibers.intersection import MaskIntersector
from fiberscope.hw.fibers.memory_stream import MemoryStream
from fiberscope.hw.fibers.scanner_pair import ScannerPair
from fiberscope.hw.memory.protocol import READ, TENSOR_SHIFT, WRITE
from fiberscope.hw.value_type import DOUBLE, TYPES
from fiberscope.sim import ComponentStatistics, Kernel
from fiberscope.sim.names import numbered
from fiberscope.workloads.canonical import CsrArray

UNIT_RULES = "set intersection to skip or two_finger, or step to product"
HALF_A_TENSOR = 1 << (TENSOR_SHIFT - 1)  # bytes of half a tensor's address space

# The streams to memory, readers first: name, operation, tensor, and first byte in the tensor's address space.
# Partial outputs are read and written in separate halves of their tensor's addresses.
STREAMS = (
    ("a", READ, A, 0),
    ("b", READ, B, 0),
    ("po_read", READ, PARTIAL, 0),
    ("po_write", WRITE, PARTIAL, HALF_A_TENSOR),
    ("z", WRITE, Z, 0),
)


class ExTensor(Composition[ExTensorConfiguration]):
    """An ExTensor machine with loaded operands; computes Z = A B.

    Args:
        parameters: the configuration.
        a, b: the operands, CSR with sorted and distinct coordinates.
        parts: replacements of entries of ``PARTS``, by name. A replacement of ``intersector`` adds separate
            intersectors, as ``step`` = ``unit`` does.
        kernel: kernel that runs the machine; by default a new one. Tests pass another one.

    Raises:
        ConfigurationError: if tiles do not fit the buffers, if no intersector has the intersection rule, or
            if the type of values cannot represent a value.
    """

    NAME = "extensor"
    PARTS: ClassVar[Mapping[str, PartFactory]] = {
        **Composition.PARTS,
        "sequencer": Sequencer,
        "loader": Loader,
        "dispatcher": Dispatcher,
        "buffer": MicrotileBuffer,
        "core": IntersectingCore,
        "intersector": MaskIntersector,
        "outputs": OutputBuffer,
        "drain": Drain,
        "stream": MemoryStream,
    }
    TENSORS = TENSORS

    def __init__(
        self,
        parameters: ExTensorConfiguration,
        a: CsrArray,
        b: CsrArray,
        *,
        parts: Mapping[str, PartFactory] | None = None,
        kernel: Kernel | None = None,
    ) -> None:
        self.value_type = TYPES[parameters.value]
        a, b = convert_values(self.value_type, a, b)
        self.tiling = self._partition_operands(parameters, a, b)
        self.by_units = parameters.step == "unit" or "intersector" in (parts or {})
        if self.by_units and parameters.intersection == SCANNERS:
            raise ConfigurationError(f"extensor: no unit intersects as {SCANNERS} do; {UNIT_RULES}")
        with_units = PARTS_WITH_UNITS if self.by_units else {}
        # The tiling has chosen the shape of a tile, and may have halved the side of microtiles.
        parameters = self.tiling.parameters.model_copy(update={"tile": self.tiling.tile})
        super().__init__(parameters, {**with_units, **(parts or {})}, kernel)
        self.a, self.b = self.tiling.a, self.tiling.b
        self.skip = parameters.intersection != "two_finger"
        shape = (int(a.shape[0]), int(b.shape[1]))
        self.output = _output_shape(shape, self.tiling.shape, parameters.pe.tile)
        self.halves = parameters.llb.halves  # halves of the buffer, each with a pair of tiles
        # With rows, each row M1 of an output tile is a half of its own, with a single row.
        if parameters.llb.by_rows:
            self.halves, self.output = self.output[0], (1, self.output[1])
        self.pairs = self._list_pairs()
        self.product = self._store_product(shape)
        self.output_rows = [
            OutputRow(self.output[1], self.value_type) for _ in range(self.halves * self.output[0])
        ]
        self.slots = [PartialSlot() for _ in range(parameters.pe.slots * parameters.pe.count)]
        self._add_sequencing()
        self._add_elements()
        self._add_streams()
        self._connect_tiles()
        self._connect_elements()
        if self.by_units:
            self._add_intersectors()
        self.build()

    def _partition_operands(self, parameters: ExTensorConfiguration, a: CsrArray, b: CsrArray) -> Tiling:
        """Return the operands partitioned into tiles."""
        return Tiling(parameters, a, b)

    def _list_pairs(self) -> Sequence[tuple[int, int]]:
        """Return the pairs of tiles in the order of execution."""
        return pairs_of(self.a.tree, self.b.tree)

    def _store_product(self, shape: tuple[int, int]) -> StoredProduct:
        """Return an empty Z of this shape in memory."""
        return StoredProduct(shape, self.parameters.pe.tile, self.output[1], self.value_type)

    def _add_sequencing(self) -> None:
        """Add the components that work on whole tiles."""
        a, b, llb, rows = self.a, self.b, self.parameters.llb, self.output_rows
        self.output_tiles = self._find_output_tiles()
        self.sequencer = self.add("sequencer", "sequencer", a.tree, b.tree, skip=self.skip)
        self.loader = self.add("loader", "llb.loader", a, b, halves=self.halves, **self._loading())
        self.dispatcher = self.add(
            "dispatcher",
            "llb.dispatcher",
            a,
            b,
            rows,
            intersectors=llb.intersectors,
            microtile=self.parameters.pe.tile,
            shape=self.output,
            halves=self.halves,
            skip=self.skip,
            **({"in_turn": True} if llb.dispatch == "turn" else {}),
        )
        self.outputs = self.add("outputs", "llb.outputs", rows, self.slots, halves=self.halves)
        element_bytes = self.parameters.format.output // 8
        self.drain = self.add(
            "drain", "llb.drain", rows, self.output_tiles, self.product, element_bytes, halves=self.halves
        )

    def _loading(self) -> dict[str, int]:
        """Return the loader's options: none for tiles; for rows, as many ahead as a stream takes jobs."""
        parameters = self.parameters
        return {"rows": True, "ahead": parameters.stream.jobs} if parameters.llb.by_rows else {}

    def _find_output_tiles(self) -> list[tuple[int, int]]:
        """Return, for each pair of tiles, the first row M1 of its output tile and its N2, counted from 0."""
        side = self.parameters.pe.tile
        # Coordinates of tiles count elements; M1 counts microtiles, and N2 counts output tiles.
        m1 = self.a.tree.coordinates[TILES] // side
        lengths = np.diff(self.b.tree.segments[TILES])
        n2 = np.repeat(self.b.tree.coordinates[0], lengths) // (self.output[1] * side)
        return [(int(m1[tile_a]), int(n2[tile_b])) for tile_a, tile_b in self.pairs]

    def _add_elements(self) -> None:
        """Add a microtile buffer and a core for each processing element."""
        pe, port = self.parameters.pe, self.parameters.llb.port
        names = numbered("pe", pe.count)
        options = {"microtile": pe.tile, "shape": self.output, "skip": self.skip}
        if self.parameters.intersection == SCANNERS:
            options["scanners"] = ScannerPair(
                self.a.element_k, self.b.element_k, self.b.fiber_elements, pe.scanner_coordinates
            )
        if self.value_type is not DOUBLE:
            options["value_type"] = self.value_type
        arguments = [self.a, self.b, port, pe.buffer]
        if self.by_units:
            arguments += [fiber_masks(operand, pe.tile) for operand in (self.a, self.b)]
        self.buffers = [self.add("buffer", f"{name}.buffer", *arguments) for name in names]
        self.cores = [
            self.add("core", f"{name}.core", self.a, self.b, self.slots[i : i + pe.slots], i, **options)
            for name, i in zip(names, range(0, len(self.slots), pe.slots), strict=True)
        ]

    def _add_streams(self) -> None:
        """Add the streams and the memory that they access."""
        stream = self.parameters.stream
        line, lines, jobs = stream.line, stream.lines, stream.jobs
        self.streams = [
            self.add("stream", f"stream.{name}", *access, port, line_bytes=line, lines=lines, most_jobs=jobs)
            for port, (name, *access) in enumerate(STREAMS)
        ]
        users = [
            (stream, "requests", "replies" if operation == READ else "")
            for stream, (_name, operation, *_) in zip(self.streams, STREAMS, strict=True)
        ]
        self.add_memory(users, line)

    def _connect_tiles(self) -> None:
        """Connect the components that work on whole tiles, and the streams."""
        connect = self.kernel.connect
        connect(self.sequencer, "pairs", self.loader, "pairs", capacity=self.parameters.llb.pair_queue)
        halves = max(HALVES, self.halves)
        connect(self.loader, "loaded", self.dispatcher, "loaded", capacity=halves)
        rows = halves * (self.output[0] + 1)  # largest number of tokens in flight
        connect(self.dispatcher, "rows", self.outputs, "rows", capacity=rows)
        connect(self.outputs, "finished", self.drain, "finished", capacity=rows)
        connect(self.dispatcher, "released", self.loader, "released", capacity=halves)
        connect(self.drain, "drained", self.dispatcher, "drained", capacity=halves)
        if self.parameters.llb.barrier:
            connect(self.outputs, "completed", self.loader, "completed", capacity=rows)
        users = ((self.loader, "a"), (self.loader, "b"), (self.drain, "read"), (self.drain, "partial"))
        for (user, port), stream in zip((*users, (self.drain, "new")), self.streams, strict=True):
            jobs = self.parameters.stream.jobs
            connect(user, f"{port}_jobs", stream, "jobs", capacity=jobs)
            connect(stream, "done", user, f"{port}_done", capacity=jobs)

    def _connect_elements(self) -> None:
        """Connect the dispatcher, the processing elements and the output buffer."""
        connect, latency = self.kernel.connect, self.parameters.network.pe_latency
        queue = self.parameters.pe.task_queue + 1 + latency  # 1 more for the product being loaded
        slots = self.parameters.pe.slots - SPARE_SLOTS  # slots that can be on their way
        for i, (buffer, core) in enumerate(zip(self.buffers, self.cores, strict=True)):
            connect(self.dispatcher, f"tasks[{i}]", buffer, "tasks", capacity=queue, latency=latency)
            connect(buffer, "ready", core, "ready", capacity=HALVES)
            connect(core, "partials", self.outputs, f"partials[{i}]", capacity=slots, latency=latency)

    def _add_intersectors(self) -> None:
        """Add the intersectors and connect them between the buffers and the cores."""
        connect, pe, rule = self.kernel.connect, self.parameters.pe, self.parameters.intersection
        words, names = mask_words(pe.tile), numbered("pe", pe.count)
        for name, buffer, core in zip(names, self.buffers, self.cores, strict=True):
            unit = self.add("intersector", f"{name}.intersector", words, WORD_BITS, rule)
            for port in (f"masks_{side}[{word}]" for side in "ab" for word in range(words)):
                connect(buffer, port, unit, port, capacity=2)
            connect(unit, "results", core, "results", capacity=2)

    def result(self) -> CsrArray:
        """Return Z as memory holds it."""
        return self.product.gather()

    def operations(self) -> dict[str, int]:
        """Return the multiplications, additions, intersection steps of each level and microtile products."""
        cores = self.cores
        additions = count("add", *cores)
        return {
            "multiply": count("multiply", *cores),
            "add": additions + count("add", self.outputs) + self.product.additions,
            "intersect_k2": count("intersect_k2", self.sequencer),
            "intersect_k1": count("intersect_k1", self.dispatcher),
            "intersect_k0": count("intersect_k0", *cores),
            "microtile_products": count("products", *cores),
        }

    def layouts(self) -> Sequence[Layout]:
        """Return the layouts in the order of ``STREAMS``; the used ranges are the bytes moved so far."""
        stream_bytes = [count("bytes", stream) for stream in self.streams]
        stream_bytes[3] = stream_bytes[2]  # every element that is read is written back, see ``STREAMS``
        stream_bytes[4] = self.product.nonzeros * self.parameters.format.output // 8
        return [
            Layout.stream(stream, HALF_A_TENSOR, size)
            for (_name, *stream), size in zip(STREAMS, stream_bytes, strict=True)
        ]

    def traffic_minimum_bytes(self) -> int:
        """Return the bytes of all microtiles that meet in K1, and of the nonzeros of Z so far, each once."""
        return least_bytes(self.a, self.b) + self.product.nonzeros * self.parameters.format.output // 8

    def chosen(self) -> tuple[str, ...]:
        """Return notes on a tile shape that was chosen, and on operands that are stored as values only."""
        shape = (self.tiling.choice,) if self.tiling.choice else ()
        return *shape, *full_operand_notes(self.tiling.is_dense)

    def explained(self) -> str:
        """Return a sentence on the longest product and on the waits for the release of tiles."""
        statistics = self.kernel.statistics()
        products = {
            core.name: statistics[core.name].counters.get("longest_product", 0) for core in self.cores
        }
        longest = max(products, key=products.__getitem__)
        loader, dispatcher = (statistics[unit.name] for unit in (self.loader, self.dispatcher))
        return (
            f"The longest product takes {products[longest]:,} cycles, in {longest}; the loader waits "
            f"{_waits(loader, 'released'):.0%} of the time for the release of input tiles, the dispatcher "
            f"{_waits(dispatcher, 'drained'):.0%} for that of output tiles."
        )

    def progress(self) -> tuple[int, int]:
        """Return the number of pairs of tiles drained and the number of all pairs."""
        return count("tiles", self.drain), len(self.output_tiles)


def _waits(statistics: ComponentStatistics, port: str) -> float:
    """Return the share of all cycles in which a component waits for input at a port."""
    return statistics.input_stall.get(port, 0) / max(1, statistics.cycles)


def _output_shape(shape: tuple[int, int], tile: tuple[int, int, int], side: int) -> tuple[int, int]:
    """Return the microtiles of an output tile in M and N: at most those of the whole Z, at least one.

    Args:
        shape: rows and columns of Z.
        tile: microtiles of a tile in M, K and N.
        side: side of a microtile, in coordinates.
    """
    m, _k, n = tile
    return min(m, max(1, -(-shape[0] // side))), min(n, max(1, -(-shape[1] // side)))
