"""Parameters of the machine that runs a graph."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from fiberscope.accelerators.configuration import Bytes, Configuration, Hertz
from fiberscope.base.errors import InputError
from fiberscope.hw.streams import quirks as quirk_masks
from fiberscope.hw.value_type import TYPES, ValueName, ValueType

DEFAULTS = Path(__file__).parent / "config.yaml"
COMBINATIONAL: Final = "combinational"  # the default of ``memory``, which no report mentions
QUIRK_SETS = ("auto", "none", "all")  # values of ``quirks`` in place of numbers


ESTIMATED = ("tiles", "timing", "clock")  # first parts of the settings that an estimate takes


class ScratchpadParameters(Configuration):
    """Memory of levels and values; with a latency of 0 the blocks hold levels and values themselves."""

    latency: int = Field(ge=0, le=10**6)
    width: Bytes = Field(ge=8, le=4096)
    coordinate_bytes: int = Field(ge=1, le=8)
    value_bytes: int = Field(ge=1, le=8)
    window: int = Field(ge=1, le=2**16)
    outstanding: int = Field(ge=1, le=2**16)


class TileParameters(Configuration):
    """Memories of tiles and restarts of the inner graph; with capacity 0 a tile is available at once."""

    loops: str
    capacity: Bytes = Field(ge=0, le=2**50)
    bandwidth: float = Field(ge=0, le=10**9, allow_inf_nan=False)
    latency: int = Field(ge=0, le=10**6)
    ahead: int = Field(ge=1, le=2**16)
    restart: int = Field(ge=0, le=10**6)
    coordinate_bytes: int = Field(ge=1, le=8)
    value_bytes: int = Field(ge=1, le=8)

    @property
    def is_used(self) -> bool:
        """Return whether the settings ask for a memory of tiles or for restarts."""
        return bool(self.capacity or self.restart)

    @property
    def variables(self) -> list[str]:
        """Return the index variables of the loops over tiles; none for ``auto``."""
        return [] if self.loops == "auto" else [name.strip() for name in self.loops.split(",")]


class Latencies(Configuration):
    """Latencies in cycles, from the pop of a token to the visibility of its result."""

    alu: int = Field(ge=1, le=64)
    reduce: int = Field(ge=1, le=64)


class GraphParameters(Configuration):
    """Parameters of a graph machine; ``config.yaml`` in this folder has their units and sources."""

    clock: Hertz
    timing: Literal["machine", "sam"]
    depth: int = Field(ge=0, le=2**24)
    quirks: str
    value: ValueName
    memory: Literal["combinational", "registered"] = Field(
        default=COMBINATIONAL, exclude_if=lambda memory: memory == COMBINATIONAL
    )
    latency: Latencies
    scratchpad: ScratchpadParameters
    tiles: TileParameters = Field(exclude_if=lambda tiles: not tiles.is_used)

    @field_validator("quirks", mode="before")
    @classmethod
    def _check_quirks(cls, value: object) -> str:
        """Return the quirks as comma-separated numbers or as a name in ``QUIRK_SETS``."""
        # YAML gives a number, a list of numbers, or None for an empty value; the text of a list is [4, 5]
        text = "none" if value is None else str(value)
        if text in QUIRK_SETS:
            return text
        numbers = re.findall(r"\d+", text)
        unknown = [number for number in numbers if not hasattr(quirk_masks, f"Q{number}")]
        if not re.fullmatch(r"[\sQq\d,\[\]]+", text) or unknown or not numbers:
            quirks = ", ".join(name[1:] for name in vars(quirk_masks) if re.fullmatch(r"Q\d+", name))
            raise ValueError(f"it should be auto, none, all, or numbers of {quirks}, as in 4,5,15")
        return ",".join(numbers)

    @model_validator(mode="after")
    def _check_sam_memory(self) -> Self:
        if self.timing == "sam" and self.scratchpad.latency:
            raise ValueError(
                f"scratchpad.latency is {self.scratchpad.latency}; it should be 0 with timing=sam: the "
                "public simulator has no memory"
            )
        return self

    # every block of the public simulator takes one cycle
    @model_validator(mode="after")
    def _check_sam_latencies(self) -> Self:
        latencies = self.latency.model_dump().items()
        for name, cycles in latencies if self.timing == "sam" else ():
            if cycles != 1:
                raise ValueError(f"latency.{name} is {cycles}; it should be 1 with timing=sam")
        return self

    @model_validator(mode="after")
    def _check_one_memory(self) -> Self:
        if self.tiles.capacity and self.scratchpad.latency:
            raise ValueError(
                f"scratchpad.latency is {self.scratchpad.latency}; it should be 0 with tiles.capacity: the "
                "tiles hold what the blocks read"
            )
        return self

    @model_validator(mode="after")
    def _check_registered_memory(self) -> Self:
        if self.memory == COMBINATIONAL:
            return self
        if self.mask:
            raise ValueError(
                "memory is registered; it should be combinational with timing=sam or quirks: the public "
                "simulator has no such memory"
            )
        if self.scratchpad.latency:
            raise ValueError(
                f"memory is registered; it should be combinational with scratchpad.latency="
                f"{self.scratchpad.latency}: the scratchpad holds what the blocks read"
            )
        return self

    @property
    def registered(self) -> bool:
        """Return whether the blocks read their memories with a latency of a cycle."""
        return self.memory != COMBINATIONAL

    @property
    def value_type(self) -> ValueType:
        """Return the type of the values that the blocks compute with."""
        return TYPES[self.value]

    @property
    def capacity(self) -> int | None:
        """Return the capacity of a channel in tokens; None for an unbounded channel."""
        # the channels of the public simulator have no bound
        return None if self.timing == "sam" or not self.depth else self.depth

    @property
    def has_unpaired_values(self) -> bool:
        """Return whether a result may have values without coordinates, as with quirks 15 and 16."""
        return bool(self.mask & (quirk_masks.Q15 | quirk_masks.Q16))

    @property
    def mask(self) -> int:
        """Return the quirks as a bit mask, as the blocks take them; Q12 never goes with memories of tiles.

        The public simulator starts a tile when the tiles of all operands have arrived. A reference that
        arrives after its first signal is therefore not the case of Q12.
        """
        text = ("all" if self.timing == "sam" else "none") if self.quirks == "auto" else self.quirks
        if text in ("none", "all"):
            mask = quirk_masks.PUBLIC if text == "all" else quirk_masks.NO_QUIRKS
        else:
            mask = 0
            for number in text.split(","):
                mask |= int(getattr(quirk_masks, f"Q{number}"))
        return mask & ~quirk_masks.Q12 if self.tiles.capacity else mask


def check_estimated(settings: Iterable[str]) -> None:
    """Refuse settings that an estimate does not take into account.

    Args:
        settings: dotted keys.

    Raises:
        InputError: a setting has no effect on an estimate.
    """
    for key in settings:
        if key.partition(".")[0] not in ESTIMATED:
            raise InputError(f"{key} is no setting of an estimate, which takes tiles.*, timing and clock")
