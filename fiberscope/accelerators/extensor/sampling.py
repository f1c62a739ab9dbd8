"""Sampled runs of ExTensor: the exact work of all pairs of tiles, and cycles of windows of neighbours."""

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
from fiberscope.accelerators.extensor.merging import merged
from fiberscope.accelerators.extensor.pair_work import PairWork, patterns
from fiberscope.accelerators.extensor.product import StoredProduct
from fiberscope.accelerators.extensor.sequencer import Sequencer
from fiberscope.accelerators.extensor.tiles import Tiling
from fiberscope.accelerators.machine import MemoryUse, Traffic
from fiberscope.accelerators.sampling import (
    Estimated,
    Numbers,
    Rounds,
    Sample,
    Sampled,
    cut_windows,
    estimate_run,
    moved_bytes,
    scale_memory,
)
from fiberscope.accelerators.values import convert_values
from fiberscope.hw.value_type import TYPES
from fiberscope.workloads.canonical import CsrArray, Integers, Values
from fiberscope.workloads.fibertree_format import footprint
from fiberscope.workloads.sparse import sparse
from fiberscope.workloads.verification import Comparison, Rounding, compare_entries

__all__ = ["ExTensorSampler", "ResumedProduct", "SplicedExTensor"]

WINDOW_CYCLES = 4000  # at the least
PAIRS = 4  # of tiles in a window at the least: two are in the buffer at once
REFERENCE = "scipy, in the pairs of tiles that were simulated"


class ResumedProduct(StoredProduct):
    """Z in memory, which holds at each merge what a whole run holds by then, with values of 0.

    Args:
        held: by place, for each of the merges to come the keys that memory holds, sorted.
        arguments: those of ``StoredProduct``.
    """

    def __init__(self, held: Mapping[tuple[int, int], list[Integers]], *arguments: Any) -> None:  # noqa: ANN401
        super().__init__(*arguments)
        self.held = held

    def merge(
        self, place: tuple[int, int], keys: Integers, values: Values, visited: Integers
    ) -> tuple[int, int]:
        """As of ``StoredProduct``, once memory holds what it should."""
        waiting = self.held.get(place)
        if waiting:
            self._resume(place, waiting.pop(0))
        return super().merge(place, keys, values, visited)

    def _resume(self, place: tuple[int, int], keys: Integers) -> None:
        old, values = self.rows.get(place, (keys[:0], np.empty(0)))
        both, sums = merged(old.astype(np.int64), values, keys, np.zeros(len(keys)), self.value_type)
        self.rows[place] = both.astype(self.key_type), sums
        self.nonzeros += len(both) - len(old)


class MarkingLoader(Loader):
    """A loader that notes in which cycle each pair is released, and brings of B what a whole run brings.

    Args:
        arguments, options: those of ``Loader``.
        brings_b: by pair, whether its tile of B is not there.
        tell: called with the number of pairs released.
    """

    def __init__(
        self,
        *arguments: Any,  # noqa: ANN401
        brings_b: Sequence[bool],
        tell: Callable[[int], None],
        **options: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(*arguments, **options)
        self.brings_b = brings_b
        self.tell = tell
        self.now = 0
        self.released_at: list[int] = []

    def tick(self, now: int) -> int:
        """As ``Loader`` does."""
        self.now = now
        return super().tick(now)

    def _begin(self) -> None:
        self.tile_of_b = -1 if self.brings_b[self.begun] else self.pairs.reference()
        super()._begin()

    def _free(self) -> bool:
        released = super()._free()
        if released:
            self.released_at.append(self.now)
            self.tell(len(self.released_at))
        return released


class SplicedExTensor(ExTensor):
    """An ExTensor that multiplies some of the pairs of tiles, one behind another.

    Args:
        parameters, a, b: as of ``ExTensor``.
        work: of all pairs.
        chosen: numbers of the pairs, in order.
        tell: called with the number of pairs released.
    """

    def __init__(
        self,
        parameters: ExTensorConfiguration,
        a: CsrArray,
        b: CsrArray,
        *,
        work: PairWork,
        chosen: Sequence[int],
        tell: Callable[[int], None],
    ) -> None:
        self.pair_work, self.numbers = work, chosen
        pairs = [work.pairs[number] for number in chosen]
        parts: dict[str, PartFactory] = {
            "loader": partial(MarkingLoader, brings_b=work.brings_b[list(chosen)].tolist(), tell=tell),
            "sequencer": partial(Sequencer, pairs=pairs),
        }
        super().__init__(parameters, a, b, parts=parts)

    def _tiled(self, parameters: ExTensorConfiguration, a: CsrArray, b: CsrArray) -> Tiling:
        del parameters, a, b
        return self.pair_work.tiling

    def _pairs(self) -> Sequence[tuple[int, int]]:
        return [self.pair_work.pairs[number] for number in self.numbers]

    def _stored(self, shape: tuple[int, int]) -> StoredProduct:
        places = self._held()
        return ResumedProduct(places, shape, self.parameters.pe.tile, self.output[1], self.value_type)

    def _held(self) -> dict[tuple[int, int], list[Integers]]:
        """Keys of Z that memory holds when the rows of a pair are merged, by place and pair."""
        places: dict[tuple[int, int], list[Integers]] = {}
        for number, (tile, _) in zip(self.numbers, self._pairs(), strict=True):
            rows, keys = self._keys(number)
            panel = self.pair_work.panel(number).start // (self.output[1] * self.parameters.pe.tile)
            for row in self._rows_of(tile):
                first, last = np.searchsorted(rows, [row, row + 1])
                places.setdefault((row, panel), []).append(np.sort(keys[first:last]))
        return places

    def _rows_of(self, tile: int) -> list[int]:
        """The rows M1 of a tile of A."""
        first, last = self.a.tile_rows[tile], self.a.tile_rows[tile + 1]
        fibers = self.a.microtile_fibers
        side = self.parameters.pe.tile
        starts = [fibers[self.a.row_microtiles[row]] for row in range(first, last)]
        return [int(self.a.fiber_coordinates[fiber]) // side for fiber in starts]

    def _keys(self, number: int) -> tuple[Integers, Integers]:
        """Row M1 and key of each element of Z that memory holds before a pair."""
        work, side = self.pair_work, self.parameters.pe.tile
        rows, panel = work.rows(number), work.panel(number)
        before = slice(0, work.inner(number).start)
        left, right = patterns(work.tiling.matrices, rows, before, panel)
        entries = (left @ right).tocoo()
        row, column = entries.coords[0].astype(np.int64) + rows.start, entries.coords[1].astype(np.int64)
        keys = column // side * side**2 + row % side * side + column % side
        order = np.argsort(row // side, kind="stable")
        return (row // side)[order], keys[order]


@dataclass(frozen=True)
class SplicedRun:
    """A run of the pairs of some windows, one behind another.

    Args:
        machine: after the run.
        windows: their numbers.
        cycles: by window.
    """

    machine: SplicedExTensor
    windows: Sequence[int]
    cycles: Numbers


class ExTensorSampler:
    """An ExTensor whose run is estimated from windows of pairs of tiles.

    Args:
        parameters: of the machine.
        a, b: the operands.
        request: how to sample.
        tell: called with stage, work done and work in all.

    Raises:
        ConfigurationError: this configuration cannot be sampled, or as of ``Tiling``.
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
        cycles = request.window_cycles or max(WINDOW_CYCLES, round(PAIRS * mean))
        self.ranges = cut_windows(costs, cycles, cycles) if len(costs) else []
        self.rounds = Rounds(request, len(self.ranges), cycles, float(costs.sum()))

    def too_short(self) -> str:
        """As of ``Sampler``."""
        return self.rounds.too_short()

    def sampled(self) -> Sampled:
        """As of ``Sampler``."""
        return self._sampled(*self.rounds.run(self._measure, self._estimate))

    def _measure(self, numbers: Sequence[int]) -> SplicedRun:
        """Simulate these windows, one behind another."""
        ranges = [self.ranges[number] for number in numbers]
        chosen = [number for each in ranges for number in each]
        machine = SplicedExTensor(
            self.parameters,
            self.a,
            self.b,
            work=self.work,
            chosen=chosen,
            tell=lambda done: self.tell("simulating", done, len(chosen)),
        )
        ended = machine.kernel.run()
        if not ended.complete:
            raise KeyboardInterrupt
        loader: Any = machine.loader
        starts = np.cumsum([0, *(len(each) for each in ranges)])
        released = [0, *(loader.released_at[start - 1] for start in starts[1:-1]), ended.cycles]
        return SplicedRun(machine, numbers, np.diff(released).astype(np.float64))

    def _estimate(self, measured: SplicedRun) -> Estimated:
        """Cycles of the whole run: those of the first window and the last, and of all between."""
        totals = np.add.reduceat(self.costs, [each.start for each in self.ranges])
        totals = totals[:, np.newaxis]
        return estimate_run(measured.cycles, totals[measured.windows], measured.windows, totals)

    def _sampled(self, measured: SplicedRun, estimate: Estimated) -> Sampled:
        machine = measured.machine
        traffic = self._traffic()
        answer = machine.result()
        return Sampled(
            cycles=estimate,
            windows=len(measured.windows),
            window_cycles=self.rounds.cycles,
            strata=len(measured.windows) - 2,
            cycles_simulated=round(measured.cycles.sum()),
            operations=self._operations(),
            traffic=traffic,
            memory=self._memory(machine, traffic),
            traffic_minimum_bytes=self._minimum_bytes(),
            traffic_ratio=None,
            exact=("operations", "traffic"),
            estimated=("cycles", "memory"),
            reference=REFERENCE,
            check=lambda _problem: self._check(machine, answer),
            parameters=machine.parameters,
        )

    def _operations(self) -> dict[str, int]:
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

    def _traffic(self) -> dict[str, Traffic]:
        """Whole lines by tensor, as the streams move them."""
        line = self.parameters.stream.line
        a, b, *output = (int(-(-size // line) * line) for size in self.work.moved().sum(axis=0))
        partial_read, partial_write, written = output
        return {
            "A": Traffic(a, 0),
            "B": Traffic(b, 0),
            "PO": Traffic(partial_read, partial_write),
            "Z": Traffic(0, written),
        }

    def _minimum_bytes(self) -> int:
        """As of ``ExTensor.traffic_minimum_bytes``."""
        tiling = self.work.tiling
        bits = sum(sum(footprint(each.tree, each.formats).values()) for each in (tiling.a, tiling.b))
        return (bits + int(self.work.new.sum()) * self.parameters.format.output) // 8

    def _memory(self, machine: ExTensor, traffic: Mapping[str, Traffic]) -> MemoryUse | None:
        """Row hits and the like of the windows, for the bytes of the whole run."""
        use = machine.memory()
        return use and scale_memory(use, moved_bytes(machine.traffic()), moved_bytes(traffic))

    def _check(self, machine: SplicedExTensor, answer: CsrArray) -> Comparison:
        """Compare the sums of the pairs with scipy's products of their tiles."""
        a, b = self.work.tiling.matrices
        parts: list[list[Any]] = [[], [], []]
        terms = 0
        for number in machine.numbers:
            rows, inner, panel = self.work.rows(number), self.work.inner(number), self.work.panel(number)
            left, right = a[rows, inner], b[inner, panel]
            terms += int(np.diff(left.indptr).max(initial=0))
            first, second = patterns((a, b), rows, inner, panel)
            for part, product in zip(
                parts, (first @ second, left @ right, abs(left) @ abs(right)), strict=True
            ):
                part.append(_moved(product, rows.start, panel.start))
        entries, values, sizes = (_joined(part, answer.shape) for part in parts)
        rounding = Rounding.estimate(machine.value_type, terms, 2)
        return compare_entries(entries, values, sizes, _without_held(answer, entries), rounding)


def _without_held(answer: CsrArray, entries: CsrArray) -> CsrArray:
    """An answer without the zeros that memory held where no pair has an entry."""
    stored, expected = answer.tocoo(), entries.tocoo()
    places, entered = (
        each.coords[0].astype(np.int64) * answer.shape[1] + each.coords[1] for each in (stored, expected)
    )
    kept = (stored.data != 0) | np.isin(places, entered)
    rows, columns = (each[kept] for each in stored.coords)
    return sparse.csr_array(sparse.coo_array((stored.data[kept], (rows, columns)), shape=answer.shape))


def _moved(part: CsrArray, row: int, column: int) -> tuple[Values, Integers, Integers]:
    """Values, rows and columns of a part of a matrix that begins in a row and a column."""
    entries = part.tocoo()
    rows, columns = (each.astype(np.int64) for each in entries.coords)
    return entries.data, rows + row, columns + column


def _joined(parts: Sequence[tuple[Values, Integers, Integers]], shape: tuple[int, int]) -> CsrArray:
    """The sum of parts of a matrix of a shape."""
    values, rows, columns = (np.concatenate(each) for each in zip(*parts, strict=True))
    return sparse.csr_array(sparse.coo_array((values, (rows, columns)), shape=shape))
