"""Sampled runs of ExTensor: exact work of all pairs of tiles, and simulated windows of successive pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fiberscope.accelerators.composition import PartFactory
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.extensor.configuration import SCANNERS, ExTensorConfiguration
from fiberscope.accelerators.extensor.loader import Loader
from fiberscope.accelerators.extensor.machine import ExTensor
from fiberscope.accelerators.extensor.merging import merge_elements
from fiberscope.accelerators.extensor.operand import least_bytes
from fiberscope.accelerators.extensor.pair_work import PairWork, patterns
from fiberscope.accelerators.extensor.product import StoredProduct
from fiberscope.accelerators.extensor.sequencer import Sequencer
from fiberscope.accelerators.extensor.tiles import Tiling
from fiberscope.accelerators.machine import Traffic
from fiberscope.accelerators.marked_run import Counts, run_to_end
from fiberscope.accelerators.sampling import Estimated, Rounds, Sample, Sampled, estimate_run, scale_memory
from fiberscope.accelerators.values import convert_values
from fiberscope.accelerators.windows import FloatArray, cut_windows
from fiberscope.hw.value_type import TYPES
from fiberscope.workloads.canonical import CsrArray, Integers, Values
from fiberscope.workloads.sparse import sparse
from fiberscope.workloads.verification import Comparison, Rounding, compare_entries

WINDOW_CYCLES = 4000  # smallest default length of a window, in predicted cycles
MIN_AVERAGE_PAIRS = 4  # smallest default length of a window, in average pairs; the buffer holds two pairs
REFERENCE = "scipy, in the pairs of tiles that were simulated"


class PrefilledProduct(StoredProduct):
    """Z in memory with the elements that a whole run has written before each merge.

    The values of elements that only omitted pairs write are 0. The sums of earlier simulated pairs stay.

    Args:
        keys_by_row: for each M1 and N2, the sorted keys that memory holds before each of the following
            merges. Each merge removes the first array of its list.
        arguments: arguments of ``StoredProduct``.
    """

    def __init__(self, keys_by_row: Mapping[tuple[int, int], list[Integers]], *arguments: Any) -> None:  # noqa: ANN401
        super().__init__(*arguments)
        self.keys_by_row = keys_by_row

    def merge(
        self, row: tuple[int, int], keys: Integers, values: Values, visited: Integers
    ) -> tuple[int, int]:
        """Add the elements that a whole run has before this pair, then merge as ``StoredProduct`` does."""
        # The drain merges each row of a tile once for each pair, and the pairs of an output tile in order
        # (``Drain._must_wait``), so the first array of the list is that of this merge
        following = self.keys_by_row.get(row)
        if following:
            self._prefill(row, following.pop(0))
        return super().merge(row, keys, values, visited)

    def _prefill(self, row: tuple[int, int], keys: Integers) -> None:
        old_keys, values = self.rows.get(row, (keys[:0], np.empty(0)))
        new_keys, sums = merge_elements(
            old_keys.astype(np.int64), values, keys, np.zeros(len(keys)), self.value_type
        )
        # ``additions`` stays, as these elements stand for work outside the windows
        self.rows[row] = new_keys.astype(self.key_type), sums
        self.nonzeros += len(new_keys) - len(old_keys)


class ReleaseRecordingLoader(Loader):
    """A loader that records the cycle in which each pair is released, and loads B as in a whole run.

    Args:
        arguments, options: arguments of ``Loader``.
        fetches_b: for each simulated pair, in order, whether its tile of B has to be loaded.
        tell: progress callback, called with the number of pairs released.

    Attributes:
        released_at: cycle in which each simulated pair was released, in the same order.
    """

    def __init__(
        self,
        *arguments: Any,  # noqa: ANN401
        fetches_b: Sequence[bool],
        tell: Callable[[int], None],
        **options: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(*arguments, **options)
        self.fetches_b = fetches_b
        self.tell = tell
        self.now = 0
        self.released_at: list[int] = []

    def tick(self, now: int) -> int:
        """Record the cycle, then do what ``Loader`` does."""
        self.now = now
        return super().tick(now)

    def _begin(self) -> None:
        # In the whole run, another pair comes before: -1 makes the loader fetch B's tile, and its own number
        # makes the loader keep it.
        self.tile_of_b = -1 if self.fetches_b[self.begun] else self.pairs.reference()
        super()._begin()

    def _release_halves(self) -> bool:
        released = super()._release_halves()
        if released:
            self.released_at.append(self.now)
            self.tell(len(self.released_at))
        return released


class SelectedPairsExTensor(ExTensor):
    """An ExTensor machine that multiplies selected pairs of tiles, one after another.

    Args:
        parameters, a, b: see ``ExTensor``.
        pair_work: work of all pairs.
        pair_numbers: numbers of the selected pairs, in order.
        tell: progress callback, called with the number of pairs released.
    """

    def __init__(
        self,
        parameters: ExTensorConfiguration,
        a: CsrArray,
        b: CsrArray,
        *,
        pair_work: PairWork,
        pair_numbers: Sequence[int],
        tell: Callable[[int], None],
    ) -> None:
        # First, since ``super().__init__`` calls the methods below
        self.pair_work, self.pair_numbers = pair_work, pair_numbers
        pairs = [pair_work.pairs[number] for number in pair_numbers]
        fetches_b = pair_work.brings_b[list(pair_numbers)].tolist()
        parts: dict[str, PartFactory] = {
            "loader": partial(ReleaseRecordingLoader, fetches_b=fetches_b, tell=tell),
            "sequencer": partial(Sequencer, pairs=pairs),
        }
        super().__init__(parameters, a, b, parts=parts)

    def _partition_operands(self, parameters: ExTensorConfiguration, a: CsrArray, b: CsrArray) -> Tiling:
        del parameters, a, b
        return self.pair_work.tiling

    def _list_pairs(self) -> Sequence[tuple[int, int]]:
        return [self.pair_work.pairs[number] for number in self.pair_numbers]

    def _store_product(self, shape: tuple[int, int]) -> StoredProduct:
        return PrefilledProduct(
            self._group_keys_by_row(), shape, self.parameters.pe.tile, self.output[1], self.value_type
        )

    def _group_keys_by_row(self) -> dict[tuple[int, int], list[Integers]]:
        """Return, for each M1 and N2, the keys that memory holds before the rows of each pair are merged.

        The list of an M1 and N2 has the order of the pairs, in which ``PrefilledProduct`` removes its arrays.
        """
        keys_by_row: dict[tuple[int, int], list[Integers]] = {}
        for number, (tile, _) in zip(self.pair_numbers, self._list_pairs(), strict=True):
            rows, keys = self._list_keys_before(number)
            panel = self.pair_work.panel(number).start // (self.output[1] * self.parameters.pe.tile)
            for row in self._list_rows(tile):
                start, end = np.searchsorted(rows, [row, row + 1])
                keys_by_row.setdefault((row, panel), []).append(np.sort(keys[start:end]))
        return keys_by_row

    def _list_rows(self, tile: int) -> list[int]:
        """Return the rows M1 of a tile of A."""
        start, end = self.a.tile_rows[tile], self.a.tile_rows[tile + 1]
        # M1 is not stored, but follows from the coordinate of the first fiber of the row
        fibers = self.a.microtile_fibers
        side = self.parameters.pe.tile
        first_fibers = [fibers[self.a.row_microtiles[row]] for row in range(start, end)]
        return [int(self.a.fiber_coordinates[fiber]) // side for fiber in first_fibers]

    def _list_keys_before(self, number: int) -> tuple[Integers, Integers]:
        """Return the row M1 and the key of each element of Z that memory holds before a pair."""
        work, side = self.pair_work, self.parameters.pe.tile
        rows, panel = work.rows(number), work.panel(number)
        # The pairs of a panel (N2) come in ascending order of K2
        earlier_inner = slice(0, work.inner(number).start)
        left, right = patterns(work.tiling.matrices, rows, earlier_inner, panel)
        entries = (left @ right).tocoo()
        row, column = entries.coords[0].astype(np.int64) + rows.start, entries.coords[1].astype(np.int64)
        # Key within a row M1 of an output tile: microtile, then row and column in the microtile
        keys = column // side * side**2 + row % side * side + column % side
        order = np.argsort(row // side, kind="stable")
        return (row // side)[order], keys[order]


@dataclass(frozen=True)
class SplicedRun:
    """A run of the pairs of selected windows, one after another.

    Args:
        machine: the machine after the run.
        windows: numbers of the windows.
        cycles: cycles of each window.
        end: counts of the machine after the run.
    """

    machine: SelectedPairsExTensor
    windows: Sequence[int]
    cycles: FloatArray
    end: Counts


class ExTensorSampler:
    """A sampler that estimates the run of an ExTensor from simulated windows of pairs of tiles.

    A single window (``Sample.window``) is not supported; the caller rejects it.

    Args:
        parameters: the parameters of the machine.
        a, b: the operands.
        request: sampling options.
        tell: progress callback, called with the stage, the work done and the total work.

    Raises:
        ConfigurationError: if this configuration cannot be sampled; see also ``Tiling``.
    """

    def __init__(
        self,
        parameters: ExTensorConfiguration,
        a: CsrArray,
        b: CsrArray,
        request: Sample,
        tell: Callable[[str, int, int], None],
    ) -> None:
        if parameters.llb.by_rows:
            raise ConfigurationError(
                "extensor: a sampled run needs llb.window=tiles; rows come by themselves"
            )
        if parameters.intersection == SCANNERS:
            raise ConfigurationError(f"extensor: a sampled run needs an intersection other than {SCANNERS}")
        if parameters.step == "unit":
            raise ConfigurationError("extensor: a sampled run needs step=product")
        self.parameters, self.a, self.b, self.tell = parameters, a, b, tell
        tiling = Tiling(parameters, *convert_values(TYPES[parameters.value], a, b))
        self.work = PairWork(tiling, tell)
        costs = self.costs = self.work.costs()
        mean = float(costs.mean()) if len(costs) else 0.0
        cycles = request.window_cycles or max(WINDOW_CYCLES, round(MIN_AVERAGE_PAIRS * mean))
        self.windows = cut_windows(costs, cycles, cycles) if len(costs) else []
        self.rounds = Rounds(request, len(self.windows), cycles, float(costs.sum()))

    def full_run_reason(self) -> str:
        """Return the reason to simulate the run in full, in one line; empty if the run can be sampled."""
        return self.rounds.full_run_reason()

    def sampled(self) -> Sampled:
        """Simulate windows until the interval is as narrow as requested, and return the estimate.

        Call this method only if ``full_run_reason`` returns an empty text: otherwise there are no rounds.
        """
        return self._build_result(*self.rounds.run(self._measure, self._estimate))

    def _measure(self, numbers: Sequence[int]) -> SplicedRun:
        """Simulate these windows, one after another."""
        ranges = [self.windows[number] for number in numbers]
        chosen = [number for window in ranges for number in window]
        machine = SelectedPairsExTensor(
            self.parameters,
            self.a,
            self.b,
            pair_work=self.work,
            pair_numbers=chosen,
            tell=lambda released: self.tell("simulating", released, len(chosen)),
        )
        end = run_to_end(machine)
        loader: Any = machine.loader
        # A window ends when its last pair is released, the last window with the run
        starts = np.cumsum([0, *(len(window) for window in ranges)])
        released = [0, *(loader.released_at[start - 1] for start in starts[1:-1]), end.cycles]
        return SplicedRun(machine, numbers, np.diff(released).astype(np.float64), end)

    def _estimate(self, measured: SplicedRun) -> Estimated:
        """Estimate the cycles of the whole run from the simulated windows."""
        totals = np.add.reduceat(self.costs, [window.start for window in self.windows])
        totals = totals[:, np.newaxis]
        return estimate_run(measured.cycles, totals[measured.windows], measured.windows, totals)

    def _build_result(self, measured: SplicedRun, estimate: Estimated) -> Sampled:
        """Return the result of the sampled run, from the measurements and the estimate of its last round."""
        machine = measured.machine
        traffic = self._sum_traffic()
        answer = machine.result()
        return Sampled(
            cycles=estimate,
            windows=len(measured.windows),
            window_cycles=self.rounds.cycles,
            strata=len(measured.windows) - 2,  # the first and the last window are always simulated
            cycles_simulated=round(measured.cycles.sum()),
            operations=self._sum_operations(),
            traffic=traffic,
            memory=scale_memory(traffic, measured.end),
            traffic_minimum_bytes=self._sum_minimum_bytes(),
            traffic_ratio=None,  # the functional pass counts all bytes exactly
            exact=("operations", "traffic"),
            estimated=("cycles", "memory"),
            reference=REFERENCE,
            check=lambda _problem: self._check(machine, answer),
            parameters=machine.parameters,
        )

    def _sum_operations(self) -> dict[str, int]:
        """Return the operations of the whole run, which the functional pass counts exactly."""
        work = self.work
        multiply = int(work.multiply.sum())
        return {
            "multiply": multiply,
            "add": multiply - int(work.new.sum()),
            "intersect_k2": work.steps_k2,
            "intersect_k1": int(work.steps_k1.sum()),
            "intersect_k0": int(work.steps_k0.sum()),
            "microtile_products": int(work.products.sum()),
        }

    def _sum_traffic(self) -> dict[str, Traffic]:
        """Return the traffic of each tensor in whole lines, as the streams move them."""
        line = self.parameters.stream.line
        a, b, *output = (int(-(-size // line) * line) for size in self.work.moved_bytes().sum(axis=0))
        partial_read, partial_write, written = output
        return {
            "A": Traffic(a, 0),
            "B": Traffic(b, 0),
            "PO": Traffic(partial_read, partial_write),
            "Z": Traffic(0, written),
        }

    def _sum_minimum_bytes(self) -> int:
        """Return the bytes of both operands, as ``least_bytes`` counts them, and of Z, each once."""
        written = int(self.work.new.sum()) * self.parameters.format.output // 8
        return least_bytes(self.work.tiling.a, self.work.tiling.b) + written

    def _check(self, machine: SelectedPairsExTensor, result: CsrArray) -> Comparison:
        """Compare the sums of the simulated pairs with products of their tiles by scipy.

        An element can get terms from every simulated pair, so the terms of the pairs add up in the tolerance.
        """
        a, b = self.work.tiling.matrices
        sums: list[list[Any]] = [[], [], []]  # entries, values, sizes of the terms
        terms = 0
        for number in machine.pair_numbers:
            rows, inner, panel = self.work.rows(number), self.work.inner(number), self.work.panel(number)
            left, right = a[rows, inner], b[inner, panel]
            terms += int(np.diff(left.indptr).max(initial=0))
            # The product of patterns has each element that was written, even if its terms cancel; the product
            # of absolute values is the scale of the rounding errors.
            first, second = patterns((a, b), rows, inner, panel)
            for parts, product in zip(
                sums, (first @ second, left @ right, abs(left) @ abs(right)), strict=True
            ):
                parts.append(_offset_entries(product, rows.start, panel.start))
        entries, values, magnitudes = (_sum_parts(parts, result.shape) for parts in sums)
        rounding = Rounding.estimate(machine.value_type, terms, 2)
        return compare_entries(entries, values, magnitudes, _drop_prefilled_zeros(result, entries), rounding)


def _drop_prefilled_zeros(result: CsrArray, entries: CsrArray) -> CsrArray:
    """Return the result without zeros that only ``PrefilledProduct`` put into memory.

    Args:
        result: the result in memory.
        entries: matrix with an entry for each element that the simulated pairs wrote. These elements stay,
            even if they are 0.
    """
    stored, expected = result.tocoo(), entries.tocoo()
    positions, expected_positions = (
        matrix.coords[0].astype(np.int64) * result.shape[1] + matrix.coords[1]
        for matrix in (stored, expected)
    )
    is_result = (stored.data != 0) | np.isin(positions, expected_positions)
    rows, columns = (coordinates[is_result] for coordinates in stored.coords)
    return sparse.csr_array(sparse.coo_array((stored.data[is_result], (rows, columns)), shape=result.shape))


def _offset_entries(part: CsrArray, row: int, column: int) -> tuple[Values, Integers, Integers]:
    """Return the values, rows and columns of a part of a matrix whose origin is ``row`` and ``column``."""
    entries = part.tocoo()
    rows, columns = (coordinates.astype(np.int64) for coordinates in entries.coords)
    return entries.data, rows + row, columns + column


def _sum_parts(parts: Sequence[tuple[Values, Integers, Integers]], shape: tuple[int, int]) -> CsrArray:
    """Return the sum of parts of a matrix, as a matrix of this shape."""
    values, rows, columns = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return sparse.csr_array(sparse.coo_array((values, (rows, columns)), shape=shape))
