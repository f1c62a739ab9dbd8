"""SIGMA's parameters; ``config.yaml`` has their defaults, units and sources."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from fiberscope.accelerators.composition import CompositionParameters
from fiberscope.accelerators.configuration import Bytes, BytesPerSecond, Configuration, integer_field
from fiberscope.accelerators.memory import MemoryParameters
from fiberscope.hw.lanes.adder_network import LEAVES, depth
from fiberscope.hw.value_type import ValueName

MULTIPLIER_CYCLES = 1
NETWORK_CYCLES = 1  # of the distribution network: the register behind it


class FlexDpes(Configuration):
    """Number of the Flex-DPEs, and multipliers of each."""

    count: int = Field(ge=1, le=1024)
    multipliers: int = integer_field(LEAVES)


class Slices(Configuration):
    """Cut of the shared rank K."""

    k: int = Field(ge=1, le=LEAVES[1])


class Packing(Configuration):
    """Contents of a fold."""

    by: Literal["nonzeros", "rows"]
    slices: Literal["many", "one"]
    filter: Literal["auto", "regor", "none"]
    zeros: Literal["drop", "keep"]


class Load(Configuration):
    """The stationary operand's way into the multipliers."""

    words_per_cycle: int = Field(ge=1, le=1 << 16)
    double_buffer: bool


class Port(Configuration):
    """A port that moves so many words a cycle; 0 is any number."""

    words_per_cycle: int = Field(ge=0, le=1 << 20)


class Benes(Configuration):
    """The distribution network of a Flex-DPE."""

    stages: int = Field(ge=0, le=14)


class Reduction(Configuration):
    """The adders behind the multipliers, in cycles."""

    levels_outside_dpe: int = Field(ge=1, le=64)
    flush: int = Field(ge=0, le=1024)


class Controlling(Configuration):
    """The controller's scan of the bitmaps."""

    bits_per_cycle: int = Field(ge=1, le=1 << 30)
    first_fold: Literal["hidden", "counted"]


class Sram(Configuration):
    """The memories on the chip."""

    data: Bytes = Field(ge=1)
    bitmap: Bytes = Field(ge=1)
    bandwidth: BytesPerSecond = Field(ge=10**6)  # of less, a column is millions of cycles


class Values(Configuration):
    """Type of all values; bytes of an operand's and of a sum."""

    type: ValueName
    bytes: int = Field(ge=1, le=64)
    sum_bytes: int = Field(ge=1, le=64)


class Streams(Configuration):
    """The streams between memory and the data SRAM."""

    line: Bytes = Field(ge=16, le=4096)
    lines: int = Field(ge=1, le=1 << 16)
    columns: int = Field(ge=1, le=1 << 20)
    passes: int = Field(ge=2, le=1024)


class Memory(MemoryParameters):
    """The memory, or none: operands and product lie in SRAM, whatever their size."""

    model: Literal["dram", "simple", "none"]  # type: ignore[assignment]  # one more than other machines have


class SigmaConfiguration(CompositionParameters):
    """All parameters of SIGMA."""

    stationary: Literal["A", "B"]
    dpe: FlexDpes
    slice: Slices
    pack: Packing
    load: Load
    input: Port
    benes: Benes
    reduce: Reduction
    output: Port
    controller: Controlling
    sram: Sram
    value: Values
    step: Literal["auto", "unit", "column", "chunk"]
    stream: Streams
    memory: Memory

    @property
    def fold(self) -> int:
        """Multipliers of the machine."""
        return self.dpe.count * self.dpe.multipliers

    @property
    def filtered(self) -> bool:
        """Return whether nonzeros without a partner are left out; ``auto`` loads them without memory."""
        return self.pack.filter == "regor" or (self.pack.filter == "auto" and self.memory.model != "none")

    @property
    def unlimited(self) -> bool:
        """Return whether a column of all slices of a fold is streamed at once."""
        return self.input.words_per_cycle == 0

    @property
    def gathered(self) -> bool:
        """Return whether a multiplier's word comes from anywhere in K, not through a slice's network."""
        return self.unlimited or self.pack.by == "rows"

    @property
    def line_cycles(self) -> int:
        """Cycles of loading one Flex-DPE."""
        return -(-self.dpe.multipliers // self.load.words_per_cycle)

    @property
    def sums_latency(self) -> int:
        """Cycles from a column at the multipliers' networks to its sums at the accumulators."""
        network = NETWORK_CYCLES + self.benes.stages
        inside = network + MULTIPLIER_CYCLES + depth(self.dpe.multipliers)
        return inside + self.reduce.levels_outside_dpe - 1  # the first of them is that of the way in

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        multipliers, columns = self.dpe.multipliers, 2 * depth(self.dpe.multipliers) - 1
        if multipliers & (multipliers - 1):
            raise ValueError(f"dpe.multipliers is {multipliers}; it should be a power of two")
        if self.slice.k > multipliers:
            raise ValueError(
                f"slice.k is {self.slice.k}, and a fold cannot be packed: the network of a Flex-DPE has "
                f"{multipliers} inputs (dpe.multipliers), at least as many as a slice has coordinates"
            )
        if self.benes.stages >= columns:
            raise ValueError(
                f"benes.stages is {self.benes.stages}; between {columns} columns of switches are at most "
                f"{columns - 1} registers"
            )
        self.memory.check(self.stream.line)
        return self
