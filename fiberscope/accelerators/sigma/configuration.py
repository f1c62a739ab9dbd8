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
NETWORK_CYCLES = 1  # cycles of the distribution network without stages: its output register


class FlexDpes(Configuration):
    """Parameters of the Flex-DPEs: how many there are, and the number of multipliers of each."""

    count: int = Field(ge=1, le=1024)
    multipliers: int = integer_field(LEAVES)


class Slices(Configuration):
    """Parameters of slices: ``k`` is the number of coordinates of the shared rank K in a slice."""

    k: int = Field(ge=1, le=LEAVES[1])


class Packing(Configuration):
    """Parameters of packing, which determine the contents of a fold."""

    by: Literal["nonzeros", "rows"]
    slices: Literal["many", "one"]
    filter: Literal["auto", "regor", "none"]
    zeros: Literal["drop", "keep"]


class Load(Configuration):
    """Parameters of loading stationary values into the multipliers."""

    words_per_cycle: int = Field(ge=1, le=1 << 16)
    double_buffer: bool


class Port(Configuration):
    """Parameters of a port of the data SRAM; 0 words per cycle means no limit."""

    words_per_cycle: int = Field(ge=0, le=1 << 20)


class Benes(Configuration):
    """Parameters of the distribution network of a Flex-DPE; ``stages`` counts its pipeline registers."""

    stages: int = Field(ge=0, le=14)


class Reduction(Configuration):
    """Parameters of the adders after the multipliers, in cycles."""

    levels_outside_dpe: int = Field(ge=1, le=64)
    flush: int = Field(ge=0, le=1024)


class Controlling(Configuration):
    """Parameters of the controller, which scans the bitmaps."""

    bits_per_cycle: int = Field(ge=1, le=1 << 30)
    first_fold: Literal["hidden", "counted"]


class Sram(Configuration):
    """Parameters of the on-chip memories: sizes in bytes, and the bandwidth of the data SRAM."""

    data: Bytes = Field(ge=1)
    bitmap: Bytes = Field(ge=1)
    bandwidth: BytesPerSecond = Field(ge=10**6)  # with less bandwidth, a column takes millions of cycles


class Values(Configuration):
    """Type of all values, bytes of an operand's value, and bytes of a sum."""

    type: ValueName
    bytes: int = Field(ge=1, le=64)
    sum_bytes: int = Field(ge=1, le=64)


class Streams(Configuration):
    """Parameters of the streams between memory and the data SRAM.

    - ``line``, ``lines``: bytes of a line, and lines of a stream in flight;
    - ``columns``: columns of a pass;
    - ``passes``: largest number of passes in flight.
    """

    line: Bytes = Field(ge=16, le=4096)
    lines: int = Field(ge=1, le=1 << 16)
    columns: int = Field(ge=1, le=1 << 20)
    passes: int = Field(ge=2, le=1024)


class Memory(MemoryParameters):
    """Parameters of the memory; with ``none``, operands and product are in the SRAM, whatever their size."""

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
        """Return the number of multipliers of the machine."""
        return self.dpe.count * self.dpe.multipliers

    @property
    def filtered(self) -> bool:
        """Return whether stationary nonzeros without a nonzero partner are left out.

        With ``auto``, they are left out if the machine has a memory.
        """
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
        """Return the cycles in which a line is loaded: one value for each multiplier of a Flex-DPE."""
        return -(-self.dpe.multipliers // self.load.words_per_cycle)

    @property
    def sums_latency(self) -> int:
        """Return the cycles from a column at the distribution network to its sums at the accumulators."""
        network = NETWORK_CYCLES + self.benes.stages
        inside = network + MULTIPLIER_CYCLES + depth(self.dpe.multipliers)
        return inside + self.reduce.levels_outside_dpe - 1  # one of these cycles is the channel to a Flex-DPE

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        # A Benes network with n inputs has 2 log2(n) - 1 columns of switches.
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
