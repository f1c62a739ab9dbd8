"""The machine OuterSPACE: control processors, tiles, two levels of caches, linker, memory and networks.

The multiply phase stores products in the intermediate T, as linked lists of nodes; the merge phase merges the
lists of each row into the product Z.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from fiberscope.accelerators.composition import Composition, PartFactory, User, count
from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.accelerators.full_operands import full_operand_notes
from fiberscope.accelerators.layout import Layout
from fiberscope.accelerators.outerspace.configuration import MergerSpecification, OuterSpaceConfiguration
from fiberscope.accelerators.outerspace.control import CentralControl
from fiberscope.accelerators.outerspace.groups import Groups
from fiberscope.accelerators.outerspace.layout import (
    INDEX_BYTES,
    LINK_BITS,
    TENSORS,
    T,
    merger_regions,
    operand_layouts,
    operands_of,
    written_arrays,
    written_layouts,
)
from fiberscope.accelerators.outerspace.linker import Linker, Space
from fiberscope.accelerators.outerspace.lists import RowLists
from fiberscope.accelerators.outerspace.local_control import LocalControl
from fiberscope.accelerators.outerspace.merger import MergingElement
from fiberscope.accelerators.outerspace.multiplier import MultiplyingElement
from fiberscope.accelerators.outerspace.unit_merger import check
from fiberscope.accelerators.outerspace.units import UNITS, add_heads, add_links, parts_with_units
from fiberscope.accelerators.values import convert_values
from fiberscope.hw.fibers.arrays import integers_of
from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.hw.fibers.product import ProductRows
from fiberscope.hw.memory.cache import FiberCacheBank
from fiberscope.hw.memory.protocol import TENSOR_SHIFT
from fiberscope.hw.networks.concentrator import Concentrator
from fiberscope.hw.value_type import TYPES
from fiberscope.sim import Component, Kernel
from fiberscope.sim.names import numbered
from fiberscope.workloads.canonical import CsrArray
from fiberscope.workloads.sparse import csr_in_place


class OuterSpace(Composition[OuterSpaceConfiguration]):
    """An OuterSPACE that multiplies A by B.

    Args:
        parameters: configuration of the machine.
        a, b: the operands, in CSR with sorted and distinct coordinates.
        parts: replacements of blocks in ``PARTS``, by the same names.
        kernel: kernel that runs the machine, for checks of the engine; a new kernel by default.

    Raises:
        ConfigurationError: if T may exceed the range of its links, if the sorting unit of the mergers does
            not suit the operands or parameters, or if the type of values cannot represent a value.
    """

    NAME = "outerspace"
    PARTS: ClassVar[Mapping[str, PartFactory]] = {
        **Composition.PARTS,
        "bank": FiberCacheBank,
        "concentrator": Concentrator,
        "linker": Linker,
        "multiplier": MultiplyingElement,
        "merger": MergingElement,
        **UNITS,
    }
    TENSORS = TENSORS

    def __init__(
        self,
        parameters: OuterSpaceConfiguration,
        a: CsrArray,
        b: CsrArray,
        *,
        parts: Mapping[str, PartFactory] | None = None,
        kernel: Kernel | None = None,
    ) -> None:
        self.unit_parts = parts_with_units(parameters, parts or {})
        super().__init__(parameters, {**self.unit_parts, **(parts or {})}, kernel)
        self.shape = (int(a.shape[0]), int(b.shape[1]))
        self.value_type = TYPES[parameters.value]
        a, b = convert_values(self.value_type, a, b)
        by_column = a.tocsc()
        self.a = CompressedRows(by_column.indptr, by_column.indices, by_column.data)
        self.b = CompressedRows(b.indptr, b.indices, b.data)
        block = parameters.l0.block
        dense = (parameters.format.is_stored_dense("A", a), parameters.format.is_stored_dense("B", b))
        self.operands = operands_of((self.a, self.b), dense, block, parameters.format.value)
        self.lists = RowLists(self.a, self.b, self.shape[0], parameters.format.element)
        if "merger" in self.unit_parts:
            check(parameters.merge, parameters.pe.fp_latency, self.lists.max_row_lists)
        self.product = ProductRows(CompressedRows(a.indptr, a.indices, a.data), self.b, self.shape[1])
        self.lengths = integers_of(np.zeros(self.shape[0], np.int64))
        self.tile_ports = parameters.tile.merge_pe + parameters.tile.pe  # ports behind a tile's concentrator
        self._add_control()
        self._add_tiles()
        self._add_second_level()
        self._connect_control()
        self._connect_memory()
        self.build()

    def _add_control(self) -> None:
        """Add the central control processor and the linker."""
        parameters = self.parameters
        tile, multiply, block = parameters.tile, parameters.multiply, parameters.l0.block
        long_first = multiply.order == "long_first"
        self.groups = Groups(self.a.pointers, multiply.assign, tile.count, tile.pe, long_first)
        rows = np.arange(self.shape[0])
        if parameters.merge.order == "long_first":
            rows = np.argsort(-np.asarray(self.lists.row_products), kind="stable")
        self.written = written_arrays(self.shape[0])
        # The first ports at memory are those of the concentrators and the second-level caches
        first = (tile.count + parameters.l1.count) * self.tile_ports
        self.control = self.add(
            CentralControl,
            "control",
            self.groups,
            integers_of(rows),
            self.written,
            port=first + self.tile_ports,
            block_bytes=block,
            overlap=multiply.overlap_pairs,
            # at least the latency of ``store_requests``: the last stores have then left the elements
            reconfiguration=max(parameters.l0.size // block, 1 + parameters.pe.fp_latency),
        )
        slots, self.space = parameters.alloc.slots, self._space()
        self.linker = self.add(
            "linker", "linker", self.lists, self.space, port=first, block_bytes=block, slots=slots
        )
        if "linker" in self.unit_parts:
            spill = self.space.spill_start(block)
            size = self.lists.bytes(self.space.header_bytes, self.space.align)  # enough to spill every node
            add_links(self, self.linker, range(spill, spill + size), self.shape[0])

    def _space(self) -> Space:
        """Return the division of T into static areas and the spill area.

        A static area has ``alpha`` times the estimated bytes of a row: the mean number of elements in a row
        of A, times the bytes of a node with the mean number of elements in a row of B.

        Raises:
            ConfigurationError: if T may exceed the range of its links.
        """
        alloc, t = self.parameters.alloc, self.parameters.t
        nodes = self.a.pointers[self.a.rows] / max(1, self.shape[0])
        products = self.b.pointers[self.b.rows] / max(1, self.b.rows)
        node_bytes = t.header + products * self.lists.element_bytes
        area = int(alloc.alpha * nodes * node_bytes) if alloc.static else 0
        area = -(-area // t.node_align) * t.node_align
        max_bytes = area * self.shape[0] + self.lists.bytes(t.header, t.node_align)
        if max_bytes > t.node_align << LINK_BITS:
            raise ConfigurationError(
                f"alloc.alpha is {alloc.alpha}; T may then take {max_bytes} bytes, and its links reach "
                f"{t.node_align << LINK_BITS}; a larger t.node_align or smaller areas would do"
            )
        return Space(
            base=T << TENSOR_SHIFT,
            area_bytes=area,
            rows=self.shape[0],
            header_bytes=t.header,
            align=t.node_align,
            heads=self.parameters.merger.heads,
        )

    def _add_tiles(self) -> None:
        """Add the tiles: caches and processing elements of both phases, and their networks."""
        names = numbered("tile", self.parameters.tile.count)
        self.local_controls: list[Component] = []
        self.banks: list[list[Component]] = []
        self.private_caches: list[list[Component]] = []
        self.multipliers: list[list[Component]] = []
        self.mergers: list[list[Component]] = []
        self.concentrators: list[Component] = []
        for tile, name in enumerate(names):
            self._add_caches(tile, name)
            self._add_elements(tile, name)
            self._connect_tile(tile, name)

    def _add_caches(self, tile: int, name: str) -> None:
        """Add the first-level caches; their ports at the second level are numbered tile by tile."""
        parameters = self.parameters
        l0, private = parameters.l0.banks, parameters.tile.merge_pe
        port = tile % (parameters.tile.count // parameters.l1.count) * (l0 + private)
        geometry, private_geometry = parameters.l0_bank, parameters.private_cache
        self.banks.append(
            [
                self.add("bank", f"{name}.cache.{bank}", geometry, port + i)
                for i, bank in enumerate(numbered("bank", l0))
            ]
        )
        self.private_caches.append(
            [
                self.add("bank", f"{name}.{pe}.cache", private_geometry, port + l0 + i)
                for i, pe in enumerate(numbered("pe", private))
            ]
        )

    def _add_elements(self, tile: int, name: str) -> None:
        parameters = self.parameters
        elements, merging = parameters.tile.pe, parameters.tile.merge_pe
        multiplier, merger = parameters.multiplier, parameters.merger
        self.local_controls.append(
            self.add(
                LocalControl,
                f"{name}.control",
                self.groups,
                self.a,
                self.b,
                self.operands,
                port=elements,
                block_bytes=parameters.l0.block,
                loads=parameters.pe.outstanding,
                overlap=parameters.multiply.overlap_pairs,
            )
        )
        shared = (multiplier, self.a, self.b, self.operands, self.lists)
        self.multipliers.append(
            [
                self.add("multiplier", f"{name}.{pe}.multiplier", *shared, port=i, number=tile * elements + i)
                for i, pe in enumerate(numbered("pe", elements))
            ]
        )
        first = tile * merging
        pes = [f"{name}.{pe}" for pe in numbered("pe", merging)]
        arguments = (self._merging(merger, first + i) for i in range(merging))
        mergers = [
            self.add("merger", f"{pe}.merger", *element) for pe, element in zip(pes, arguments, strict=True)
        ]
        if "merger" in self.unit_parts:
            for pe, element in zip(pes, mergers, strict=True):
                add_heads(self, pe, element)
        self.mergers.append(mergers)
        self.concentrators.append(self.add("concentrator", f"{name}.uncached", tile * self.tile_ports))

    def _merging(self, specification: MergerSpecification, number: int) -> tuple[object, ...]:
        """Return the arguments of a merging element, with its own regions of Z and of T (spilled heads)."""
        mergers = self.parameters.tile.count * self.parameters.tile.merge_pe
        return specification, self.lists, self.product, self.lengths, *merger_regions(number, mergers)

    def _connect_tile(self, tile: int, name: str) -> None:
        """Connect the elements of a tile with its caches, and with the concentrator for uncached requests."""
        connect, network = self.kernel.connect, self.parameters.network
        wire = {"capacity": network.queue + network.tile_latency, "latency": network.tile_latency}
        mergers, multipliers = self.mergers[tile], self.multipliers[tile]
        loaders = [*multipliers, self.local_controls[tile]]
        self.add_network(
            f"{name}.cache",
            [(loader, "requests", "replies") for loader in loaders],
            self.banks[tile],
            interleave=self.parameters.l0.block,
            latency=network.tile_latency,
        )
        for merger, cache in zip(mergers, self.private_caches[tile], strict=True):
            connect(merger, "requests", cache, "requests", **wire)
            connect(cache, "replies", merger, "replies", **wire)
        concentrator = self.concentrators[tile]
        for i, merger in enumerate(mergers):
            connect(merger, "memory_requests", concentrator, f"inputs[{i}]", capacity=network.queue)
            connect(concentrator, f"outputs[{i}]", merger, "memory_replies", **wire)
        latency = 1 + self.parameters.pe.fp_latency
        pipeline = {"capacity": network.queue + latency, "latency": latency}
        for i, multiplier in enumerate(multipliers, start=len(mergers)):
            connect(multiplier, "store_requests", concentrator, f"inputs[{i}]", **pipeline)

    def _add_second_level(self) -> None:
        """Add the second-level caches, and the network from the first level to each of them."""
        parameters = self.parameters
        tiles = parameters.tile.count // parameters.l1.count
        self.l1: list[Component] = []
        for i, name in enumerate(numbered("group", parameters.l1.count)):
            port = (parameters.tile.count + i) * self.tile_ports
            cache = self.add("bank", f"{name}.cache", parameters.l1_cache, port)
            group_tiles = range(i * tiles, (i + 1) * tiles)
            users = [user for tile in group_tiles for user in (*self.banks[tile], *self.private_caches[tile])]
            self.add_network(
                f"{name}.cache",
                [(user, "memory_requests", "memory_replies") for user in users],
                [cache],
                interleave=parameters.l0.block,
                latency=parameters.network.upper_latency,
            )
            self.l1.append(cache)

    def _connect_control(self) -> None:
        """Connect the control processors, their processing elements, and the linker."""
        connect, parameters = self.kernel.connect, self.parameters
        latency, overlap = parameters.network.control_latency, parameters.multiply.overlap_pairs
        wire = {"capacity": overlap + latency, "latency": latency}
        tasks = {"capacity": parameters.pe.work_queue, "latency": 1}
        for tile, local in enumerate(self.local_controls):
            connect(self.control, f"groups[{tile}]", local, "groups", **wire)
            connect(local, "finished", self.control, f"finished[{tile}]", **wire)
            for i, multiplier in enumerate(self.multipliers[tile]):
                connect(local, f"tasks[{i}]", multiplier, "tasks", **tasks)
                connect(multiplier, "done", local, f"done[{i}]", **tasks)
        for i, merger in enumerate(self._all(self.mergers)):
            connect(self.control, f"rows[{i}]", merger, "rows", capacity=1, latency=latency)
        multipliers = self._all(self.multipliers)
        users = [(multiplier, "node_requests", "node_places") for multiplier in multipliers]
        self.add_network("link", users, [self.linker], interleave=1, latency=latency)

    def _connect_memory(self) -> None:
        users: list[User] = [(concentrator, "requests", "replies") for concentrator in self.concentrators]
        users += [(user, "memory_requests", "memory_replies") for user in (*self.l1, self.linker)]
        users.append((self.control, "requests", ""))
        self.add_memory(users, self.parameters.l0.block, self.tile_ports)

    @staticmethod
    def _all(parts: list[list[Component]]) -> list[Component]:
        """Return the parts of all tiles."""
        return [part for tile in parts for part in tile]

    def result(self) -> CsrArray:
        """Return Z as memory holds it after a complete run."""
        return csr_in_place(*self.product.gather(np.asarray(self.lengths)), self.shape)

    def operations(self) -> dict[str, int]:
        """Return the number of multiplications, additions, swaps, and other events of both phases."""
        multipliers, mergers = self._all(self.multipliers), self._all(self.mergers)
        return {
            "multiply": count("multiply", *multipliers),
            "add": count("add", *mergers),
            "swap": count("swaps", *mergers),
            "pairs": count("pairs", *self.local_controls),
            "nodes": count("nodes", *multipliers),
            "node_blocks": count("blocks", *multipliers),
            "rows_merged": count("rows_merged", *mergers),
            "spilled_nodes": count("spilled", self.linker),
        }

    def layouts(self) -> Sequence[Layout]:
        """Return the layouts of the operands, and of all arrays that the machine writes."""
        operands = operand_layouts(self.operands, (self.a, self.b))
        block, mergers = self.parameters.l0.block, len(self._all(self.mergers))
        return [*operands, *written_layouts(self.space.base, block, *self.written, mergers)]

    def useful_bytes(self) -> dict[str, tuple[int, int]]:
        """Return the useful bytes read and written by tensor; each used row of B counts once."""
        multipliers, mergers = self._all(self.multipliers), self._all(self.mergers)
        header, written = self.parameters.t.header, self.control.array_bytes()
        element = self.parameters.format.element
        nodes, linked = count("nodes", *multipliers), count("linked", self.linker)
        products, rows = count("multiply", *multipliers), count("heads_read", *mergers)
        merged, headers = count("elements", *mergers), count("headers", *mergers)
        pointers = count("a_pointer_bytes", *self.local_controls)
        return {
            "A": (pointers + self.operands[0].data_bytes(count("elements", *multipliers), 0), 0),
            "B": (count("b_bytes", *self.local_controls), 0),
            "T": (merged * element + headers * header, products * element + nodes * header),
            "Z": (0, count("emitted", *mergers) * element + written[1]),
            "heads": ((linked + rows) * INDEX_BYTES, linked * INDEX_BYTES + written[0]),
        }

    def traffic_minimum_bytes(self) -> int:
        """Return the bytes of A, of rows of B that meet an element of A, and of Z as written, each once."""
        used_columns = np.diff(np.asarray(self.a.pointers)) > 0
        selected = int(np.diff(np.asarray(self.b.pointers))[used_columns].sum())
        # Each row of Z, and each fiber of A and B that is visited, counts a pointer
        visited = int(used_columns.sum()) if self.parameters.multiply.assign == "flat" else self.a.rows
        operands = zip(self.operands, (self.a.pointers[self.a.rows], selected), strict=True)
        operand_bytes = sum(layout.data_bytes(elements, visited) for layout, elements in operands)
        written = int(np.sum(self.lengths)) * self.parameters.format.element
        return operand_bytes + written + self.shape[0] * INDEX_BYTES

    def chosen(self) -> tuple[str, ...]:
        """Return a note if operands are stored as values alone."""
        return full_operand_notes(
            {name: operand.index_bytes == 0 for name, operand in zip("AB", self.operands, strict=True)}
        )

    def explained(self) -> str:
        """Describe the phases, and the waits of a merging element; empty until the merge phase has ended."""
        ends = (count(f"{phase}_at", self.control) for phase in ("multiplied", "reconfigured", "merged"))
        multiplied, reconfigured, merged = ends
        if merged == 0:
            return ""
        statistics = self.kernel.statistics()
        mergers = self._all(self.mergers)
        stall_cycles = sum(statistics[merger.name].input_stall.get("memory_replies", 0) for merger in mergers)
        accesses = count("elements", *mergers) + count("headers", *mergers)
        nanoseconds = stall_cycles / max(1, accesses) * 10**9 / self.parameters.clock
        return (
            f"The multiply phase takes {multiplied:,} cycles, the merge phase {merged - reconfigured:,}; "
            f"an access of T that a merger has to wait for takes it {nanoseconds:.0f} ns."
        )

    def progress(self) -> tuple[int, int]:
        """Return the products made plus the products loaded to merge, and twice the number of products."""
        done = count("multiply", *self._all(self.multipliers)) + count("elements", *self._all(self.mergers))
        return done, 2 * self.lists.first[len(self.lists.addresses)]
