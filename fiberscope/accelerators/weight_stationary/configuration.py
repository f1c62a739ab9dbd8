"""The parameters of the weight-stationary array; ``config.yaml`` has their defaults, units and sources."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from fiberscope.accelerators.configuration import Configuration, Hertz


class Formats(Configuration):
    """Formats in which the array computes: of the streamed operand A and of the stationary operand B."""

    a: Literal["dense", "csr", "coo", "csc"]
    b: Literal["dense", "csc"]


class Elements(Configuration):
    """Parameters of the processing elements (PEs).

    - ``count``, ``lanes``: number of PEs, and products of a PE per cycle;
    - ``buffer``: words of the buffer for a column of B;
    - ``comparators``: stored ids that are compared per cycle;
    - ``dense_match``: cycles in which a PE looks up an id in a dense column;
    - ``queue``: beats that wait at a PE;
    - ``latency``: cycles from a PE to the output buffer.
    """

    count: int = Field(ge=1, le=1 << 16)
    lanes: int = Field(ge=1, le=1024)
    buffer: int = Field(ge=2, le=1 << 20)
    comparators: int = Field(ge=1, le=1 << 16)
    dense_match: int = Field(ge=1, le=1024)
    queue: int = Field(ge=2, le=1024)
    latency: int = Field(ge=1, le=1000)


class Bus(Configuration):
    """Parameters of the broadcast bus: words in a beat, and whether loading B takes cycles of the bus."""

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
        # A dense beat has a row id and a value; any other has at least a value with both its ids.
        needed = 2 if self.acf.a == "dense" else 3
        if self.bus.words < needed:
            raise ValueError(
                f"bus.words must be at least {needed} to carry {self.acf.a}, not {self.bus.words}"
            )
        return self

    @property
    def match_cycles(self) -> int:
        """Return the cycles in which a PE looks up one id of the bus in its column of B.

        A dense column is indexed with the id. For a CSC column, the comparators scan the half of the buffer
        that holds ids. They scan all of that half, since they do not know how many words of it are filled.
        If ``match`` is ``bus``, or if A is dense, a look-up takes no cycles.
        """
        if self.match == "bus" or self.acf.a == "dense":
            return 0
        return (
            self.pe.dense_match if self.acf.b == "dense" else -(-(self.pe.buffer // 2) // self.pe.comparators)
        )
