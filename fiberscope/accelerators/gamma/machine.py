"""The Gamma machine: scheduler, processing elements, FiberCache, memory and the networks between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from fiberscope.accelerators.composition import Composition, PartFactory, count
from fiberscope.accelerators.full_operands import full_operand_notes
from fiberscope.accelerators.gamma.configuration import GammaConfiguration
from fiberscope.accelerators.gamma.element import ProcessingElement, users
from fiberscope.accelerators.gamma.layout import (
    A_BASE,
    A_POINTERS_BASE,
    B_BASE,
    B_POINTERS_BASE,
    PARTIAL_BASE,
    TENSORS,
    Z_BASE,
    Z_POINTERS_BASE,
)
from fiberscope.accelerators.gamma.occupancy import PartialOccupancy
from fiberscope.accelerators.gamma.prefetcher import Prefetcher
from fiberscope.accelerators.gamma.preprocessing import preprocess
from fiberscope.accelerators.gamma.scheduler import Scheduler
from fiberscope.accelerators.gamma.tasks import TaskTable
from fiberscope.accelerators.layout import Layout, Role, RowPlaces
from fiberscope.accelerators.values import convert_values
from fiberscope.hw.fibers.arithmetic import Accumulator, Multiplier
from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.hw.fibers.merge import HighRadixMerger
from fiberscope.hw.fibers.pages import PageAllocator
from fiberscope.hw.fibers.partials import PartialStore
from fiberscope.hw.fibers.product import ProductRows
from fiberscope.hw.memory.cache import FiberCacheBank
from fiberscope.hw.memory.protocol import TENSOR_SHIFT
from fiberscope.hw.value_type import TYPES
from fiberscope.sim import Component, Kernel
from fiberscope.sim.assembly import end, put
from fiberscope.sim.lookahead import LookaheadKernel
from fiberscope.sim.names import numbered
from fiberscope.workloads.canonical import CsrArray, Integers
from fiberscope.workloads.sparse import csr_in_place


class Gamma(Composition[GammaConfiguration]):
    """A Gamma machine with loaded operands; computes Z = A B.

    Args:
        parameters: the configuration.
        a, b: the operands, CSR with sorted and distinct coordinates.
        parts: replacements of entries of ``PARTS``, by name.
        kernel: kernel that runs the machine; by default a new ``LookaheadKernel``. Tests pass another one.
    """

    NAME = "gamma"
    PARTS: ClassVar[Mapping[str, PartFactory]] = {
        **Composition.PARTS,
        "merger": HighRadixMerger,
        "multiplier": Multiplier,
        "accumulator": Accumulator,
        "bank": FiberCacheBank,
        "prefetcher": Prefetcher,
        "page_allocator": PageAllocator,
        "scheduler": Scheduler,
        "pe": ProcessingElement,
    }
    TENSORS = TENSORS

    def __init__(
        self,
        parameters: GammaConfiguration,
        a: CsrArray,
        b: CsrArray,
        *,
        parts: Mapping[str, PartFactory] | None = None,
        kernel: Kernel | None = None,
    ) -> None:
        super().__init__(parameters, parts, kernel or LookaheadKernel())
        self.shape = (int(a.shape[0]), int(b.shape[1]))
        self.value_type = TYPES[parameters.value]
        a, b = convert_values(self.value_type, a, b)
        rows = CompressedRows(a.indptr, a.indices, a.data)
        # Z = A A needs only one copy of the operand.
        self.b = rows if b is a else CompressedRows(b.indptr, b.indices, b.data)
        self.a_sizes, self.b_sizes = parameters.operand_sizes("A", a), parameters.operand_sizes("B", b)
        self.preprocessed = preprocess(rows, self.b, parameters, self.b_sizes.element_bytes)
        self.a = self.preprocessed.a
        self.table = TaskTable(
            np.asarray(self.a.pointers), parameters.pe.radix, self.preprocessed.product_rows
        )
        self.partials = PartialStore(parameters.fibercache.line, parameters.format.element)
        self.occupancy = PartialOccupancy(
            self.table,
            self.a,
            self.b,
            self.shape[1],
            parameters.fibercache.size // parameters.fibercache.line,
            parameters.sizes,
        )
        # ``rows`` is A before preprocessing, and ``self.a`` the A that the machine reads.
        self.product = ProductRows(rows, self.b, self.shape[1], self.preprocessed.product_order)
        self.scheduler = self._add_scheduler()
        names = numbered("pe", parameters.pe.count)
        self.elements = [self._add_element(name, i) for i, name in enumerate(names)]
        self._add_cache()
        self._connect_tasks()
        memory_users = [(unit, "memory_requests", "memory_replies") for unit in (*self.banks, self.scheduler)]
        self.add_memory(memory_users, parameters.fibercache.line)
        self.build()

    def _add_scheduler(self) -> Component:
        """Add the scheduler, which needs the task table and the occupancy."""
        parameters = self.parameters
        return self.add(
            "scheduler",
            "scheduler",
            self.table,
            self.a,
            self.partials,
            self.occupancy,
            # Port at the network to memory: the ports before it belong to the banks.
            parameters.fibercache.banks,
            stream_lines=parameters.scheduler.stream_lines,
            # one task in progress, and those in the queue
            most_tasks=1 + parameters.pe.task_queue,
            most_partial_tasks=1 + parameters.pe.partial_queue,
            sizes=parameters.sizes,
            a_sizes=self.a_sizes,
        )

    def _add_element(self, name: str, number: int) -> Component:
        element = self.parts["pe"](f"{self.NAME}.{name}", self, number)
        put(element, self.kernel)
        return element

    def _connect_tasks(self) -> None:
        """Create the page allocator, and connect the channels of tasks, completions and pages of Z."""
        connect, scheduler = self.kernel.connect, self.parameters.scheduler
        pages = self.add("page_allocator", "pages")
        for i, element in enumerate(self.elements):
            connect(self.scheduler, f"tasks[{i}]", *end(element, "tasks"), capacity=scheduler.task_queue)
            connect(
                *end(element, "completions"),
                self.scheduler,
                f"completions[{i}]",
                capacity=scheduler.completion_queue,
            )
            connect(
                *end(element, "page_requests"), pages, f"page_requests[{i}]", capacity=scheduler.page_queue
            )
            connect(pages, f"pages[{i}]", *end(element, "pages"), capacity=scheduler.page_queue)

    def _add_cache(self) -> None:
        """Create the FiberCache banks and the network between the processing elements and the banks."""
        cache = self.parameters.fibercache
        names = numbered("fibercache.bank", cache.banks)
        self.banks = [self.add("bank", name, cache.specification(), i) for i, name in enumerate(names)]
        element_users = [user for element in self.elements for user in users(element)]
        latency = self.parameters.network.pe_latency
        self.add_network(
            "pe",
            element_users,
            self.banks,
            interleave=cache.line,
            latency=latency,
            reply_latency=cache.latency,
        )

    def result(self) -> CsrArray:
        """Return Z as the writers stored it, with its rows in the order of A before preprocessing.

        Call this only after the run: the rows are moved, and no row can be written afterwards.
        """
        return csr_in_place(*self.product.gather(np.asarray(self.table.row_lengths)), self.shape)

    def operations(self) -> dict[str, int]:
        """Return the numbers of multiplications, additions, merged elements and completed tasks.

        ``add`` counts the additions of products and of partial sums. ``merge`` counts the elements that
        passed a merger, and ``partial_merge`` those among them that came from partial fibers.
        """
        multiplies = self._count("multiply", "multiplier")
        merged = self._count("merged_elements", "merger")
        return {
            "multiply": multiplies,
            "add": self._count("add", "accumulator"),
            "merge": merged,
            # Merged elements of B are multiplied, those of partial fibers are not: they are products already.
            "partial_merge": merged - multiplies,
            "tasks": self._completed(),
        }

    def _count(self, counter: str, unit: str) -> int:
        """Return a counter summed over a unit of all processing elements.

        A processing element that replaces its units holds the counter itself.
        """
        return count(counter, *(getattr(element, unit, element) for element in self.elements))

    def layouts(self) -> Sequence[Layout]:
        """Return the layouts of all tensors.

        Operands and row pointers are arrays of known size. Partial fibers and Z have address ranges of their
        own, whose use is known only after the run.
        """
        selected, b_sizes = self._selected(), self.b_sizes
        rows_of_b = RowPlaces(B_BASE, np.diff(np.asarray(self.b.pointers)), b_sizes.element_bytes)
        # A row needs its own pointer and the next one.
        pointer_pairs = np.stack([selected, selected + 2], axis=1) * b_sizes.pointer_bytes
        space, whole, pointer = 1 << TENSOR_SHIFT, Layout.whole, self.parameters.format.pointer
        a_bytes = int(self.a.pointers[self.a.rows]) * self.a_sizes.element_bytes
        return (
            whole(A_BASE, a_bytes, Role.OPERAND),
            whole(A_POINTERS_BASE, (self.a.rows + 1) * self.a_sizes.pointer_bytes, Role.OPERAND),
            *rows_of_b.layouts(selected),
            Layout(B_POINTERS_BASE, (self.b.rows + 1) * b_sizes.pointer_bytes, Role.OPERAND, pointer_pairs),
            Layout(PARTIAL_BASE, space, Role.WORK),
            Layout(Z_BASE, space, Role.PRODUCT),
            whole(Z_POINTERS_BASE, (self.shape[0] + 1) * pointer, Role.PRODUCT),
        )

    def traffic_minimum_bytes(self) -> int:
        """Return the bytes to move A, the rows of B that A selects and Z once.

        Each nonzero counts an element, and each row a pointer. Z counts the nonzeros written so far.
        """
        selected, rows = self._selected(), self.shape[0]
        b_element_count = int(np.diff(np.asarray(self.b.pointers))[selected].sum())
        tensors = (
            (self.a.pointers[self.a.rows], rows, self.a_sizes),
            (b_element_count, len(selected), self.b_sizes),
            (int(np.sum(self.table.row_lengths)), rows, self.parameters.sizes),
        )
        return sum(
            nonzeros * sizes.element_bytes + rows * sizes.pointer_bytes for nonzeros, rows, sizes in tensors
        )

    def chosen(self) -> tuple[str, ...]:
        """Return a note if operands are stored as values alone."""
        sizes = {"A": self.a_sizes, "B": self.b_sizes}
        return full_operand_notes({name: each != self.parameters.sizes for name, each in sizes.items()})

    def _selected(self) -> Integers:
        """Return the rows of B that A selects, in ascending order."""
        # ``np.unique`` would import masked arrays, which takes time.
        return np.flatnonzero(np.bincount(np.asarray(self.a.coordinates)))

    def progress(self) -> tuple[int, int]:
        """Return the number of completed tasks and the number of all tasks."""
        return self._completed(), self.table.count

    def _completed(self) -> int:
        return count("tasks", self.scheduler)
