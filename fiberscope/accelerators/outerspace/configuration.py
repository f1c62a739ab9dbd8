"""OuterSPACE's parameters; ``config.yaml`` has their defaults, units and sources."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from fiberscope.accelerators.composition import Network
from fiberscope.accelerators.configuration import Bytes, Configuration
from fiberscope.accelerators.full_operands import OperandFormat
from fiberscope.accelerators.outerspace.layout import HEADS
from fiberscope.accelerators.values import TypedParameters
from fiberscope.hw.memory.cache_geometry import FiberCacheSpecification
from fiberscope.hw.memory.protocol import TENSOR_SHIFT


class Tiles(Configuration):
    """Parameters of the tiles: number of tiles, and of processing elements of a tile in each phase."""

    count: int = Field(ge=1, le=64)
    pe: int = Field(ge=1, le=64)
    merge_pe: int = Field(ge=1, le=64)


class ProcessingElement(Configuration):
    """Parameters of a processing element.

    - ``scratchpad``: size of the scratchpad;
    - ``outstanding``: largest number of requests in flight;
    - ``work_queue``: tasks that wait at the element;
    - ``fp_latency``: cycles of a floating-point operation.
    """

    scratchpad: Bytes = Field(ge=256, le=1 << 20)
    outstanding: int = Field(ge=2, le=1024)
    work_queue: int = Field(ge=1, le=1024)
    fp_latency: int = Field(ge=1, le=1000)


class Multiply(Configuration):
    """Parameters of the multiply phase.

    - ``assign``, ``order``: how elements of A are assigned to tiles, and the order of the columns; see
      ``groups.Groups``;
    - ``overlap_pairs``: largest number of unfinished groups of a tile;
    - ``product_cycles``: cycles of a product.
    """

    assign: Literal["tile", "chip", "flat"]
    order: Literal["index", "long_first"]
    overlap_pairs: int = Field(ge=1, le=64)
    product_cycles: int = Field(ge=1, le=1000)


class Merge(Configuration):
    """Parameters of the merge phase, see ``merger.MergingElement``.

    - ``element_access``: whether elements of T are loaded from memory (``element``) or through the private
      cache (``block``);
    - ``max_lists``: number of heads that fit in the scratchpad;
    - ``order``: order of the rows; ``long_first`` merges the rows with the most products first;
    - ``comparison_cycles``, ``emit_cycles``: cycles of a comparison, and of an element of Z;
    - ``heads``: ``unit`` for a separate unit that sorts the heads.
    """

    element_access: Literal["element", "block"]
    max_lists: int = Field(ge=1, le=1 << 16)
    order: Literal["index", "long_first"]
    comparison_cycles: int = Field(ge=0, le=1000)
    emit_cycles: int = Field(ge=0, le=1000)
    heads: Literal["core", "unit"]


class Allocation(Configuration):
    """Parameters of the allocation of T's nodes in static areas and a spill area, and of the linker.

    - ``static``, ``alpha``: whether each row has a static area, and its size as a multiple of the estimated
      bytes of a row;
    - ``slots``: largest number of nodes in flight in the linker;
    - ``queue``: addresses of nodes on their way to a processing element;
    - ``links``: ``unit`` for separate units that allocate the spill area and link nodes.
    """

    static: bool
    alpha: float = Field(ge=0, le=1000)
    slots: int = Field(ge=1, le=1024)
    queue: int = Field(ge=1, le=1024)
    links: Literal["core", "unit"]


class FirstLevel(Configuration):
    """Parameters of the caches of a tile: shared in the multiply phase, private in the merge phase.

    ``size``, ``misses`` (in flight) and ``targets`` (requests that wait for misses) are those of all
    ``banks`` of a tile. ``merge_cache`` and ``merge_misses`` are the size and the misses of each private
    cache.
    """

    size: Bytes = Field(ge=1)
    ways: int = Field(ge=1, le=1024)
    block: Bytes = Field(ge=16, le=4096)
    banks: int = Field(ge=1, le=256)
    misses: int = Field(ge=1, le=4096)
    targets: int = Field(ge=1, le=65536)
    latency: int = Field(ge=1, le=16)
    merge_cache: Bytes = Field(ge=1)
    merge_misses: int = Field(ge=1, le=4096)


class SecondLevel(Configuration):
    """Parameters of the second-level caches, each of which several tiles share."""

    count: int = Field(ge=1, le=64)
    size: Bytes = Field(ge=1)
    ways: int = Field(ge=1, le=1024)
    misses: int = Field(ge=1, le=4096)
    targets: int = Field(ge=1, le=65536)
    latency: int = Field(ge=1, le=16)


class OuterSpaceNetwork(Network):
    """Parameters of the networks; latencies in cycles within tiles, between cache levels, and of control."""

    tile_latency: int = Field(ge=1, le=1000)
    upper_latency: int = Field(ge=1, le=1000)
    control_latency: int = Field(ge=1, le=1000)


class Nodes(Configuration):
    """Parameters of the nodes of T: bytes of a header, and the alignment of a node."""

    header: Bytes = Field(ge=4, le=64)
    node_align: Bytes = Field(ge=4, le=64)


@dataclass(frozen=True)
class MultiplierSpecification:
    """Specification of a processing element of the multiply phase.

    Args:
        block_bytes: bytes of a load and of a store.
        burst_bytes: bytes of a store that lies within one burst.
        outstanding: largest number of loads in flight, and of nodes that are not completely stored.
        scratchpad_bytes: half of it for elements of B ahead of their product, half for products to be stored.
        product_cycles: cycles of one product, an iteration of the core's loop.
        header_bytes: bytes of the header of a node.
        values: name of the type of all values.
    """

    block_bytes: int
    burst_bytes: int
    outstanding: int
    scratchpad_bytes: int
    product_cycles: int
    header_bytes: int
    values: str


@dataclass(frozen=True)
class MergerSpecification:
    """Specification of a processing element of the merge phase.

    Args:
        block_bytes: bytes of a load through the private cache, and of a store of Z.
        burst_bytes: bytes of a load from memory that lies within one burst.
        outstanding: largest number of loads in flight.
        max_lists: largest number of heads in the scratchpad.
        comparison_cycles: cycles of one step of the insertion.
        emit_cycles: cycles of an element of Z.
        add_cycles: cycles of an addition.
        header_bytes: bytes of the header of a node.
        element_bytes: bytes of an element of T and Z.
        values: name of the type of all values.
        heads: address of the head of the first row's list.
        by_block: whether elements are loaded through the private cache; else each is fetched from memory.
    """

    block_bytes: int
    burst_bytes: int
    outstanding: int
    max_lists: int
    comparison_cycles: int
    emit_cycles: int
    add_cycles: int
    header_bytes: int
    element_bytes: int
    values: str
    heads: int
    by_block: bool


class Format(OperandFormat):
    """Format of the tensors: bytes of an ``element`` of T and Z, and of a ``value`` of A and B."""

    element: Bytes = Field(ge=1, le=64)
    value: Bytes = Field(ge=1, le=64)


class OuterSpaceConfiguration(TypedParameters):
    """All parameters of OuterSPACE."""

    METADATA_BITS: ClassVar = {"element": 32, "value": 0}

    tile: Tiles
    pe: ProcessingElement
    multiply: Multiply
    merge: Merge
    alloc: Allocation
    l0: FirstLevel
    l1: SecondLevel
    network: OuterSpaceNetwork
    t: Nodes
    format: Format

    @property
    def l0_bank(self) -> FiberCacheSpecification:
        """Return the specification of a bank of a tile's cache in the multiply phase."""
        l0 = self.l0
        # Rounded up, so that each bank has at least one
        misses, targets = -(-l0.misses // l0.banks), -(-l0.targets // l0.banks)
        return self._cache("l0.size", l0.size, l0.banks, l0.ways, l0.latency, misses, targets)

    @property
    def private_cache(self) -> FiberCacheSpecification:
        """Return the specification of the private cache of a processing element in the merge phase."""
        l0, misses = self.l0, self.l0.merge_misses
        return self._cache("l0.merge_cache", l0.merge_cache, 1, l0.ways, l0.latency, misses, misses)

    @property
    def l1_cache(self) -> FiberCacheSpecification:
        """Return the specification of a second-level cache."""
        l1 = self.l1
        return self._cache("l1.size", l1.size, 1, l1.ways, l1.latency, l1.misses, l1.targets)

    def _cache(
        self, key: str, size: int, banks: int, ways: int, stages: int, misses: int, targets: int
    ) -> FiberCacheSpecification:
        """Return the specification of a cache without priorities of lines, since it only serves reads.

        Args:
            key: key of the parameter with the size, for the error message.
            size: bytes of all banks.
            banks, ways: number of banks, and of ways of a set.
            stages: cycles of a hit.
            misses, targets: misses in flight of a bank, and requests that wait for them.

        Raises:
            ValueError: if the size is not a multiple of a set in every bank.
        """
        # The first level's block is the line of all caches
        sets, rest = divmod(size, banks * ways * self.l0.block)
        if sets == 0 or rest:
            unit = banks * ways * self.l0.block
            raise ValueError(
                f"{key} is {size} bytes; it should be a multiple of {unit}, banks x ways x block"
            )
        return FiberCacheSpecification(
            banks=banks,
            sets=sets,
            ways=ways,
            line_bytes=self.l0.block,
            stages=stages,
            priority_limit=0,
            misses=misses,
            targets=targets,
        )

    @property
    def multiplier(self) -> MultiplierSpecification:
        """Return the specification of a processing element of the multiply phase."""
        return MultiplierSpecification(
            block_bytes=self.l0.block,
            burst_bytes=min(self.l0.block, self.memory.burst_bytes),
            outstanding=self.pe.outstanding,
            scratchpad_bytes=self.pe.scratchpad,
            product_cycles=self.multiply.product_cycles,
            header_bytes=self.t.header,
            values=self.value,
        )

    @property
    def merger(self) -> MergerSpecification:
        """Return the specification of a processing element of the merge phase."""
        return MergerSpecification(
            block_bytes=self.l0.block,
            burst_bytes=min(self.l0.block, self.memory.burst_bytes),
            outstanding=self.pe.outstanding,
            max_lists=self.merge.max_lists,
            comparison_cycles=self.merge.comparison_cycles,
            emit_cycles=self.merge.emit_cycles,
            add_cycles=self.pe.fp_latency,
            header_bytes=self.t.header,
            element_bytes=self.format.element,
            values=self.value,
            heads=HEADS << TENSOR_SHIFT,
            by_block=self.merge.element_access == "block",
        )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        """Check parameters that limit each other, and that every cache consists of whole sets."""
        self.memory.check(self.l0.block)
        if self.tile.merge_pe > self.tile.pe:
            raise ValueError(
                f"tile.merge_pe is {self.tile.merge_pe}; it should be at most tile.pe, {self.tile.pe}"
            )
        if self.tile.count % self.l1.count:
            raise ValueError(f"l1.count is {self.l1.count}; it should divide tile.count, {self.tile.count}")
        # A block must hold an element of T or Z, and an element its value
        element, value = self.format.element, self.format.value
        if not value <= element <= self.l0.block:
            raise ValueError(
                f"format.element is {element} bytes; it should be at least format.value, {value}, and at "
                f"most l0.block, {self.l0.block}"
            )
        if self.l0.block % value:
            raise ValueError(f"format.value is {value} bytes; it should divide l0.block, {self.l0.block}")
        # A block is stored when all elements that begin in it or lie across its start are in the scratchpad.
        # All offsets are multiples of ``step``. Most elements are needed if an element lies across each end
        # of the block, with ``step`` bytes inside, and whole elements fill the rest.
        step = math.gcd(self.l0.block, self.t.node_align, self.t.header, element)
        needed = ((self.l0.block - 2 * step) // element + 2) * element
        if self.pe.scratchpad // 2 < needed:
            raise ValueError(
                f"pe.scratchpad is {self.pe.scratchpad} bytes; half of it should hold the elements of a "
                f"block of T, {needed} bytes"
            )
        # The properties raise ``ValueError`` for a size that does not fit.
        for _cache in (self.l0_bank, self.private_cache, self.l1_cache):
            pass
        if self.l0.block % self.t.node_align and self.t.node_align % self.l0.block:
            raise ValueError(
                f"t.node_align is {self.t.node_align} bytes; it should divide l0.block or be its multiple"
            )
        return self
