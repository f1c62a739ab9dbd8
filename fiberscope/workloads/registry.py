"""The named matrices and tensors of the papers' tables: rows of ``registry.yaml``, looked up by name."""

from __future__ import annotations

import functools
import re
from importlib import resources
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, field_validator

from fiberscope.workloads.errors import WorkloadError, nearest

__all__ = ["Entry", "entries", "lookup", "names"]

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the first is in C; PyYAML may lack it

_Text = Annotated[str, Field(min_length=1)]


class RmatGraph(BaseModel):
    """The R-MAT graph that stands in for one: it has the row's vertices, and a chain of ``tail`` more."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    edges: Annotated[int, Field(gt=0)]
    tail: Annotated[int, Field(ge=0)]
    source: _Text  # of both


class Entry(BaseModel):
    """One matrix or tensor; every number has its ``source``."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    name: _Text
    aliases: tuple[_Text, ...] = ()
    collection: Literal["SuiteSparse", "FROSTT", "other"]
    group: _Text | None = None  # the SuiteSparse group
    shape: Annotated[tuple[Annotated[int, Field(gt=0)], ...], Field(min_length=2)]
    nonzeros: Annotated[int, Field(ge=0)]
    approximate: bool = False  # shape or nonzeros rounded, as the paper prints them
    symmetric: bool = False  # the pattern equals its transpose
    kind: _Text
    source: _Text  # where shape, nonzeros and kind come from, and which paper's table uses it
    address: _Text | None = None
    checksum: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None  # sha256 of the download
    checksum_source: _Text | None = None
    rmat: RmatGraph | None = None  # what stands in for it; None chooses by profile or kind

    @field_validator("address")
    @classmethod
    def _is_http(cls, address: str | None) -> str | None:
        if address is not None and not re.match(r"https?://", address):
            raise ValueError("an address starts with https:// or http://")
        return address

    @property
    def is_matrix(self) -> bool:
        """Return whether it has rank 2."""
        return len(self.shape) == 2


@functools.cache
def entries() -> tuple[Entry, ...]:
    """Return all rows, in the order of the file."""
    text = resources.files("fiberscope.workloads").joinpath("registry.yaml").read_text(encoding="utf-8")
    return tuple(Entry.model_validate(row) for row in yaml.load(text, _LOADER))


def names() -> tuple[str, ...]:
    """The name of every row, in the order of the file."""
    return tuple(entry.name for entry in entries())


@functools.cache
def _by_name() -> dict[str, Entry]:
    return {word.lower(): entry for entry in entries() for word in (entry.name, *entry.aliases)}


def is_registered(name: str) -> bool:
    """Return whether ``name`` is a row's name or alias, in whatever case."""
    return name.lower() in _by_name()


def lookup(name: str) -> Entry:
    """The row called ``name``, in whatever case.

    Raises:
        WorkloadError: with the nearest names, if there is none.
    """
    entry = _by_name().get(name.lower())
    if entry is None:
        raise WorkloadError(f"{name!r} is not in the registry", fix=nearest(name, names()))
    return entry
