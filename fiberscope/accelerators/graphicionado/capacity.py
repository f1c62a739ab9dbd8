"""Capacity of the chip: the number of slices of a graph, and the granularity of its edge-id table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.accelerators.graphicionado.configuration import GraphicionadoConfiguration
from fiberscope.workloads.canonical import Integers

LIMIT = 1 << 16  # upper bound of the number of slices, and of the vertices that share a table entry


@dataclass(frozen=True)
class Fit:
    """A division of a graph into slices, and a granularity of its edge-id table, for a given eDRAM.

    Args:
        slices: number of slices, which are ranges of destination vertices.
        coarsen: number of vertices that share an entry of the edge-id table.
        needed: bytes of eDRAM that the graph needs.
    """

    slices: int
    coarsen: int
    needed: int

    @classmethod
    def find(cls, parameters: GraphicionadoConfiguration, vertices: int) -> Fit:
        """Return the smallest division into slices and shared table entries with which the graph fits.

        A number that is configured as 0 starts at 1; the smaller number is doubled until the graph fits.
        There are at most as many slices as blocks of vertices.

        Args:
            parameters: configuration of the machine.
            vertices: number of vertices of the graph.

        Raises:
            ConfigurationError: if the graph does not fit in the eDRAM.
        """
        slices, coarsen = parameters.slice.count, parameters.table.coarsen
        max_slices = 1 if slices else min(LIMIT, -(-vertices // parameters.block.vertices))
        # A shared entry points to the first edge of several vertices. A reader skips the edges of the other
        # vertices by their source, which edges must then hold.
        can_share_entries = parameters.start == "edram" and parameters.keeps_source
        max_coarsen = min(LIMIT, vertices) if can_share_entries and not coarsen else 1
        fit = cls._build(parameters, vertices, max(1, slices), max(1, coarsen))
        while fit.needed > parameters.edram.size:
            can_slice, can_coarsen = fit.slices < max_slices, fit.coarsen < max_coarsen
            if not (can_slice or can_coarsen):
                raise ConfigurationError(fit._overflow(parameters, vertices))
            # Double the smaller of the two numbers; if both are equal, the number of slices.
            doubles_slices = can_slice and (fit.slices <= fit.coarsen or not can_coarsen)
            factors = (2, 1) if doubles_slices else (1, 2)
            fit = cls._build(parameters, vertices, fit.slices * factors[0], fit.coarsen * factors[1])
        return fit

    @classmethod
    def _build(cls, parameters: GraphicionadoConfiguration, vertices: int, slices: int, coarsen: int) -> Fit:
        block = parameters.block.vertices
        slices = min(slices, max(1, -(-vertices // block)))
        largest = min(vertices, -(-vertices // block // slices) * block)
        table = 0 if parameters.start == "memory" else -(-vertices // coarsen) * parameters.id.bytes
        return cls(slices, coarsen, largest * parameters.property.bytes + table)

    def _overflow(self, parameters: GraphicionadoConfiguration, vertices: int) -> str:
        is_set = parameters.slice.count or parameters.table.coarsen
        advice = "a larger slice.count or table.coarsen would do, or 0 for those that fit"
        return (
            f"edram.size is {parameters.edram.size}, and {vertices} vertices in {self.slices} slices with a "
            f"table of {self.coarsen} vertices an entry need {self.needed} bytes; "
            + (advice if is_set else "it should be larger")
        )

    def bounds(self, parameters: GraphicionadoConfiguration, vertices: int) -> Integers:
        """Return the first vertex of each slice, then the number of vertices (at least 1).

        The first vertices are multiples of the block size.
        """
        step = parameters.block.vertices
        blocks = -(-vertices // step)
        firsts = np.arange(self.slices) * blocks // self.slices * step
        return np.append(firsts, max(vertices, 1))
