"""The share of a Flex-DPE in a chunk, and the sums that the Flex-DPE computes with it."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fiberscope.accelerators.sigma.packing import Chunk, Segment
from fiberscope.hw.fibers.arrays import arithmetic
from fiberscope.hw.lanes.adder_network import sums
from fiberscope.hw.networks.benes import DOUBLE, trace_sources
from fiberscope.hw.networks.benes_router import MulticastRouter
from fiberscope.hw.value_type import ValueType

Numbers: TypeAlias = npt.NDArray[Any]


class Share:
    """The nonzeros of a chunk that lie in one line.

    Args:
        line: number of the line.
        router: router that sets the distribution network, through which the operands then come; None if each
            multiplier gets its word directly.

    Attributes:
        neuron_ids: virtual neuron of each multiplier, from 1; negative for a multiplier without a nonzero of
            the chunk.
        rows: row of the product of each neuron.
        weights: stationary value of each multiplier.
        settings: settings of the distribution network, row by row.
    """

    def __init__(self, chunk: Chunk, line: int, router: MulticastRouter | None = None) -> None:
        first, end = chunk.line_bounds(line)
        size = chunk.multipliers
        start = (chunk.position + first) % size  # first multiplier of the line that the chunk occupies
        self.neuron_ids = np.full(size, -1)
        self.neuron_ids[start : start + end - first] = np.cumsum(chunk.neuron_starts[first:end])
        self.segments = [
            (slice(start + low - first, start + high - first), segment)
            for low, high, segment in chunk.split_range(first, end)
        ]
        starts = np.flatnonzero(chunk.neuron_starts[first:end])
        self.rows = np.concatenate([segment.rows for _lanes, segment in self.segments])[starts]
        self.weights = np.zeros(size)
        for lanes, segment in self.segments:
            self.weights[lanes] = segment.values
        self.settings = [] if router is None else self._route(router)
        self.sources = None if router is None else np.array(trace_sources(DOUBLE, self.settings))

    def _route(self, router: MulticastRouter) -> list[int]:
        """Return network settings that route to each multiplier the element at its coordinate of K."""
        coordinates = np.full(len(self.neuron_ids), -1)
        for lanes, segment in self.segments:
            coordinates[lanes] = segment.inner
        return router.route(coordinates.tolist())

    def words(self, column: int) -> list[float]:
        """Return the words that are sent for a column.

        These are all elements of the column in the slice, or one word per multiplier without a network.
        """
        if self.sources is not None:
            return self.segments[0][1].slice.dense[:, column].tolist()  # type: ignore[no-any-return]
        words = np.zeros(len(self.neuron_ids))
        for lanes, segment in self.segments:
            words[lanes] = self._operands(lanes, segment, column, column + 1)[0]
        return words.tolist()

    def sums(self, first: int, end: int, kind: type[np.floating[Any]], values: ValueType) -> Numbers:
        """Return the sums of the neurons for the columns ``first`` to ``end`` - 1 (columns x neurons)."""
        multiply, add = arithmetic(values)
        products = np.zeros((end - first, len(self.neuron_ids)), kind)
        for lanes, segment in self.segments:
            products[:, lanes] = multiply(self._operands(lanes, segment, first, end), segment.values)
        return sums(products, self.neuron_ids, add)

    def _operands(self, lanes: slice, segment: Segment, first: int, end: int) -> Numbers:
        coordinates = segment.inner if self.sources is None else self.sources[lanes]
        return segment.slice.dense[coordinates, first:end].T
