"""Densities in closed form: nonzeros anywhere with equal chance, or in a fixed share of every tile."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from fiberscope.models.analytic.density import Counts, Density, Numbers, Tile, elements_of, tiles_of, whole

__all__ = ["FixedStructured", "Uniform", "hypergeometric", "probability_none"]

_FACTORS = 256  # up to so many are multiplied; beyond, factorials are approximated
_DEVIATIONS = 40.0  # of the mean, behind which no probability is a double greater than 0


class Uniform(Density):
    """A tensor whose ``ceil(density x elements)`` nonzeros are drawn without replacement.

    Source: Sparseloop (MICRO 2022), Section 5.3.2, "uniform".

    Args:
        shape: the shape of the tensor.
        density: share of nonzeros, from 0 to 1.
        nonzeros: their number, if it is known; an array stands for as many tensors.
    """

    def __init__(self, shape: Sequence[int], density: float, nonzeros: ArrayLike | None = None) -> None:
        super().__init__(shape, density)
        drawn = np.ceil(whole(density * self.elements)) if nonzeros is None else nonzeros
        self.nonzeros: Counts = np.asarray(drawn, np.int64)

    @property
    def exact(self) -> float:
        """Nonzeros over elements: the density after it was rounded up to a whole number of nonzeros."""
        return float(self.nonzeros) / self.elements

    def expected(self, tile: Tile) -> Numbers:
        """n r / N."""
        return np.asarray(elements_of(tile) * (self.nonzeros / self.elements), np.float64)

    def probability_empty(self, tile: Tile) -> Numbers:
        """C(N - r, n) / C(N, n)."""
        drawn = elements_of(tile)
        if drawn.ndim == self.nonzeros.ndim == 0:
            return _one_probability(self.elements, int(self.nonzeros), int(drawn))
        return probability_none(self.elements, self.nonzeros, drawn)

    def minimum(self, tile: Tile) -> Counts:
        """Return the least occupancy: the nonzeros that do not fit outside."""
        return np.asarray(np.maximum(0, elements_of(tile) + self.nonzeros - self.elements))

    def maximum(self, tile: Tile) -> Counts:
        """Return the number of all nonzeros, or the size of the tile if that is less."""
        return np.asarray(np.minimum(elements_of(tile), self.nonzeros))

    def maximum_nonempty(self, parent: Tile, tile: Tile) -> Counts:
        """One nonzero for each tile, if there are enough."""
        return np.minimum(tiles_of(parent, tile), self.maximum(parent))

    def distribution(self, tile: Sequence[int]) -> tuple[Counts, Numbers]:
        """The hypergeometric probabilities."""
        return hypergeometric(self.elements, int(self.nonzeros), int(elements_of(tile)))

    def inside(self, parent: Tile, occupancy: ArrayLike) -> Uniform:
        """Uniform again: the nonzeros of the parent lie anywhere in it."""
        extents = [int(np.asarray(extent)) for extent in parent]
        share = float(np.mean(np.asarray(occupancy))) / int(elements_of(extents))
        return Uniform(extents, share, occupancy)


def probability_none(elements: ArrayLike, nonzeros: ArrayLike, drawn: ArrayLike) -> Numbers:
    """The chance that of ``drawn`` elements none is one of the ``nonzeros``: C(N - r, n) / C(N, n).

    Draws and nonzeros may change places, so that the product has the smaller number of factors. Where that
    is large too, Stirling's series stands for the factorials, its leading terms put together so that nothing
    of their size cancels.
    """
    total, some, many = np.broadcast_arrays(
        *(np.asarray(number, np.float64) for number in (elements, nonzeros, drawn))
    )
    few, more = np.minimum(some, many), np.maximum(some, many)
    none = np.zeros(total.shape)
    room = few + more <= total
    short = room & (few <= _FACTORS)
    none[short] = _by_factors(total[short], few[short], more[short])
    long = room & ~short
    none[long] = _by_stirling(total[long], few[long], more[long])
    return none


@lru_cache(maxsize=1 << 16)
def _one_probability(elements: int, nonzeros: int, drawn: int) -> Numbers:
    """Compute the probability for one tile, cached because mappings repeat it."""
    return probability_none(elements, nonzeros, drawn)


def _by_factors(total: Numbers, few: Numbers, more: Numbers) -> Numbers:
    """The product of the chances, one draw after another."""
    cases, places = np.unique(np.stack([total, few, more]), axis=1, return_inverse=True)
    draw = np.arange(_FACTORS if few.size == 0 else int(few.max()), dtype=np.float64)
    left = np.maximum(cases[0][:, None] - draw, 1.0)
    chances = np.where(draw < cases[1][:, None], 1.0 - cases[2][:, None] / left, 1.0)
    return np.asarray(np.prod(chances, axis=1)[places.reshape(-1)])


def _by_stirling(total: Numbers, few: Numbers, more: Numbers) -> Numbers:
    """x! by Stirling's series for x = N - r, N - n, N, N - r - n."""
    left, right, both = few / total, more / total, (few + more) / total
    leading = total * (_beyond_linear(left) + _beyond_linear(right) - _beyond_linear(both))
    rest = _series(total - few) + _series(total - more) - _series(total) - _series(total - few - more)
    return np.exp(leading + rest)


def _beyond_linear(share: Numbers) -> Numbers:
    """(1 - x) ln(1 - x) + x, which is 0 to first order: of x ln x in ln x! what does not cancel."""
    remaining = np.where(share < 1.0, 1.0 - share, 1.0)
    powers = share * share * (0.5 + share / 6.0 + share * share / 12.0 + share**3 / 20.0)
    return np.where(share < 1e-3, powers, np.where(share < 1.0, remaining * np.log(remaining) + share, 1.0))


def _series(number: Numbers) -> Numbers:
    """Return ln x! - (x ln x - x) by its series."""
    least = np.maximum(number, 1.0)
    return 0.5 * np.log(least) + 1.0 / (12.0 * least) - 1.0 / (360.0 * least**3)


def hypergeometric(elements: int, nonzeros: int, drawn: int) -> tuple[Counts, Numbers]:
    """The occupancies of ``drawn`` out of ``elements`` with ``nonzeros``, and their probabilities.

    From the likeliest occupancy outwards each probability follows from its neighbour, so that no factorial
    is needed and the sum is 1. Occupancies so far out that their probability is no double are left out.
    """
    least, most = max(0, drawn + nonzeros - elements), min(drawn, nonzeros)
    mode = (drawn + 1) * (nonzeros + 1) // (elements + 2)
    share = nonzeros / max(elements, 1)
    reach = int(_DEVIATIONS * np.sqrt(drawn * share * (1.0 - share))) + 800
    occupancies = np.arange(max(least, mode - reach), min(most, mode + reach) + 1, dtype=np.int64)
    before = occupancies[:-1].astype(np.float64)
    rising = np.log((nonzeros - before) * (drawn - before))
    falling = np.log((before + 1.0) * (elements - nonzeros - drawn + before + 1.0))
    logarithms = np.concatenate([[0.0], np.cumsum(rising - falling)])
    weights = np.exp(logarithms - logarithms.max())
    return occupancies, weights / weights.sum()


class FixedStructured(Density):
    """Every tile of n elements has n x density nonzeros, or one of the two whole numbers around that.

    Source: Sparseloop (MICRO 2022), Section 5.3.2, "fixed-structured".

    Args:
        shape: the shape of the tensor.
        density: share of nonzeros of every tile, from 0 to 1; an array stands for as many tensors.
    """

    def __init__(self, shape: Sequence[int], density: ArrayLike) -> None:
        self._share = np.asarray(density, np.float64)
        super().__init__(shape, float(np.mean(self._share)))

    @property
    def exact(self) -> float:
        """The density as given."""
        return self.density

    def expected(self, tile: Tile) -> Numbers:
        """n d."""
        return whole(elements_of(tile) * self._share)

    def probability_empty(self, tile: Tile) -> Numbers:
        """1 - n d if a tile has less than one nonzero, else 0."""
        return np.maximum(0.0, 1.0 - self.expected(tile))

    def minimum(self, tile: Tile) -> Counts:
        """n d, rounded down."""
        return np.floor(self.expected(tile)).astype(np.int64)

    def maximum(self, tile: Tile) -> Counts:
        """n d, rounded up."""
        return np.ceil(self.expected(tile)).astype(np.int64)

    def maximum_nonempty(self, parent: Tile, tile: Tile) -> Counts:
        """All, if each has a nonzero; else a nonzero each for as many as the parent has."""
        return np.minimum(tiles_of(parent, tile), self.maximum(parent))

    def distribution(self, tile: Sequence[int]) -> tuple[Counts, Numbers]:
        """One or two neighbouring occupancies."""
        expected = float(self.expected(tile))
        least = int(np.floor(expected))
        above = expected - least
        if above == 0.0:
            return np.array([least]), np.ones(1)
        return np.array([least, least + 1]), np.array([1.0 - above, above])

    def inside(self, parent: Tile, occupancy: ArrayLike) -> FixedStructured:
        """The parent's nonzeros in fixed shares of its tiles."""
        extents = [int(np.asarray(extent)) for extent in parent]
        return FixedStructured(extents, np.asarray(occupancy) / int(elements_of(extents)))
