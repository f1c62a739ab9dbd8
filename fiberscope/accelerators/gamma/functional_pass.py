"""The functional pass: exact work of each row of A, and the misses of a FiberCache without timing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fiberscope.accelerators.gamma.configuration import GammaConfiguration
from fiberscope.accelerators.gamma.functional import FunctionalRun
from fiberscope.accelerators.gamma.occupancy import PartialOccupancy
from fiberscope.accelerators.gamma.preprocessing import preprocess
from fiberscope.accelerators.gamma.row_work import RowWork, TreeRows
from fiberscope.accelerators.machine import Traffic
from fiberscope.base.sharing import shared
from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.hw.fibers.partials import PartialStore
from fiberscope.hw.memory.functional_cache import CacheState, FunctionalCache
from fiberscope.workloads.canonical import CsrArray, Integers


class FunctionalPass:
    """The work of A times B on a Gamma, counted without simulating cycles.

    A row is a row or subrow of A after preprocessing, in the order of execution. ``merged``, ``outputs`` and
    the requests to the FiberCache are exact. Misses are approximate: lines arrive in the moment of their
    request, and a task takes one cycle for each merged element.

    Args:
        parameters: the parameters of the machine.
        a, b: the operands, CSR with sorted and distinct coordinates.

    Attributes:
        a, b: the operands; A is preprocessed.
        rows, columns: number of rows and columns of the product.
        a_sizes, b_sizes: bytes of lines, elements and pointers of A and of B.
        preprocessed: A with the number of the product row of each row.
        trees: the rows of A that are task trees.
        work: the counts of all rows and tasks.
    """

    def __init__(self, parameters: GammaConfiguration, a: CsrArray, b: CsrArray) -> None:
        self.parameters = parameters
        self.rows, self.columns = int(a.shape[0]), int(b.shape[1])
        operand = CompressedRows(a.indptr, a.indices, a.data)
        self.b = operand if b is a else CompressedRows(b.indptr, b.indices, b.data)
        self.a_sizes, self.b_sizes = parameters.operand_sizes("A", a), parameters.operand_sizes("B", b)
        self.preprocessed = preprocess(operand, self.b, parameters, self.b_sizes.element_bytes)
        self.a = self.preprocessed.a
        self.trees = TreeRows(self.a, self.preprocessed.product_rows, parameters.pe.radix)
        self.work = RowWork(self.a, self.b, self.columns, self.trees)
        # The counts depend on the positions of nonzeros, not on values. The parameters of the preprocessing
        # need not be in the key, since its result is.
        content = (self.a.pointers, self.a.coordinates, self.preprocessed.product_rows, self.b.pointers)
        digests = map(_digest, (*content, self.b.coordinates))
        self._key = ("gamma", self.columns, parameters.pe.radix, *digests)
        counts = shared(("row work", *self._key), self._count, lambda arrays: sum(map(_bytes_of, arrays)))
        self.work.merged, self.work.outputs, self.work.task_merged, self.work.task_outputs = counts

    def _count(self) -> tuple[Integers, ...]:
        """Count merged elements and output elements, by row of A and by task of a tree."""
        work = self.work
        work.count_short_rows(0, self.a.rows)
        work.count_trees()
        return work.merged, work.outputs, work.task_merged, work.task_outputs

    @property
    def merged(self) -> Integers:
        """Elements that leave a merger, for each row of A; the merges of a split row are at its last subrow.

        An element of a partial fiber counts again in each merge.
        """
        return np.asarray(self.work.merged)

    @property
    def outputs(self) -> Integers:
        """Nonzeros of Z, for each row of A; the nonzeros of a split row are counted at its last subrow."""
        return np.asarray(self.work.outputs)

    @property
    def task_lengths(self) -> Integers:
        """Merged elements of each task: first the rows that are one task each, then the tasks of trees."""
        short = self.merged[np.asarray(self.trees.is_tree_row) == 0]
        return np.concatenate([short, np.asarray(self.work.task_merged)])

    def run_cache(self, saved_rows: Iterable[int] = ()) -> tuple[FunctionalRun, dict[int, CacheState]]:
        """Run all tasks through the FiberCache.

        Within ``fiberscope.base.sharing``, the result of an earlier equal run is returned instead.

        Args:
            saved_rows: rows of A; the state of the cache before the dispatch of each of these rows is saved.

        Returns:
            The run, and the saved states by row.
        """
        parameters, rows = self.parameters, sorted(saved_rows)
        settings = (parameters.fibercache, parameters.sizes, self.b_sizes, parameters.pe)
        key = ("cache", *self._key, *map(repr, settings), *rows)
        return shared(key, lambda: self._run_cache(rows), _bytes_of_run)

    def traffic(self, run: FunctionalRun, bytes_a_line: float | None = None) -> dict[str, Traffic]:
        """Return the traffic of each tensor in bytes; the row pointers of a tensor count as its own.

        A and Z take the whole lines that their elements and their pointers fill. The processing elements
        write separate parts of Z. The part-filled last line of each part is not counted.

        Args:
            run: run of this pass.
            bytes_a_line: bytes that a line of B or of a partial fiber counts; by default the size of a line.
        """
        sizes, a_sizes, line = self.parameters.sizes, self.a_sizes, self.parameters.fibercache.line
        nonzeros, rows = int(self.a.pointers[self.a.rows]), self.a.rows
        reads, writes = run.partial_reads, run.cache.write_backs
        # Only partial fibers are written to the cache, and whatever else it reads from memory is B.
        b_lines = run.cache.traffic_lines() - reads - writes

        def whole_lines(count: int, size: int) -> int:
            return -(-count * size // line) * line

        def scaled(lines: int) -> int:
            return round(lines * (line if bytes_a_line is None else bytes_a_line))

        outputs = int(self.outputs.sum())
        return {
            "A": Traffic(
                whole_lines(nonzeros, a_sizes.element_bytes) + whole_lines(rows + 1, a_sizes.pointer_bytes), 0
            ),
            "B": Traffic(scaled(b_lines), 0),
            "partial": Traffic(scaled(reads), scaled(writes)),
            "Z": Traffic(
                0, whole_lines(outputs, sizes.element_bytes) + whole_lines(self.rows + 1, sizes.pointer_bytes)
            ),
        }

    def _run_cache(self, saved_rows: Sequence[int]) -> tuple[FunctionalRun, dict[int, CacheState]]:
        """Run as ``run_cache``, without a look at shared results; ``saved_rows`` are in ascending order."""
        parameters, missing = self.parameters, np.asarray(self.trees.table.missing)
        before = missing.copy()  # the run uses up these counts
        specification = parameters.fibercache.specification()
        sizes, pe = parameters.sizes, parameters.pe
        lines = parameters.fibercache.size // parameters.fibercache.line
        run = FunctionalRun(
            self.work,
            FunctionalCache(specification),
            PartialStore(sizes.line_bytes, sizes.element_bytes),
            PartialOccupancy(self.trees.table, self.trees.nonzeros, self.b, self.columns, lines, sizes),
            elements=pe.count,
            most_tasks=1 + pe.task_queue,  # the task that runs, and the tasks in the queue
            most_partial_tasks=1 + pe.partial_queue,
            # Each of the ``radix`` inputs has a buffer of ``buffer_lines`` lines, here filled with B.
            buffered=max(1, pe.radix * pe.buffer_lines * sizes.line_bytes // self.b_sizes.element_bytes),
            sizes=sizes,
            b_sizes=self.b_sizes,
            fetching=pe.prefetch,
        )
        states, next_row = {}, 0
        for row in saved_rows:
            run.run_rows(next_row, row)  # tasks of earlier rows may still be in flight at ``row``
            states[row], next_row = run.cache.state(), row
        run.run_rows(next_row, self.a.rows)
        run.finish()
        missing[:] = before
        return run, states


def _digest(numbers: Any) -> str:  # noqa: ANN401  (an array, or a view of an array)
    return hashlib.blake2b(np.ascontiguousarray(numbers).data, digest_size=16).hexdigest()


def _bytes_of(numbers: Any) -> int:  # noqa: ANN401  (as above)
    return int(np.asarray(numbers).nbytes)


def _bytes_of_run(result: tuple[FunctionalRun, Mapping[int, CacheState]]) -> int:
    """Return the bytes of the host's memory that a run and its states take, without those of the operands."""
    run, states = result
    work, table = run.work, run.table
    arrays = (run.lines, work.merged, work.outputs, table.inputs, table.missing, table.output_starts)
    return sum(map(_bytes_of, arrays)) + sum(
        state.lines.nbytes + state.reuse.nbytes for state in states.values()
    )
