"""Settings of a machine that a specification does not contain, such as queue sizes and latencies."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from fiberscope.accelerators.composition import Network
from fiberscope.accelerators.configuration import Bytes, Configuration, integer_field
from fiberscope.accelerators.memory import ChannelParameters
from fiberscope.hw.memory.cache_geometry import LIMITS
from fiberscope.hw.value_type import ValueName

DEFAULTS = Path(__file__).parent / "config.yaml"


class Timing(Configuration):
    """The section ``timing``; ``config.yaml`` in this folder describes each key with its unit and source."""

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
        """Capacity of a channel in tokens; None for no bound."""
        return self.depth or None

    @property
    def registered(self) -> bool:
        """Return whether the blocks read their memories with a latency of one cycle."""
        return self.memory == "registered"


class MappedParameters(Configuration):
    """The parameters of a machine from a specification that refers to no other machine."""

    timing: Timing
    value: ValueName
    network: Network
    memory: ChannelParameters


def find_value_type(parameters: MappedParameters) -> ValueName:
    """Return the type of values; the parameters of SIGMA have it in a section ``value``."""
    value: ValueName = getattr(parameters.value, "type", parameters.value)
    return value


def is_own(key: str, configuration: type[Configuration]) -> bool:
    """Return whether a parameter belongs to the machine alone, and is not passed to the specification.

    Args:
        key: dotted key of the parameter.
        configuration: class of the machine's settings. With ``MappedParameters``, the sections of memory,
            network and clock belong to the machine too.
    """
    section = key.partition(".")[0]
    has_own_machine = issubclass(
        configuration, MappedParameters
    )  # the specification refers to no other machine
    return (
        section == "timing"
        or key in ("value", "value.type")  # SIGMA has a section ``value``, other machines a single key
        or (has_own_machine and section in ("clock", *MappedParameters.model_fields))
    )
