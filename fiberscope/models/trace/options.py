"""Options of a cascade's run: settings of the model, as opposed to settings of the machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from fiberscope.results.report.origin import is_empty


@dataclass(frozen=True)
class Effects:
    """Effects that are counted in addition to those of the public tool; each is an option.

    Args:
        replacement: caches are set-associative and use the machine's replacement policy, not Belady's OPT.
        instances: every instance of a buffer holds only the data of its own iterations of the space loop.
        capacity: a line for which a buffet has no space is not kept.
        multicast: reads of several instances in one round count once.
        headers: the headers of fibers are moved.
        on_chip: the last buffer of each path serves compute units, element by element.
        places: an element of an uncompressed rank (U) lies at its coordinate in every access. Otherwise the
            coordinate counts only where loops visit the whole rank, and the position elsewhere.
        imbalance: the time of parallel units is that of the unit with the most bodies.
    """

    replacement: bool = False
    instances: bool = False
    capacity: bool = False
    multicast: bool = False
    headers: bool = False
    on_chip: bool = False
    places: bool = False
    imbalance: bool = False


class Options(BaseModel):
    """Settings of the trace model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    semantics: Literal["teaal", "machine"] = Field(
        default="teaal",
        description="teaal: as the public tool counts; machine: with all that the options below add",
    )
    energies: str = Field(default="", description="file of the energies of actions; the table that ships")
    functional_cache: bool = Field(
        default=False,
        description="traffic behind the machine's cache, by a functional pass over its tasks",
        exclude_if=is_empty,
    )
    replacement: bool | None = Field(default=None, description="caches of sets and ways")
    instances: bool | None = Field(default=None, description="buffers by instance")
    capacity: bool | None = Field(default=None, description="buffets overflow")
    multicast: bool | None = Field(default=None, description="one read for several instances")
    headers: bool | None = Field(default=None, description="headers of fibers")
    on_chip: bool | None = Field(default=None, description="what the last buffers serve to compute")
    places: bool | None = Field(default=None, description="entries of whole ranks by coordinate")
    imbalance: bool | None = Field(default=None, description="the busiest instance counts")

    @property
    def effects(self) -> Effects:
        """Return the effects to count: a missing option is on with ``semantics: machine``."""
        machine = self.semantics == "machine"
        options = self.model_dump(exclude={"semantics", "energies", "functional_cache"})
        return Effects(**{name: machine if value is None else value for name, value in options.items()})
