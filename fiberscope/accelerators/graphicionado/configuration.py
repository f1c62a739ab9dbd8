"""Graphicionado's parameters; ``config.yaml`` has their defaults, units and sources."""

from __future__ import annotations

import builtins  # for its property: the configuration has a section of that name
from typing import Literal, Self

from pydantic import Field, model_validator

from fiberscope.accelerators.composition import CompositionParameters
from fiberscope.accelerators.configuration import Bytes, Configuration
from fiberscope.hw.memory.touched import WIDTHS
from fiberscope.hw.value_type import ValueName

GROUP = 8  # vertices of a job where all are active: the starts of their edges fill a line
LARGEST_LINE = 128  # bytes: a mask says which of its properties are meant


class Edram(Configuration):
    """The on-chip memory of temporary properties and of the edge-id table; latencies in cycles."""

    size: Bytes = Field(ge=1)
    read_latency: int = Field(ge=1, le=1000)
    write_latency: int = Field(ge=1, le=1000)


class Queue(Configuration):
    """Tokens between two modules, and in each FIFO of the crossbar between streams."""

    depth: int = Field(ge=2, le=1024)


class Prefetch(Configuration):
    """The line buffers of every reader."""

    lines: int = Field(ge=1, le=1024)
    line: Bytes = Field(ge=16, le=LARGEST_LINE)


class Edge(Configuration):
    """Edges in memory, and who reads them."""

    readers_per_stream: int = Field(ge=1, le=64)
    source: Literal["auto", "kept", "dropped"]
    start: Literal["auto", "edram", "memory", "frontier"]


class Width(Configuration):
    """Bytes of a value."""

    bytes: int = Field(ge=1, le=16)


class Compute(Configuration):
    """Latencies of the functional units in cycles, each of which begins something in every cycle."""

    min_latency: int = Field(ge=1, le=1000)
    fp_add_latency: int = Field(ge=1, le=1000)


class Atomic(Configuration):
    """Behaviour of an update whose destination is in flight."""

    mode: Literal["auto", "stall", "forward"]


class Apply(Configuration):
    """The apply phase."""

    write_all: Literal["auto", "true", "false"] | bool
    auto: bool


class Block(Configuration):
    """Vertices that share a bit of GraphDynS's bitmap."""

    vertices: int = Field(ge=1, le=1 << 20)


class Scan(Configuration):
    """Bits of a bitmap that are looked at in a cycle."""

    bits: int = Field(ge=min(WIDTHS), le=max(WIDTHS))


class Slice(Configuration):
    """Parts of the destinations that are processed one after the other; 0: as many as the eDRAM needs."""

    count: int = Field(ge=0, le=1 << 16)


class Table(Configuration):
    """Vertices that share an entry of the edge-id table; 0: as many as the eDRAM needs."""

    coarsen: int = Field(ge=0, le=1 << 16)


class GraphicionadoConfiguration(CompositionParameters):
    """All parameters; those that are ``auto`` follow from the design."""

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
        """Return whether edges in memory have their source, by which the end of a list is seen."""
        if self.edge.source != "auto":
            return self.edge.source == "kept"
        return self.design in ("graphicionado", "sparse_access")

    @builtins.property
    def start(self) -> str:
        """Return where the begin of a vertex's edges is found."""
        own = {"csr_like": "memory", "graphdyns": "frontier"}
        return own.get(self.design, "edram") if self.edge.start == "auto" else self.edge.start

    @builtins.property
    def forwards(self) -> bool:
        """Return whether updates forward."""
        return self.atomic.mode == "forward" or (self.atomic.mode, self.design) == ("auto", "graphdyns")

    @builtins.property
    def selects(self) -> str:
        """Return which vertices are applied: ``all``, those of touched ``blocks``, or ``touched`` ones."""
        return {"graphicionado": "all", "graphdyns": "blocks"}.get(self.design, "touched")

    @builtins.property
    def writes_all(self) -> bool:
        """Return whether the properties of all that is applied are written."""
        text = str(self.apply.write_all).lower()
        return self.design == "graphicionado" if text == "auto" else text == "true"

    @builtins.property
    def line_vertices(self) -> int:
        """Properties in a line."""
        return self.prefetch.line // self.property.bytes

    @builtins.property
    def group(self) -> int:
        """Vertices of a job where all are active; their properties are in a line."""
        return min(GROUP, self.line_vertices)

    @builtins.property
    def entry_bytes(self) -> int:
        """Bytes of an active vertex in its list: id, property, and perhaps where its edges begin and end."""
        return self.id.bytes + self.property.bytes + (2 * self.id.bytes if self.start == "frontier" else 0)

    def edge_bytes(self, weighted: bool) -> int:
        """Bytes of an edge in memory; with its source it has a weight too, used or not."""
        if self.keeps_source:
            return 2 * self.id.bytes + self.property.bytes
        return self.id.bytes + (self.property.bytes if weighted else 0)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        line, block = self.prefetch.line, self.block.vertices
        if line & (line - 1):
            raise ValueError(f"prefetch.line is {line} bytes; it should be a power of two")
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
        if self.table.coarsen > 1 and not (self.keeps_source and self.start == "edram"):
            raise ValueError(
                f"table.coarsen is {self.table.coarsen}; it should be 0 or 1 where edges have no source, by "
                "which those in front of a list are told, or where starts are not in the table"
            )
        self.memory.check(line)
        return self
