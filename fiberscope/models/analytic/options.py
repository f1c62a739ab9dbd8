"""Options of the analytical model: settings of the model, as opposed to settings of the machine."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Options(BaseModel):
    """Settings of the analytical model; None is the default of ``mode``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Literal["exact", "timeloop"] = Field(
        default="exact", description="timeloop: with the rounding and the biases of the public tool"
    )
    format_mode: Literal["exact", "timeloop"] | None = Field(
        default=None, description="timeloop: units of formats whose fibers are not known to hold nonzeros"
    )
    first_fill: Literal["elide", "charge"] | None = Field(
        default=None, description="charge: what an output is at first is brought in as well"
    )
    windows: Literal["whole", "new"] | None = Field(
        default=None,
        description="new: of an operand's tile only what the tile before did not have is brought in",
    )
    rle_split_runs: bool = Field(default=False, description="runs that are too long for their width are cut")
    joint: Literal["independent", "exact"] = Field(
        default="independent", description="exact: operands with data are looked at together"
    )

    @property
    def timeloop(self) -> bool:
        """Return whether to reproduce known errors of the public tool."""
        return self.mode == "timeloop"

    @property
    def exact_formats(self) -> bool:
        """Return whether formats are counted without bias."""
        return (self.format_mode or self.mode) == "exact"

    @property
    def charges_first_fill(self) -> bool:
        """Return whether an output's first fill is fetched, as in the 2022 version of the public tool."""
        return (self.first_fill or ("charge" if self.timeloop else "elide")) == "charge"

    @property
    def fetches_new_words(self) -> bool:
        """Return whether a sliding window fetches only its new words."""
        return (self.windows or ("new" if self.timeloop else "whole")) == "new"
