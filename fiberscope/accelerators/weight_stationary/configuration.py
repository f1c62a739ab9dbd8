"""The parameters of the weight-stationary array; ``config.yaml`` has their defaults, units and sources."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from fiberscope.accelerators.configuration import Configuration, Hertz

__all__ = ["WeightStationaryConfiguration"]


class Formats(Configuration):
    """The formats that the array computes in."""

    a: Literal["dense", "csr", "coo", "csc"]
    b: Literal["dense", "csc"]


class Elements(Configuration):
    """The processing elements; ``buffer`` is in words, ``dense_match`` and ``latency`` in cycles."""

    count: int = Field(ge=1, le=1 << 16)
    lanes: int = Field(ge=1, le=1024)
    buffer: int = Field(ge=2, le=1 << 20)
    comparators: int = Field(ge=1, le=1 << 16)
    dense_match: int = Field(ge=1, le=1024)
    queue: int = Field(ge=2, le=1024)
    latency: int = Field(ge=1, le=1000)


class Bus(Configuration):
    """The broadcast bus."""

    words: int = Field(ge=2, le=1 << 16)
    load: Literal["hidden", "counted"]


class WeightStationaryConfiguration(Configuration):
    """All parameters of the array."""

    clock: Hertz = Field(ge=10**6)
    acf: Formats
    pe: Elements
    match: Literal["search", "bus"]
    bus: Bus

    @model_validator(mode="after")
    def _wide_enough(self) -> Self:
        needed = 2 if self.acf.a == "dense" else 3
        if self.bus.words < needed:
            raise ValueError(
                f"bus.words must be at least {needed} to carry {self.acf.a}, not {self.bus.words}"
            )
        return self

    @property
    def match_cycles(self) -> int:
        """Cycles in which a PE finds what an id on the bus meets.

        A dense column is indexed. Of a CSC column all of the metadata's half of the buffer is compared, since
        the comparators do not know how far it is filled.
        """
        if self.match == "bus" or self.acf.a == "dense":
            return 0
        return (
            self.pe.dense_match if self.acf.b == "dense" else -(-(self.pe.buffer // 2) // self.pe.comparators)
        )
