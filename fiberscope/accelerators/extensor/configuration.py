"""Parameters of ExTensor; ``config.yaml`` has their defaults, units and sources."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from fiberscope.accelerators.composition import ElementNetwork
from fiberscope.accelerators.configuration import Bytes, Configuration
from fiberscope.accelerators.extensor.layout import HALVES, SPARE_SLOTS
from fiberscope.accelerators.full_operands import OperandFormat
from fiberscope.accelerators.values import TypedParameters
from fiberscope.workloads.fibertree_format import RankFormat

SCANNERS = "scanners"  # intersection rule of coordinate scanners
PUBLISHED = "published"  # the tiling that this machine chooses by itself


class ProcessingElements(Configuration):
    """Number, buffer, microtile side and queues of the processing elements."""

    count: int = Field(ge=1, le=1024)
    buffer: Bytes = Field(ge=1)
    tile: int = Field(ge=1, le=1024)
    task_queue: int = Field(ge=1, le=1024)
    slots: int = Field(ge=1 + SPARE_SLOTS, le=1024)
    scanner_coordinates: int = Field(ge=0, le=1024)


class LastLevelBuffer(Configuration):
    """The last-level buffer, its intersectors and its dispatch."""

    size: Bytes = Field(ge=1)
    window: Literal["tiles", "rows"]
    halves: int = Field(ge=1, le=HALVES)
    intersectors: int = Field(ge=1, le=1024)
    port: Bytes = Field(ge=1)
    pair_queue: int = Field(ge=1, le=1024)
    dispatch: Literal["home", "turn"]
    barrier: bool

    @property
    def by_rows(self) -> bool:
        """Return whether the buffer loads and drains single rows of A and Z instead of whole tiles."""
        return self.window == "rows"

    @property
    def tiles(self) -> int:
        """Return the number of whole tiles of each operand that the buffer has to hold."""
        return 1 if self.by_rows else self.halves


class Tile(Configuration):
    """Shape of a tile of the last-level buffer, in microtiles; 0 leaves it to ``tiles.Tiling``."""

    m: int = Field(ge=0, le=1 << 20)
    k: int = Field(ge=0, le=1 << 20)
    n: int = Field(ge=0, le=1 << 20)


class Stream(Configuration):
    """The streams between memory and the last-level buffer."""

    line: Bytes = Field(ge=16, le=4096)
    lines: int = Field(ge=1, le=1 << 16)
    jobs: int = Field(ge=1, le=1024)


class Format(OperandFormat):
    """Bits of the stored tensors' parts."""

    a_microtile: int = Field(ge=0, le=1024)
    b_row: int = Field(ge=0, le=1024)
    b_microtile: int = Field(ge=0, le=1024)
    fiber: int = Field(ge=0, le=1024)
    element: int = Field(ge=1, le=1024)
    value: int = Field(ge=8, le=1024)
    output: int = Field(ge=8, le=1024)

    def ranks(self, operand: str, dense: bool) -> dict[str, RankFormat]:
        """Return the formats of the ranks of A or B that are in memory; the sequencer holds the upper ranks.

        Args:
            operand: "A" or "B".
            dense: whether the operand is stored as values only.
        """
        lists = {"K1": self.a_microtile, "M0": self.fiber}
        if operand == "B":
            lists = {"N1": self.b_row, "K1": self.b_microtile, "N0": self.fiber}
        bits = {**lists, "K0": self.element}
        if dense:
            bits = {**dict.fromkeys(lists, 0), "K0": self.value}
        return {rank: RankFormat("C", payload=size) for rank, size in bits.items()}

    @model_validator(mode="after")
    def _whole(self) -> Self:
        """Check that all sizes are whole bytes, and that an element contains its value."""
        for key, bits in self:
            if key != "dense" and bits % 8:
                raise ValueError(f"format.{key} is {bits} bits; it should be whole bytes")
        if self.value > self.element:
            raise ValueError(
                f"format.value is {self.value} bits; it is a part of an element of {self.element}"
            )
        return self


class ExTensorConfiguration(TypedParameters):
    """All parameters of ExTensor."""

    # Bits beside the value in each size of ``format`` that may be ``auto``; sizes are in bits, hence UNIT
    METADATA_BITS: ClassVar = {"element": 32, "value": 0, "output": 64}
    UNIT: ClassVar = 1

    intersection: Literal["skip", "two_finger", "scanners"]
    step: Literal["product", "unit"]
    pe: ProcessingElements
    llb: LastLevelBuffer
    tiling: Literal["published", "conservative", "prescient", "d2t2", "d2t2-counted"]
    tile: Tile
    network: ElementNetwork
    stream: Stream
    format: Format

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        """Check the line of memory, and parameters that are of use only together."""
        self.memory.check(self.stream.line)
        if self.pe.scanner_coordinates and self.intersection != SCANNERS:
            raise ValueError(
                f"pe.scanner_coordinates is {self.pe.scanner_coordinates}, of scanners, and intersection is "
                f"{self.intersection}; set it to {SCANNERS}, or leave the other at 0"
            )
        chosen = (self.tile.m, self.tile.k, self.tile.n)
        if any(chosen) and not all(chosen):
            raise ValueError(f"tile.m, tile.k, tile.n are {chosen}; give all three, or 0 for all three")
        # Another tiling computes the shape from the operands
        if all(chosen) and self.tiling != PUBLISHED:
            raise ValueError(f"tiling {self.tiling} chooses the shape; leave tile.m, tile.k, tile.n at 0")
        return self
