"""MINT's parameters; ``config.yaml`` has their defaults, units and sources."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from fiberscope.accelerators.composition import CompositionParameters
from fiberscope.accelerators.configuration import Bytes, Configuration
from fiberscope.hw.lanes.position_multiplier import DEPTH
from fiberscope.hw.lanes.prefix_sum import FORMS

WORD_BITS = 32  # bits of a word on the chip
COUNTER_BYTES = 4  # bytes of a counter, which is a word on the chip


class Lanes(Configuration):
    """Parameters of the blocks.

    - ``words``: words per cycle of reader, writer, and stages without a parameter of their own;
    - ``chunk``: keys that are sorted and counted per cycle, a power of two;
    - ``scatter``: items that are scattered per cycle;
    - ``scan``: values that the prefix sum adds up per cycle;
    - ``divide``, ``multiply``: dividers and multipliers; chained divisions of an item share them;
    - ``divide_latency``, ``multiply_latency``: cycles of a division and of a multiplication. A divider
      computes a whole number of bits per stage: if the latency is no divisor of 32, a division of 32 bits
      can take fewer cycles. A position of more bits takes more cycles.
    """

    words: int = Field(ge=1, le=64)
    chunk: int = Field(ge=1, le=64)
    scatter: int = Field(ge=1, le=64)
    scan: int = Field(ge=1, le=32)
    divide: int = Field(ge=1, le=64)
    multiply: int = Field(ge=1, le=64)
    divide_latency: int = Field(ge=1, le=1000)
    multiply_latency: int = Field(ge=DEPTH, le=1000)


class Pad(Configuration):
    """Parameters of the scratchpad, which holds the counters."""

    size: Bytes = Field(ge=COUNTER_BYTES)
    banks: int = Field(ge=1, le=256)


class Port(Configuration):
    """Parameters of the memory controller.

    - ``lines``: line buffers of each array that is read;
    - ``backlog``: full, unwritten lines from which the writer takes no more items;
    - ``ideal``: whether memory has no latency, and the machine no memory channels.
    """

    lines: int = Field(ge=2, le=1 << 14)
    backlog: int = Field(ge=1, le=1 << 14)
    ideal: bool


class MintParameters(CompositionParameters):
    """All parameters of MINT."""

    variant: Literal["mint_b", "mint_m", "mint_mr"]
    scan_form: Literal["serial", "work-efficient", "parallel"]
    lanes: Lanes
    scratchpad: Pad
    port: Port
    bsr_order: Literal["ascending", "first_seen"]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        # 64 bytes: a line, the unit of all requests to memory
        self.memory.check(64)
        if self.lanes.chunk & (self.lanes.chunk - 1):
            raise ValueError(f"lanes.chunk is {self.lanes.chunk}; a bitonic network sorts a power of two")
        assert self.scan_form in FORMS
        return self

    @property
    def counters(self) -> int:
        """Return the number of counters in the scratchpad."""
        return self.scratchpad.size // COUNTER_BYTES

    @property
    def division_bits(self) -> int:
        """Return the quotient bits per divider stage for which a division takes ``divide_latency`` cycles."""
        return -(-WORD_BITS // self.lanes.divide_latency)

    def wire_latency(self, kind: str) -> int:
        """Return the latency of the channels after a unit, in cycles.

        It is 1 for the output register, and more for multipliers, to reach their configured latency.

        Args:
            kind: kind of the unit's block, such as ``multiply``.
        """
        return self.lanes.multiply_latency - DEPTH + 1 if kind == "multiply" else 1
