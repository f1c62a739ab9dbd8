"""Search for tiles: a shape by predicted traffic, then its largest size that fits, verified on real tiles.

The paper's claim that every tile fits with TileFactor holds for the base tiling alone. The verification, the
steps after a failed verification, and the grid search are ours.

Source: D2T2 (MICRO 2025), Section 5.2.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from fiberscope.base.errors import InputError
from fiberscope.models.tiles.base import Candidate, Scheme, Shape, choose_base_shape
from fiberscope.models.tiles.counted_model import CountedModel
from fiberscope.models.tiles.fit import Fitter
from fiberscope.models.tiles.joint import Joint
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.options import DEFAULTS, Options
from fiberscope.models.tiles.predict import count_iterations, predict
from fiberscope.models.tiles.reorder import compute_real_shape, iterate_reorderings, list_growing_indices
from fiberscope.models.tiles.statistics import Statistics, collect_all
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.tiles.metrics import Metric, find_metric

NEAR = 1.01  # factor of the least traffic up to which candidates are equal

Judge = Callable[[Shape, Shape | None], float]


def optimise(
    kernel: Kernel,
    tensors: Mapping[str, SparseTensor],
    capacity: int,
    options: Options = DEFAULTS,
    statistics: Mapping[str, Statistics] | None = None,
    judge: Judge | None = None,
) -> Scheme:
    """Return the tiles of the candidate with the least expected traffic, enlarged as far as they fit.

    Among candidates within 1 % of the least traffic, the one with fewest iterations is chosen. A search on a
    grid (``options.search``) chooses among shapes that fit, and does not enlarge its choice. If no size of
    the chosen shape fits, the result is the base tiling, and ``fallback`` of the scheme gives the reason.

    Args:
        kernel: the expression and the order of its loops.
        tensors: its operands by name, with their ranks as written.
        capacity: the capacity of the buffer of each operand, in the metric's unit.
        options: variants of the model, and the kind of search.
        statistics: statistics of the operands' base tiling, by operand; collected if None or empty. They are
            not compared with the tensors.
        judge: returns the measured traffic of a shape, and of the shape of its base tiles if they are packed.
            If given, the base tiling replaces a scheme with more traffic, with a reason in ``fallback``, too.
            It is not called for a scheme that is the base tiling.

    Raises:
        InputError: a base tile does not fit the capacity, the operands do not match, or the model or the
            search does not support the kernel.
        WorkloadError: an operand cannot be partitioned, see ``cut_all``.
    """
    return _Search(kernel, tensors, capacity, options, statistics).choose_scheme(judge)


@dataclass
class _Search:
    """Search of ``optimise``, with models and statistics that are computed when a variant needs them."""

    kernel: Kernel
    tensors: Mapping[str, SparseTensor]
    capacity: int
    options: Options
    statistics: Mapping[str, Statistics] | None

    @cached_property
    def extents(self) -> dict[str, int]:
        return self.kernel.determine_extents({name: tensor.shape for name, tensor in self.tensors.items()})

    @cached_property
    def edge(self) -> int:
        """Return the side of a base tile (T in the paper) before it is limited to the extents.

        Raises:
            InputError: a single nonzero, or a dense tile of a given side, does not fit the capacity.
        """
        unlimited = dict.fromkeys(self.kernel.order, self.capacity)  # no edge exceeds the capacity
        shape = choose_base_shape(self.kernel, unlimited, self.capacity, self.metric, self.options.base)
        return shape[self.kernel.order[0]]

    @cached_property
    def base(self) -> dict[str, int]:
        return {index: min(self.edge, extent) for index, extent in self.extents.items()}

    @cached_property
    def metric(self) -> Metric:
        return find_metric(self.options.metric)

    @cached_property
    def base_statistics(self) -> Mapping[str, Statistics]:
        return self.statistics or collect_all(self.kernel, self.tensors, self.base, self.options)

    @cached_property
    def fitter(self) -> Fitter:
        return Fitter(self.kernel, self.tensors, self.capacity, self.metric, self.packed)

    @property
    def packed(self) -> Shape | None:
        return self.base if self.options.tiles == "packed" else None

    @cached_property
    def joint(self) -> Joint:
        return Joint(self.kernel, self.tensors, self.base_statistics, self.base, self.options)

    @cached_property
    def counted(self) -> CountedModel:
        return CountedModel(self.kernel, self.tensors, self.base_statistics, self.options)

    def choose_scheme(self, judge: Judge | None) -> Scheme:
        self._check_base()
        scheme = self._search_grid() if self.options.search == "grid" else self._search_reorderings()
        if judge is None or scheme.shape == self.base:
            return scheme
        # the base tiling is packed if the scheme is, so that only the shapes differ
        if judge(scheme.shape, scheme.packed) <= judge(self.base, scheme.packed):
            return scheme
        return self._fall_back(scheme, "it moves more than the base tiling")

    def _check_base(self) -> None:
        """Raise ``InputError`` if a base tile exceeds the capacity, as with a base edge that is given."""
        for name, statistics in self.base_statistics.items():
            if statistics.max_tile > self.capacity:
                position = ", ".join(f"{index}' = {number}" for index, number in statistics.fullest.items())
                raise InputError(
                    f"the tile of {name} at {position} takes {statistics.max_tile} {self.metric.unit} of "
                    f"{self.capacity}; a smaller base tile fits"
                )

    def _search_reorderings(self) -> Scheme:
        shapes = iterate_reorderings(self.kernel, self.edge, self.extents, self.options.rf_below_one)
        candidates = [
            self._build_candidate(shape, factor)
            for factor, shape in shapes
            if factor == 1 or self._is_coarse_enough(shape)  # so that a candidate remains
        ]
        best = _choose_best_candidate(candidates)
        assert best.rf is not None
        return self._scale_to_fit(best.rf, best.shape, tuple(candidates))

    def _is_coarse_enough(self, shape: Shape) -> bool:
        """Return whether each summed index has at least the side ``least`` of the options, or its extent."""
        return all(
            shape[index] >= min(self.options.least, self.extents[index]) for index in self.kernel.contracted
        )

    def _build_candidate(self, shape: Shape, factor: float | None = None) -> Candidate:
        iterations = count_iterations(self.kernel, self.base_statistics, shape)
        if self.options.model == "joint":
            return Candidate(shape, self.joint.predict(shape), iterations, factor)
        if self.options.model == "printed":
            return Candidate(
                shape, predict(self.kernel, self.base_statistics, shape, self.options), iterations, factor
            )
        fullest = self.counted.find_fullest_size(shape)
        prediction = self.counted.predict(shape)
        return Candidate(shape, prediction, iterations, factor, fullest, fullest <= self.capacity)

    def _scale_to_fit(self, factor: float, shape: Shape, candidates: tuple[Candidate, ...]) -> Scheme:
        """Return the scheme of a reorder factor and its shape, enlarged by TileFactor as far as it fits."""
        # how often the largest tile fits the buffer; 1 replaces the size of tensors without nonzeros
        tile_factor = self.capacity / max(1, self._find_largest_tile(shape))
        grow_all, shape = self.options.size == "all", self.fitter.round_shape(shape, self.extents)
        # the factor multiplies the shape before its rounding, so that rounding occurs once
        unrounded_shape = compute_real_shape(self.kernel, self.edge, factor)
        enlargement = self.fitter.enlarge(unrounded_shape, tile_factor, self.extents, grow_all)
        scheme = Scheme("d2t2", shape, 0, True, factor, 1.0, candidates, self.packed)
        if enlargement is not None:
            scheme = replace(scheme, shape=enlargement[0], tf=enlargement[1])
        elif not self.fitter.fits(shape):
            return self._fall_back(scheme, "not even the shape without a larger size fits")
        # the indices of the result come first: summed indices take only the space that these leave
        if self.options.grow == "contracted" and self._covers_growing_indices(scheme.shape):
            scheme = replace(scheme, shape=self.fitter.grow_summed_indices(scheme.shape, self.extents))
        return replace(scheme, fullest=self.fitter.find_fullest_size(scheme.shape))

    def _find_largest_tile(self, shape: Shape) -> int:
        if self.options.max_tile == "reshaped":
            return self.fitter.find_fullest_size(shape)
        return max(statistics.max_tile for statistics in self.base_statistics.values())

    def _covers_growing_indices(self, shape: Shape) -> bool:
        return all(shape[index] == self.extents[index] for index in list_growing_indices(self.kernel))

    def _fall_back(self, scheme: Scheme, reason: str) -> Scheme:
        """Return a scheme with the base tiling in place of its own, and the reason.

        The reorder factor is then 1, also after a search on a grid.
        """
        fullest = self.fitter.find_fullest_size(self.base)
        return replace(scheme, shape=self.base, fullest=fullest, rf=1.0, tf=1.0, fallback=reason)

    def _search_grid(self) -> Scheme:
        """Return the best shape that fits, with sides of the edge times powers of two, at most the extents.

        Raises:
            InputError: the model is not ``counted``.
        """
        if self.options.model != "counted":
            raise InputError("a search on a grid needs the model counted, which knows what fits exactly")
        sizes = [self._iterate_sizes(extent) for extent in self.extents.values()]
        shapes = (dict(zip(self.kernel.order, sides, strict=True)) for sides in itertools.product(*sizes))
        candidates = tuple(self._build_candidate(shape) for shape in shapes)
        # there is such a candidate: the base tiling fits (``_check_base``) and is on the grid
        best = _choose_best_candidate([candidate for candidate in candidates if candidate.fits])
        assert best.fullest is not None
        return Scheme("d2t2", best.shape, best.fullest, True, candidates=candidates)

    def _iterate_sizes(self, extent: int) -> list[int]:
        """Return the edge, its halves down to 1 and its doubles, each limited to an extent, in order.

        The extent itself is always one of the sizes.
        """
        halves = (self.edge >> step for step in range(self.edge.bit_length()))
        doubles = (self.edge << step for step in range(1, extent.bit_length() + 1))
        return sorted({min(extent, size) for size in (*halves, *doubles)})


def _choose_best_candidate(candidates: Iterable[Candidate]) -> Candidate:
    """Return the candidate with least traffic; within 1 %, with fewest iterations, then the squarest.

    Raises:
        ValueError: there is no candidate.
    """
    all_candidates = list(candidates)
    limit = NEAR * min(candidate.prediction.total for candidate in all_candidates)
    similar = [candidate for candidate in all_candidates if candidate.prediction.total <= limit]
    return min(
        similar,
        key=lambda candidate: (
            candidate.iterations,
            max(candidate.shape.values()) / min(candidate.shape.values()),
        ),
    )
