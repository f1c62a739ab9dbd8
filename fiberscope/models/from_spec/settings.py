"""Settings of a machine that its specification does not give."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from fiberscope.accelerators.composition import Network
from fiberscope.accelerators.configuration import Bytes, Configuration, integer_field
from fiberscope.accelerators.memory import ChannelParameters
from fiberscope.hw.memory.cache_geometry import LIMITS
from fiberscope.hw.value_type import ValueName

__all__ = ["SHIPPED", "MappedParameters", "Timing", "is_own", "value_name"]

SHIPPED = Path(__file__).parent / "config.yaml"


class Timing(Configuration):
    """The section ``timing``; ``config.yaml`` beside this file has it with units and sources."""

    most: int = Field(ge=1, le=2**16)
    places: int = Field(ge=1, le=2**16)
    tasks: int = Field(ge=1, le=2**16)
    dispatch: Literal["dynamic", "static", "near", "coordinate"]
    depth: int = Field(ge=0, le=2**24)
    partials: int = Field(ge=1, le=2**24)
    sums: int = Field(ge=1, le=2**20)
    walk: int = Field(ge=1, le=2**10)
    lanes: int = Field(ge=0, le=2**14)
    way: int = Field(ge=1, le=2**16)
    stages: int = Field(ge=1, le=8)
    memory: Literal["modelled", "ideal", "registered"]
    line: Bytes = Field(ge=0, le=LIMITS["line_bytes"][1])
    page: Bytes = Field(ge=1)
    window: int = Field(ge=1, le=2**16)
    ahead: int = Field(ge=1, le=2**10)
    queue: int = Field(ge=2, le=2**10)
    banks: int = Field(ge=0, le=LIMITS["banks"][1])
    ways: int = integer_field(LIMITS["ways"])
    cache_stages: int = integer_field(LIMITS["stages"])
    network_latency: int = Field(ge=1, le=1000)

    @property
    def capacity(self) -> int | None:
        """Tokens that a channel holds; None without a bound."""
        return self.depth or None

    @property
    def registered(self) -> bool:
        """Return whether the blocks read their memories with a latency of a cycle."""
        return self.memory == "registered"


class MappedParameters(Configuration):
    """The parameters of a machine that is built from a specification, if that refers to no machine."""

    timing: Timing
    value: ValueName
    network: Network
    memory: ChannelParameters


def value_name(parameters: MappedParameters) -> ValueName:
    """The type of values, which the parameters of SIGMA have in a section of their own."""
    value: ValueName = getattr(parameters.value, "type", parameters.value)
    return value


def is_own(key: str, configuration: type[Configuration]) -> bool:
    """Return whether a parameter, by dotted key, is none of those that the specification is read with."""
    section = key.partition(".")[0]
    alone = issubclass(configuration, MappedParameters)  # it has nothing of another machine's
    return (
        section == "timing"
        or key in ("value", "value.type")
        or (alone and section in ("clock", *MappedParameters.model_fields))
    )
