"""How a cascade's run is counted: settings that belong to the model and not to the machine."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Options"]


class Options(BaseModel):
    """Settings of the trace model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    semantics: Literal["teaal"] = Field(
        default="teaal",
        description="teaal: as the public tool counts",
    )
