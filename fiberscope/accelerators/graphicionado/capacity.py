"""Capacity of the chip: the number of slices of a graph, and the granularity of its edge-id table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.accelerators.graphicionado.configuration import GraphicionadoConfiguration
from fiberscope.workloads.canonical import Integers

LIMIT = 1 << 16  # upper bound of the number of slices, and of the vertices that share a table entry


@dataclass(frozen=True)
class EdramDivision:
    """A division of a graph into slices, and a granularity of its edge-id table, for a given eDRAM.

    Args:
        slices: number of slices, which are ranges of destination vertices.
        vertices_per_entry: number of vertices that share an entry of the edge-id table.
        needed_bytes: bytes of eDRAM for the temporary properties of the largest slice, and for the table.
    """

    slices: int
    vertices_per_entry: int
    needed_bytes: int

    @classmethod
    def find(cls, parameters: GraphicionadoConfiguration, vertices: int) -> EdramDivision:
        """Return the first division into slices and shared table entries with which the graph fits.

        A number that is configured as 0 starts at 1; the smaller of such numbers is doubled until the graph
        fits. Any other number is kept, but there are at most as many slices as blocks of vertices, and at
        least one. Entries are shared only if they are configured so, or if the table has starts and edges
        hold their source.

        Args:
            parameters: configuration of the machine.
            vertices: number of vertices of the graph.

        Raises:
            ConfigurationError: if the graph does not fit in the eDRAM.
        """
        slices, per_entry = parameters.slice.count, parameters.table.coarsen
        max_slices = 1 if slices else min(LIMIT, -(-vertices // parameters.block.vertices))
        # A shared entry points to the first edge of several vertices. A reader skips the edges of the other
        # vertices by their source, which edges must then hold.
        can_share_entries = parameters.start == "edram" and parameters.keeps_source
        max_per_entry = min(LIMIT, vertices) if can_share_entries and not per_entry else 1
        division = cls._build(parameters, vertices, max(1, slices), max(1, per_entry))
        while division.needed_bytes > parameters.edram.size:
            slices, per_entry = division.slices, division.vertices_per_entry
            can_slice, can_share = slices < max_slices, per_entry < max_per_entry
            if not (can_slice or can_share):
                raise ConfigurationError(division._describe_overflow(parameters, vertices))
            # Double the smaller of the two numbers; if both are equal, the number of slices.
            if can_slice and (slices <= per_entry or not can_share):
                division = cls._build(parameters, vertices, 2 * slices, per_entry)
            else:
                division = cls._build(parameters, vertices, slices, 2 * per_entry)
        return division

    @classmethod
    def _build(
        cls, parameters: GraphicionadoConfiguration, vertices: int, slices: int, per_entry: int
    ) -> EdramDivision:
        """Return a division, with the number of slices limited by the blocks, and the bytes that it needs."""
        block = parameters.block.vertices
        blocks = -(-vertices // block)
        slices = min(slices, max(1, blocks))
        slice_vertices = min(vertices, -(-blocks // slices) * block)  # vertices of the largest slice
        # With ``frontier``, the apply pipe copies the range of edges of an active vertex from the table to
        # its entry. If all vertices are active, there are no entries, and the dispatcher reads the table.
        table_bytes = 0 if parameters.start == "memory" else -(-vertices // per_entry) * parameters.id.bytes
        return cls(slices, per_entry, slice_vertices * parameters.property.bytes + table_bytes)

    def _describe_overflow(self, parameters: GraphicionadoConfiguration, vertices: int) -> str:
        is_configured = parameters.slice.count > 0 or parameters.table.coarsen > 0
        advice = "increase slice.count or table.coarsen, or set them to 0 to choose numbers that fit"
        return (
            f"edram.size is {parameters.edram.size}, and {vertices} vertices in {self.slices} slices with a "
            f"table with {self.vertices_per_entry} vertices per entry need {self.needed_bytes} bytes; "
            + (advice if is_configured else "increase edram.size")
        )

    def slice_bounds(self, parameters: GraphicionadoConfiguration, vertices: int) -> Integers:
        """Return the first vertex of each slice, then the number of vertices (at least 1).

        The first vertices are multiples of the block size.
        """
        block = parameters.block.vertices
        blocks = -(-vertices // block)
        # The longest slice has ceil(blocks / slices) blocks, as ``_build`` assumes.
        first_vertices = np.arange(self.slices) * blocks // self.slices * block
        return np.append(first_vertices, max(vertices, 1))
