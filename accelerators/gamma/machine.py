"""Gamma, composed: scheduler, processing elements, FiberCache, memory, and the networks between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from accelerators.gamma.configuration import GammaConfiguration
from accelerators.gamma.layout import TENSORS
from accelerators.gamma.pages import PageAllocator
from accelerators.gamma.prefetcher import Prefetcher
from accelerators.gamma.product import ProductRows
from accelerators.gamma.reader import FiberReader
from accelerators.gamma.reorder import affinity_order, window_rows
from accelerators.gamma.scheduler import Scheduler
from accelerators.gamma.tasks import CompressedRows, Integers, PartialStore, TaskTable
from accelerators.gamma.writer import FiberWriter
from accelerators.machine import CsrArray, MemoryUse, Traffic, count
from accelerators.memory import add_channels, memory_use, traffic
from accelerators.network import connect_memory
from hw.arithmetic import Accumulator, Multiplier
from hw.cache import FiberCacheBank
from hw.merge import HighRadixMerger
from hw.network import Crossbar
from sim import Component, Kernel

# The blocks that others can stand in for: made with the same arguments, known by their ports and counters.
PARTS: Mapping[str, Callable[..., Component]] = {
    "merger": HighRadixMerger,
    "multiplier": Multiplier,
    "accumulator": Accumulator,
    "bank": FiberCacheBank,
    "crossbar": Crossbar,
}
UNITS = 3  # ports of a processing element at the FiberCache's network: prefetcher, reader, writer


class ProcessingElement:
    """One processing element: prefetcher, fiber buffers, merger, multiplier, accumulator and writer."""

    def __init__(self, machine: Gamma, number: int) -> None:
        width = len(str(machine.parameters.pe.count - 1))
        name = f"gamma.pe{number:0{width}d}"
        self.parameters = machine.parameters
        self.kernel = kernel = machine.kernel
        table, sizes, port = machine.table, machine.parameters.sizes, UNITS * number
        parts = machine.parts
        parameters = machine.parameters.pe
        self.prefetcher = kernel.add(
            Prefetcher(
                f"{name}.prefetcher",
                table,
                machine.a,
                machine.b,
                port,
                sizes=sizes,
                fetching=parameters.prefetch,
            )
        )
        self.reader = kernel.add(
            FiberReader(
                f"{name}.reader",
                table,
                machine.b,
                machine.partials,
                port + 1,
                buffer_lines=parameters.buffer_lines,
                sizes=sizes,
            )
        )
        self.merger = kernel.add(parts["merger"](f"{name}.merger", parameters.radix))
        self.multiplier = kernel.add(parts["multiplier"](f"{name}.multiplier", machine.a.values))
        self.accumulator = kernel.add(parts["accumulator"](f"{name}.accumulator"))
        self.writer = kernel.add(
            FiberWriter(
                f"{name}.writer",
                table,
                machine.partials,
                machine.product,
                number,
                port + 2,
                sizes=sizes,
                page_bytes=machine.parameters.scheduler.output_page,
                through_cache=machine.parameters.scheduler.output == "cache",
            )
        )
        self._connect()

    def _connect(self) -> None:
        """The pipeline within; a channel holds what is under way in it and two more."""
        pe, sizes = self.parameters.pe, self.parameters.sizes
        connect = self.kernel.connect
        connect(self.prefetcher, "prefetched", self.reader, "tasks", capacity=pe.task_queue)
        connect(self.reader, "merge_tasks", self.merger, "tasks", capacity=2)
        connect(self.reader, "output_tasks", self.writer, "output_tasks", capacity=4)
        way = pe.buffer_lines * (
            sizes.line_bytes // sizes.element_bytes + 2
        )  # elements and the stop of each line
        for i in range(pe.radix):
            connect(self.reader, f"ways[{i}]", self.merger, f"ways[{i}]", capacity=way)
        for producer, output, consumer, port, latency in (
            (self.merger, "merged", self.multiplier, "operands", pe.merger_latency),
            (self.multiplier, "products", self.accumulator, "products", pe.multiplier_latency),
            (self.accumulator, "sums", self.writer, "elements", pe.accumulator_latency),
        ):
            connect(producer, output, consumer, port, capacity=latency + 2, latency=latency)

    def ports(self) -> Iterator[Component]:
        """The units with a port at the FiberCache's network, in the order of their numbers."""
        yield from (self.prefetcher, self.reader, self.writer)


class Gamma:
    """A Gamma with its operands loaded; runs A times B.

    Args:
        parameters: the configuration.
        a, b: the operands, CSR with sorted and distinct coordinates.
        parts: blocks to take in the place of those in ``PARTS``, by the same names.
        kernel: what runs it, for checks of the engine's laws; a kernel of its own by default.
    """

    def __init__(
        self,
        parameters: GammaConfiguration,
        a: CsrArray,
        b: CsrArray,
        *,
        parts: Mapping[str, Callable[..., Component]] = PARTS,
        kernel: Kernel | None = None,
    ) -> None:
        self.parameters = parameters
        self.parts = {**PARTS, **parts}
        self.shape = (int(a.shape[0]), int(b.shape[1]))
        self.a = _rows(a)
        self.b = self.a if b is a else _rows(b)
        self.order = self._order()
        if parameters.reorder != "none":
            self.a = _rows(a[self.order])
        self.table = TaskTable(np.asarray(self.a.pointers), parameters.pe.radix)
        self.partials = PartialStore(parameters.fibercache.line, parameters.format.element)
        self.product = ProductRows(self.a, self.b, self.shape[1])
        self._product: CsrArray | None = None
        self.kernel = kernel or Kernel()
        self.kernel.clock("core", parameters.clock)
        self.scheduler = self._add_scheduler()
        self.elements = [ProcessingElement(self, i) for i in range(parameters.pe.count)]
        self.banks = self._add_banks()
        self.channels = add_channels(
            self.kernel, "gamma.memory", parameters.memory, parameters.fibercache.line
        )
        self._connect_tasks()
        self._connect_cache()
        self._connect_memory()
        self.kernel.build()
        self.operations()  # finds a part without the counters that a report needs now, not after a long run

    def _order(self) -> Integers:
        """The rows of A in the order in which they run."""
        if self.parameters.reorder == "none":
            return np.arange(self.a.rows)
        cache, element = self.parameters.fibercache.size, self.parameters.format.element
        return affinity_order(self.a, self.b.rows, window_rows(self.a, self.b, cache, element))

    def _add_scheduler(self) -> Scheduler:
        parameters = self.parameters
        return self.kernel.add(
            Scheduler(
                "gamma.scheduler",
                self.table,
                self.a,
                self.b,
                self.shape[1],
                self.partials,
                parameters.fibercache.banks,
                stream_lines=parameters.scheduler.stream_lines,
                most_tasks=1 + parameters.pe.task_queue,
                most_partial_tasks=1 + parameters.pe.partial_queue,
                sizes=parameters.sizes,
            )
        )

    def _add_banks(self) -> list[Component]:
        specification = self.parameters.fibercache.specification()
        width = len(str(specification.banks - 1))
        return [
            self.kernel.add(self.parts["bank"](f"gamma.fibercache.bank{i:0{width}d}", specification, i))
            for i in range(specification.banks)
        ]

    def _crossbar(self, name: str, interleave_bytes: int = 0) -> Component:
        return self.kernel.add(self.parts["crossbar"](f"gamma.network.{name}", interleave_bytes))

    def _connect_tasks(self) -> None:
        connect = self.kernel.connect
        pages = self.kernel.add(PageAllocator("gamma.pages"))
        for i, element in enumerate(self.elements):
            connect(self.scheduler, f"tasks[{i}]", element.prefetcher, "tasks", capacity=1)
            connect(element.writer, "completions", self.scheduler, f"completions[{i}]", capacity=4)
            connect(element.writer, "page_requests", pages, f"page_requests[{i}]", capacity=1)
            connect(pages, f"pages[{i}]", element.writer, "pages", capacity=1)

    def _connect_cache(self) -> None:
        """The two crossbars between processing elements and FiberCache."""
        network, line = self.parameters.network, self.parameters.fibercache.line
        connect = self.kernel.connect
        requests = self._crossbar("pe_requests", line)
        replies = self._crossbar("pe_replies")
        units = [unit for element in self.elements for unit in element.ports()]
        for i, unit in enumerate(units):
            connect(unit, "requests", requests, f"inputs[{i}]", capacity=network.queue)
            connect(
                replies,
                f"outputs[{i}]",
                unit,
                "replies",
                capacity=network.queue + network.pe_latency,
                latency=network.pe_latency,
            )
        latency = self.parameters.fibercache.latency
        for i, bank in enumerate(self.banks):
            connect(
                requests,
                f"outputs[{i}]",
                bank,
                "requests",
                capacity=network.queue + network.pe_latency,
                latency=network.pe_latency,
            )
            connect(
                bank, "replies", replies, f"inputs[{i}]", capacity=network.queue + latency, latency=latency
            )

    def _connect_memory(self) -> None:
        """The two crossbars between FiberCache, scheduler and memory."""
        users = [(unit, "memory_requests", "memory_replies") for unit in (*self.banks, self.scheduler)]
        requests = self._crossbar("memory_requests", self.parameters.memory.interleave)
        crossbars = (requests, self._crossbar("memory_replies"))
        connect_memory(self.kernel, self.parameters.network, users, crossbars, self.channels)

    def result(self) -> CsrArray:
        """Z as the writers stored it, its rows in the order of A as it was given."""
        if self._product is None:
            product = self.product.gather(np.asarray(self.table.row_lengths))
            ordered = self.parameters.reorder == "none"
            self._product = product if ordered else product[np.argsort(self.order)]
        return self._product

    def operations(self) -> dict[str, int]:
        """Multiplies, additions of products and merged elements.

        ``add`` counts additions into elements of Z, whether of products or of partial sums; ``merge`` the
        elements that passed a merger, ``partial_merge`` those of them that came from partial fibers.
        """
        multiplies = sum(count(element.multiplier, "multiply") for element in self.elements)
        merged = sum(count(element.merger, "merged_elements") for element in self.elements)
        return {
            "multiply": multiplies,
            "add": sum(count(element.accumulator, "add") for element in self.elements),
            "merge": merged,
            "partial_merge": merged - multiplies,
            "tasks": self.scheduler.completed,
        }

    def traffic(self) -> dict[str, Traffic]:
        """Bytes of A, B, partial fibers and Z, each with its row pointers."""
        return traffic(self.channels, TENSORS)

    def traffic_minimum_bytes(self) -> int:
        """A, the rows of B that A selects and Z, each once: an element a nonzero, a pointer a row.

        Z's nonzeros are those written so far: all of them once the run is complete.
        """
        selected = np.unique(np.asarray(self.a.coordinates))
        lengths = np.diff(np.asarray(self.b.pointers))[selected]
        a_nonzeros = self.a.pointers[self.a.rows]
        nonzeros = int(a_nonzeros + lengths.sum() + np.sum(self.table.row_lengths))
        rows = 2 * self.a.rows + len(selected)
        return nonzeros * self.parameters.format.element + rows * self.parameters.format.pointer

    def memory(self) -> MemoryUse:
        """Row hits, misses and conflicts of all channels."""
        return memory_use(self.channels, self.parameters.memory)

    def progress(self) -> tuple[int, int]:
        """Tasks completed, and tasks."""
        return self.scheduler.completed, self.table.count


def _rows(matrix: CsrArray) -> CompressedRows:
    return CompressedRows(
        matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data.astype(np.float64)
    )
