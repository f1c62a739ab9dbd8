"""The registry of matrices and tensors in the papers' tables: rows of ``registry.yaml``, by name."""

from __future__ import annotations

import functools
import re
from importlib import resources
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, field_validator

from fiberscope.workloads.errors import WorkloadError, suggest

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the first is in C, which PyYAML may lack

_Text = Annotated[str, Field(min_length=1)]


class RmatGraph(BaseModel):
    """The R-MAT graph that replaces an entry, with the entry's vertices and a chain of ``tail`` vertices."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    edges: Annotated[int, Field(gt=0)]
    tail: Annotated[int, Field(ge=0)]
    source: _Text  # of edges and tail


class Entry(BaseModel):
    """One matrix or tensor of the registry. Every number has its ``source``."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    name: _Text
    aliases: tuple[_Text, ...] = ()
    collection: Literal["SuiteSparse", "FROSTT", "other"]
    group: _Text | None = None  # the SuiteSparse group
    shape: Annotated[tuple[Annotated[int, Field(gt=0)], ...], Field(min_length=2)]
    nonzeros: Annotated[int, Field(ge=0)]
    approximate: bool = False  # whether shape or nonzeros are rounded, as in the paper
    symmetric: bool = False  # the pattern equals its transpose
    kind: _Text  # of problem, as SuiteSparse names kinds; some words select the generator of a surrogate
    source: _Text  # source of shape, nonzeros and kind, and the paper whose table has the entry
    address: _Text | None = None
    checksum: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None  # sha256 of the download
    checksum_source: _Text | None = None
    rmat: RmatGraph | None = None  # the surrogate if no profile is shipped; None selects one by kind

    @field_validator("address")
    @classmethod
    def _is_http(cls, address: str | None) -> str | None:
        if address is not None and not re.match(r"https?://", address):
            raise ValueError("an address starts with https:// or http://")
        return address

    @property
    def is_matrix(self) -> bool:
        """Return whether the entry has two ranks."""
        return len(self.shape) == 2


@functools.cache
def entries() -> tuple[Entry, ...]:
    """Return all rows, in the order of the file."""
    text = resources.files("fiberscope.workloads").joinpath("registry.yaml").read_text(encoding="utf-8")
    return tuple(Entry.model_validate(row) for row in yaml.load(text, _LOADER))


def names() -> tuple[str, ...]:
    """Return the names of all rows, in the order of the file."""
    return tuple(entry.name for entry in entries())


@functools.cache
def _by_name() -> dict[str, Entry]:
    return {word.lower(): entry for entry in entries() for word in (entry.name, *entry.aliases)}


def is_registered(name: str) -> bool:
    """Return whether ``name`` is the name or an alias of a row, in any case."""
    return name.lower() in _by_name()


def lookup(name: str) -> Entry:
    """Return the row with the name or alias ``name``, in any case.

    Raises:
        WorkloadError: there is no such row; names the nearest.
    """
    entry = _by_name().get(name.lower())
    if entry is None:
        raise WorkloadError(f"{name!r} is not in the registry", fix=suggest(name, names()))
    return entry
