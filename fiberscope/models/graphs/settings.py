"""The parameters of a graph that runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from fiberscope.accelerators.configuration import Bytes, Configuration, Hertz
from fiberscope.hw.streams import quirks as all_quirks
from fiberscope.hw.value_type import TYPES, ValueName, ValueType

__all__ = ["SHIPPED", "GraphParameters", "ScratchpadParameters"]

SHIPPED = Path(__file__).parent / "config.yaml"
WORDS = ("auto", "none", "all")


class ScratchpadParameters(Configuration):
    """The memory that levels and values lie in; without latency they stand beside the blocks instead."""

    latency: int = Field(ge=0, le=10**6)
    width: Bytes = Field(ge=8, le=4096)
    coordinate_bytes: int = Field(ge=1, le=8)
    value_bytes: int = Field(ge=1, le=8)
    window: int = Field(ge=1, le=2**16)
    outstanding: int = Field(ge=1, le=2**16)


class Latencies(Configuration):
    """Cycles from a token being taken to what is made of it being seen."""

    alu: int = Field(ge=1, le=64)
    reduce: int = Field(ge=1, le=64)


class GraphParameters(Configuration):
    """The parameters of a graph; ``config.yaml`` beside this file has them with units and sources."""

    clock: Hertz
    timing: Literal["machine", "sam"]
    depth: int = Field(ge=0, le=2**24)
    quirks: str
    value: ValueName
    latency: Latencies
    scratchpad: ScratchpadParameters

    @field_validator("quirks", mode="before")
    @classmethod
    def _check_quirks(cls, value: object) -> str:
        """Numbers of quirks that there are, or one of the words."""
        text = "none" if value is None else str(value)
        if text in WORDS:
            return text
        numbers = re.findall(r"\d+", text)
        unknown = [number for number in numbers if not hasattr(all_quirks, f"Q{number}")]
        if not re.fullmatch(r"[\sQq\d,\[\]]+", text) or unknown or not numbers:
            there = ", ".join(name[1:] for name in vars(all_quirks) if re.fullmatch(r"Q\d+", name))
            raise ValueError(f"it should be auto, none, all, or numbers of {there}, as in 4,5,15")
        return ",".join(numbers)

    @model_validator(mode="after")
    def _has_no_memory_of_the_public_simulator(self) -> Self:
        if self.timing == "sam" and self.scratchpad.latency:
            raise ValueError(
                f"scratchpad.latency is {self.scratchpad.latency}; it should be 0 with timing=sam: the "
                "public simulator has no memory"
            )
        return self

    @model_validator(mode="after")
    def _has_the_latency_of_the_public_simulator(self) -> Self:
        latencies = self.latency.model_dump().items()
        for name, cycles in latencies if self.timing == "sam" else ():
            if cycles != 1:
                raise ValueError(f"latency.{name} is {cycles}; it should be 1 with timing=sam")
        return self

    @property
    def value_type(self) -> ValueType:
        """The type of its values."""
        return TYPES[self.value]

    @property
    def capacity(self) -> int | None:
        """Tokens that a channel holds; None without a bound."""
        return None if self.timing == "sam" or not self.depth else self.depth

    @property
    def mask(self) -> int:
        """The quirks as blocks take them."""
        text = ("all" if self.timing == "sam" else "none") if self.quirks == "auto" else self.quirks
        if text in ("none", "all"):
            return all_quirks.PUBLIC if text == "all" else all_quirks.CLEAN
        mask = 0
        for number in text.split(","):
            mask |= int(getattr(all_quirks, f"Q{number}"))
        return mask
