"""Graphicionado's parameters; ``config.yaml`` has their defaults, units and sources."""

from __future__ import annotations

import builtins  # for its property: the configuration has a section of that name
from typing import Literal, Self

from pydantic import Field, model_validator

from fiberscope.accelerators.composition import CompositionParameters
from fiberscope.accelerators.configuration import Bytes, Configuration
from fiberscope.hw.memory.touched import WIDTHS
from fiberscope.hw.value_type import ValueName

GROUP = 8  # vertices of a job if all vertices are active: their entries in the table of edges fill a line
LARGEST_LINE = 128  # bytes of a line, so that a mask of its properties fits in a word


class Edram(Configuration):
    """Parameters of the on-chip memory of temporary properties and edge-id table, in cycles."""

    size: Bytes = Field(ge=1)
    read_latency: int = Field(ge=1, le=1000)
    write_latency: int = Field(ge=1, le=1000)


class Queue(Configuration):
    """Capacity of the channels between modules, and of each FIFO of the edge crossbar, in tokens."""

    depth: int = Field(ge=2, le=1024)


class Prefetch(Configuration):
    """Parameters of every reader: number of line buffers, and bytes of a line."""

    lines: int = Field(ge=1, le=1024)
    line: Bytes = Field(ge=16, le=LARGEST_LINE)


class Edge(Configuration):
    """Parameters of the edges.

    - ``readers_per_stream``: edge readers of a stream;
    - ``source``: whether an edge in memory has its source vertex;
    - ``start``: where the position of a vertex's first edge is stored: on the chip (``edram``), in
      ``memory``, or with the active vertex (``frontier``).
    """

    readers_per_stream: int = Field(ge=1, le=64)
    source: Literal["auto", "kept", "dropped"]
    start: Literal["auto", "edram", "memory", "frontier"]


class Width(Configuration):
    """Size of a value in bytes."""

    bytes: int = Field(ge=1, le=16)


class Compute(Configuration):
    """Latencies of the functional units in cycles; each starts one operation per cycle."""

    min_latency: int = Field(ge=1, le=1000)
    fp_add_latency: int = Field(ge=1, le=1000)


class Atomic(Configuration):
    """Parameters of the atomic update: what happens to an update whose destination is in flight."""

    mode: Literal["auto", "stall", "forward"]


class Apply(Configuration):
    """Parameters of the apply phase.

    - ``write_all``: whether all applied properties are written, or only lines with a changed property;
    - ``auto``: whether an iteration that touches many vertices applies all vertices.
    """

    write_all: Literal["auto", "true", "false"] | bool
    auto: bool


class Block(Configuration):
    """Number of vertices that share a bit of GraphDynS's bitmap."""

    vertices: int = Field(ge=1, le=1 << 20)


class Scan(Configuration):
    """Number of bits of a bitmap that are scanned per cycle."""

    bits: int = Field(ge=min(WIDTHS), le=max(WIDTHS))


class Slice(Configuration):
    """Number of slices, ranges of destinations that are processed in turn; 0 for the smallest that fits."""

    count: int = Field(ge=0, le=1 << 16)


class Table(Configuration):
    """Number of vertices that share an entry of the edge-id table; 0 for the smallest that fits."""

    coarsen: int = Field(ge=0, le=1 << 16)


class GraphicionadoConfiguration(CompositionParameters):
    """All parameters of Graphicionado; parameters that are ``auto`` follow from ``design``."""

    design: Literal["graphicionado", "sparse_access", "csr_like", "graphdyns"]
    value: ValueName
    streams: int = Field(ge=1, le=32)
    edram: Edram
    queue: Queue
    prefetch: Prefetch
    edge: Edge
    property: Width
    id: Width
    compute: Compute
    atomic: Atomic
    apply: Apply
    block: Block
    scan: Scan
    slice: Slice
    table: Table

    @builtins.property
    def keeps_source(self) -> bool:
        """Return whether edges in memory have their source, which shows the end of a vertex's edges."""
        if self.edge.source != "auto":
            return self.edge.source == "kept"
        return self.design in ("graphicionado", "sparse_access")

    @builtins.property
    def start(self) -> str:
        """Return where the position of a vertex's first edge is stored, as in ``Edge.start``."""
        start_by_design = {"csr_like": "memory", "graphdyns": "frontier"}
        return start_by_design.get(self.design, "edram") if self.edge.start == "auto" else self.edge.start

    @builtins.property
    def forwards(self) -> bool:
        """Return whether an update whose destination is in flight is forwarded to, and does not stall."""
        return self.atomic.mode == "forward" or (self.atomic.mode, self.design) == ("auto", "graphdyns")

    @builtins.property
    def selects(self) -> str:
        """Return which vertices are applied: ``all``, touched ``blocks``, or ``touched`` vertices."""
        return {"graphicionado": "all", "graphdyns": "blocks"}.get(self.design, "touched")

    @builtins.property
    def writes_all(self) -> bool:
        """Return whether all applied properties are written, and not only lines with a changed property."""
        text = str(self.apply.write_all).lower()
        return self.design == "graphicionado" if text == "auto" else text == "true"

    @builtins.property
    def line_vertices(self) -> int:
        """Return the number of properties in a line."""
        return self.prefetch.line // self.property.bytes

    @builtins.property
    def group(self) -> int:
        """Return the number of vertices of a job if all are active; their properties are in one line."""
        return min(GROUP, self.line_vertices)

    @builtins.property
    def entry_bytes(self) -> int:
        """Return the bytes of an active vertex in the frontier: id, property, and perhaps range of edges."""
        return self.id.bytes + self.property.bytes + (2 * self.id.bytes if self.start == "frontier" else 0)

    def edge_bytes(self, weighted: bool) -> int:
        """Return the bytes of an edge in memory; an edge with its source also has a weight, used or not.

        Args:
            weighted: whether the program uses weights.
        """
        # The source is an id as the destination is; a weight is as wide as a property
        if self.keeps_source:
            return 2 * self.id.bytes + self.property.bytes
        return self.id.bytes + (self.property.bytes if weighted else 0)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        """Check parameters against each other; each error names a parameter to change."""
        line, block = self.prefetch.line, self.block.vertices
        if line & (line - 1):
            raise ValueError(f"prefetch.line is {line} bytes; it should be a power of two")
        # A mask has a bit for each property of a line, at most 32
        if line % self.property.bytes or line // self.property.bytes > LARGEST_LINE // 4:
            raise ValueError(f"property.bytes is {self.property.bytes}; 4, 8 or 16 would do")
        if block % (self.streams * self.line_vertices):
            raise ValueError(
                f"block.vertices is {block}; it should be a multiple of {self.streams * self.line_vertices}, "
                "a line of each stream"
            )
        if self.scan.bits not in WIDTHS:
            raise ValueError(f"scan.bits is {self.scan.bits}; {' or '.join(map(str, WIDTHS))} would do")
        if max(self.entry_bytes, self.edge_bytes(weighted=True)) > line:
            raise ValueError(
                f"id.bytes is {self.id.bytes}; an active vertex and an edge should fit a line of {line} bytes"
            )
        # An entry of several vertices is the start of their first list; the sources tell the lists apart
        if self.table.coarsen > 1 and not (self.keeps_source and self.start == "edram"):
            raise ValueError(
                f"table.coarsen is {self.table.coarsen}; it should be 0 or 1 where edges have no source, by "
                "which those in front of a list are told, or where starts are not in the table"
            )
        self.memory.check(line)
        return self
