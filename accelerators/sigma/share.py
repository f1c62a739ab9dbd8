"""What one Flex-DPE has of a chunk, and the arithmetic on it."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fiberscope.accelerators.sigma.packing import Chunk, Part
from fiberscope.hw.lanes.adder_network import sums
from fiberscope.hw.networks.benes import DOUBLE, sources_of
from fiberscope.hw.networks.benes_router import MulticastRouter

__all__ = ["Share"]

Numbers: TypeAlias = npt.NDArray[Any]


class Share:
    """The nonzeros of a chunk that lie in one line.

    Args:
        chunk: whose they are.
        line: in which they lie.
        router: sets the distribution network, which then brings the operands; None takes them as they are.

    Attributes: ``ids`` has the virtual neuron of each multiplier, negative where it has none of the chunk;
    ``rows`` the row of the product of each neuron.
    """

    def __init__(self, chunk: Chunk, line: int, router: MulticastRouter | None = None) -> None:
        first, last = chunk.bounds(line)
        size = chunk.multipliers
        place = (chunk.position + first) % size
        self.ids = np.full(size, -1)
        self.ids[place : place + last - first] = np.cumsum(chunk.neuron_starts[first:last])
        self.segments = [
            (slice(place + begin - first, place + end - first), part)
            for begin, end, part in chunk.segments(first, last)
        ]
        starts = np.flatnonzero(chunk.neuron_starts[first:last])
        self.rows = np.concatenate([part.rows for _place, part in self.segments])[starts]
        self.sources = None if router is None else self._sources(router)

    def _sources(self, router: MulticastRouter) -> npt.NDArray[np.integer[Any]]:
        """The input that each output of the network gets, with the settings that the router finds."""
        wanted = np.full(len(self.ids), -1)
        for place, part in self.segments:
            wanted[place] = part.inner
        return np.array(sources_of(DOUBLE, router.route(wanted.tolist())))

    def sums(self, first: int, last: int, kind: type[np.floating[Any]]) -> Numbers:
        """The sums of the neurons for the columns ``first`` to ``last`` - 1 (columns x neurons)."""
        products = np.zeros((last - first, len(self.ids)), kind)
        for place, part in self.segments:
            products[:, place] = self._operands(place, part, first, last) * part.values
        return sums(products, self.ids)

    def _operands(self, place: slice, part: Part, first: int, last: int) -> Numbers:
        lanes = part.inner if self.sources is None else self.sources[place]
        return part.slice.dense[lanes, first:last].T
