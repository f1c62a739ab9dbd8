"""Capacity of the chip: the number of slices of a graph, and the granularity of its edge-id table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.accelerators.graphicionado.configuration import GraphicionadoConfiguration
from fiberscope.workloads.canonical import Integers

__all__ = ["Fit"]

MOST = 1 << 16  # slices, and vertices of an entry


@dataclass(frozen=True)
class Fit:
    """Fit of a graph into the eDRAM.

    Args:
        slices: ranges of destinations.
        coarsen: vertices that share an entry of the edge-id table.
        needed: bytes of eDRAM that this takes.
    """

    slices: int
    coarsen: int
    needed: int

    @classmethod
    def find(cls, parameters: GraphicionadoConfiguration, vertices: int) -> Fit:
        """The numbers given, or where they are not the smallest powers of two with which it fits.

        Raises:
            ConfigurationError: what is given does not fit.
        """
        slices, coarsen = parameters.slice.count, parameters.table.coarsen
        most_slices = 1 if slices else min(MOST, -(-vertices // parameters.block.vertices))
        told_by_source = parameters.start == "edram" and parameters.keeps_source
        most_coarsen = min(MOST, vertices) if told_by_source and not coarsen else 1
        fit = cls._build(parameters, vertices, max(1, slices), max(1, coarsen))
        while fit.needed > parameters.edram.size:
            cuts, coarsens = fit.slices < most_slices, fit.coarsen < most_coarsen
            if not (cuts or coarsens):
                raise ConfigurationError(fit._overflow(parameters, vertices))
            # The larger of the two shares shrinks first; where they are equal, that of the slices.
            grows = cuts and (fit.slices <= fit.coarsen or not coarsens)
            factors = (2, 1) if grows else (1, 2)
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
        larger = "a larger slice.count or table.coarsen would do, or 0 for those that fit"
        return (
            f"edram.size is {parameters.edram.size}, and {vertices} vertices in {self.slices} slices with a "
            f"table of {self.coarsen} vertices an entry need {self.needed} bytes; "
            + (larger if is_set else "it should be larger")
        )

    def bounds(self, parameters: GraphicionadoConfiguration, vertices: int) -> Integers:
        """The first vertex of each slice, and the one behind the last; at multiples of blocks."""
        step = parameters.block.vertices
        blocks = -(-vertices // step)
        firsts = np.arange(self.slices) * blocks // self.slices * step
        return np.append(firsts, max(vertices, 1))
