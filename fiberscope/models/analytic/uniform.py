"""Densities in closed form: uniformly distributed nonzeros, and a fixed share of nonzeros in every tile.

Symbols in the docstrings: the tensor has N elements, r nonzeros and the density d; a tile has n elements.
C(a, b) is the binomial coefficient.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from fiberscope.models.analytic.arrays import Integers, Numbers
from fiberscope.models.analytic.density import Density, Tile, count_elements, count_tiles, round_products

_FACTORS = 256  # largest number of factors in a product; for more, factorials are approximated
_DEVIATIONS = 40.0  # standard deviations from the mean, beyond which probabilities underflow


class Uniform(Density):
    """A tensor whose ``ceil(density x elements)`` nonzeros are drawn without replacement.

    Source: Sparseloop (MICRO 2022), Section 5.3.2, "uniform".

    Args:
        shape: the shape of the tensor.
        density: share of nonzeros, from 0 to 1.
        nonzeros: their number, if it is known, in place of the product; an array represents several tensors.
            ``exact``, ``distribution`` and ``quantile`` need a single number.
    """

    def __init__(self, shape: Sequence[int], density: float, nonzeros: ArrayLike | None = None) -> None:
        super().__init__(shape, density)
        # rounded before ``ceil``: 0.07 * 100 is a little more than 7
        nonzero_count = np.ceil(round_products(density * self.elements)) if nonzeros is None else nonzeros
        self.nonzeros: Integers = np.asarray(nonzero_count, np.int64)

    @property
    def exact(self) -> float:
        """Return the density after rounding up to a whole number of nonzeros."""
        return float(self.nonzeros) / self.elements

    def expected(self, tile: Tile) -> Numbers:
        """Return the mean number of nonzeros in a tile, n r / N."""
        return np.asarray(count_elements(tile) * (self.nonzeros / self.elements), np.float64)

    def probability_empty(self, tile: Tile) -> Numbers:
        """Return C(N - r, n) / C(N, n); 0 if a tile has more elements than the tensor has zeros."""
        draws = count_elements(tile)
        if draws.ndim == self.nonzeros.ndim == 0:
            return _compute_one_probability_none(self.elements, int(self.nonzeros), int(draws))
        return compute_probability_none(self.elements, self.nonzeros, draws)

    def minimum(self, tile: Tile) -> Integers:
        """Return the nonzeros that do not fit outside of the tile."""
        return np.asarray(np.maximum(0, count_elements(tile) + self.nonzeros - self.elements))

    def maximum(self, tile: Tile) -> Integers:
        """Return the number of nonzeros, or the size of a smaller tile."""
        return np.asarray(np.minimum(count_elements(tile), self.nonzeros))

    def maximum_nonempty(self, parent: Tile, tile: Tile) -> Integers:
        """Return the number of tiles, or of nonzeros if the parent has fewer."""
        return np.minimum(count_tiles(parent, tile), self.maximum(parent))

    def distribution(self, tile: Sequence[int]) -> tuple[Integers, Numbers]:
        """Return the hypergeometric distribution."""
        return compute_hypergeometric(self.elements, int(self.nonzeros), int(count_elements(tile)))

    def inside(self, parent: Tile, occupancy: ArrayLike) -> Uniform:
        """Return a uniform density of the parent's nonzeros; ``density`` is that of the mean occupancy."""
        extents = [int(np.asarray(extent)) for extent in parent]
        share = float(np.mean(np.asarray(occupancy))) / int(count_elements(extents))
        return Uniform(extents, share, occupancy)


def compute_probability_none(elements: ArrayLike, nonzeros: ArrayLike, draws: ArrayLike) -> Numbers:
    """Return the probability that ``draws`` elements contain no nonzero: C(N - r, n) / C(N, n).

    The formula is symmetric in draws and nonzeros, so the smaller number gives the number of factors. For
    large numbers, Stirling's series approximates the factorials. Its leading terms are combined to avoid
    cancellation.

    Args:
        elements: N, the number of elements of the tensor.
        nonzeros: r, the number of its nonzeros.
        draws: n, the number of drawn elements. The three numbers, or arrays, are broadcast.
    """
    total, nonzero_count, draw_count = np.broadcast_arrays(
        *(np.asarray(number, np.float64) for number in (elements, nonzeros, draws))
    )
    fewer, larger = np.minimum(nonzero_count, draw_count), np.maximum(nonzero_count, draw_count)
    none = np.zeros(total.shape)
    fits = fewer + larger <= total
    is_short = fits & (fewer <= _FACTORS)
    none[is_short] = _multiply_factors(total[is_short], fewer[is_short], larger[is_short])
    is_long = fits & ~is_short
    none[is_long] = _apply_stirling(total[is_long], fewer[is_long], larger[is_long])
    return none


@lru_cache(maxsize=1 << 16)
def _compute_one_probability_none(elements: int, nonzeros: int, draws: int) -> Numbers:
    """Return the probability for one tile, cached because mappings repeat tiles."""
    return compute_probability_none(elements, nonzeros, draws)


def _multiply_factors(total: Numbers, fewer: Numbers, larger: Numbers) -> Numbers:
    """Return the product of the conditional probabilities of the draws."""
    # equal cases, which mappings repeat, are computed once
    cases, case_of = np.unique(np.stack([total, fewer, larger]), axis=1, return_inverse=True)
    draw = np.arange(_FACTORS if fewer.size == 0 else int(fewer.max()), dtype=np.float64)
    remaining = np.maximum(cases[0][:, None] - draw, 1.0)
    # after i draws without a hit, N - i elements remain, and ``larger`` of them are hits
    chances = np.where(draw < cases[1][:, None], 1.0 - cases[2][:, None] / remaining, 1.0)
    return np.asarray(np.prod(chances, axis=1)[case_of.reshape(-1)])


def _apply_stirling(total: Numbers, fewer: Numbers, larger: Numbers) -> Numbers:
    """Return the probability by Stirling's series of x! for x = N - r, N - n, N, N - r - n."""
    few_share, more_share, sum_share = fewer / total, larger / total, (fewer + larger) / total
    # x ln x - x for x = N (1 - s): as (N - r) + (N - n) = N + (N - r - n), the linear terms cancel
    leading = total * (
        _compute_nonlinear_part(few_share)
        + _compute_nonlinear_part(more_share)
        - _compute_nonlinear_part(sum_share)
    )
    corrections = (
        _evaluate_series(total - fewer)
        + _evaluate_series(total - larger)
        - _evaluate_series(total)
        - _evaluate_series(total - fewer - larger)
    )
    return np.exp(leading + corrections)


def _compute_nonlinear_part(share: Numbers) -> Numbers:
    """Return (1 - x) ln(1 - x) + x, the part of x ln x beyond first order."""
    remaining = np.where(share < 1.0, 1.0 - share, 1.0)
    # the sum of x^k / (k (k - 1)): for small x, the closed form would cancel; its limit at x = 1 is 1
    powers = share * share * (0.5 + share / 6.0 + share * share / 12.0 + share**3 / 20.0)
    return np.where(share < 1e-3, powers, np.where(share < 1.0, remaining * np.log(remaining) + share, 1.0))


def _evaluate_series(number: Numbers) -> Numbers:
    """Return ln x! - (x ln x - x) by its series, without the constant ln(2 pi) / 2.

    The constant cancels in the two quotients of factorials. A number below 1 counts as 1.
    """
    least = np.maximum(number, 1.0)
    return 0.5 * np.log(least) + 1.0 / (12.0 * least) - 1.0 / (360.0 * least**3)


def compute_hypergeometric(elements: int, nonzeros: int, draws: int) -> tuple[Integers, Numbers]:
    """Return the possible occupancies of ``draws`` elements, and their probabilities.

    Each probability follows from that of the next smaller occupancy, so no factorial is needed. The
    logarithms are relative; the weights are divided by their sum. Occupancies far from the mode, whose
    probability underflows, are left out.

    Args:
        elements, nonzeros, draws: the single numbers N, r and n of ``compute_probability_none``.
    """
    least, greatest = max(0, draws + nonzeros - elements), min(draws, nonzeros)
    mode = (draws + 1) * (nonzeros + 1) // (elements + 2)
    share = nonzeros / max(elements, 1)
    # with a small deviation, the skewed tail reaches further: 800 more occupancies on each side
    reach = int(_DEVIATIONS * np.sqrt(draws * share * (1.0 - share))) + 800
    occupancies = np.arange(max(least, mode - reach), min(greatest, mode + reach) + 1, dtype=np.int64)
    smaller = occupancies[:-1].astype(np.float64)
    # P(k + 1) / P(k) = (r - k) (n - k) / ((k + 1) (N - r - n + k + 1))
    rising = np.log((nonzeros - smaller) * (draws - smaller))
    falling = np.log((smaller + 1.0) * (elements - nonzeros - draws + smaller + 1.0))
    logarithms = np.concatenate([[0.0], np.cumsum(rising - falling)])
    weights = np.exp(logarithms - logarithms.max())
    return occupancies, weights / weights.sum()


class FixedStructured(Density):
    """Every tile of n elements has n x density nonzeros, rounded up or down.

    Source: Sparseloop (MICRO 2022), Section 5.3.2, "fixed-structured".

    Args:
        shape: the shape of the tensor.
        density: share of nonzeros of every tile, from 0 to 1; an array represents several tensors.
            ``distribution`` needs a single number.
    """

    def __init__(self, shape: Sequence[int], density: ArrayLike) -> None:
        self._share = np.asarray(density, np.float64)
        super().__init__(shape, float(np.mean(self._share)))

    @property
    def exact(self) -> float:
        """Return the specified density."""
        return self.density

    def expected(self, tile: Tile) -> Numbers:
        """Return the number of nonzeros in a tile before rounding, n d."""
        return round_products(count_elements(tile) * self._share)

    def probability_empty(self, tile: Tile) -> Numbers:
        """Return 1 - n d if a tile has less than one nonzero, else 0."""
        return np.maximum(0.0, 1.0 - self.expected(tile))

    def minimum(self, tile: Tile) -> Integers:
        """Return the smallest number of nonzeros in a tile: n d, rounded down."""
        return np.floor(self.expected(tile)).astype(np.int64)

    def maximum(self, tile: Tile) -> Integers:
        """Return the largest number of nonzeros in a tile: n d, rounded up."""
        return np.ceil(self.expected(tile)).astype(np.int64)

    def maximum_nonempty(self, parent: Tile, tile: Tile) -> Integers:
        """Return the number of tiles, or of nonzeros if the parent has fewer."""
        return np.minimum(count_tiles(parent, tile), self.maximum(parent))

    def distribution(self, tile: Sequence[int]) -> tuple[Integers, Numbers]:
        """Return one or two neighbouring occupancies."""
        expected = float(self.expected(tile))
        least = int(np.floor(expected))
        above = expected - least
        if above == 0.0:
            return np.array([least]), np.ones(1)
        return np.array([least, least + 1]), np.array([1.0 - above, above])

    def inside(self, parent: Tile, occupancy: ArrayLike) -> FixedStructured:
        """Return a density with the parent's nonzeros in fixed shares of its tiles."""
        extents = [int(np.asarray(extent)) for extent in parent]
        return FixedStructured(extents, np.asarray(occupancy) / int(count_elements(extents)))
