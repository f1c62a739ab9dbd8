"""The joint row and column degree profile of a real matrix, and whole degrees drawn from it."""

from __future__ import annotations

import functools
import json
from importlib import resources
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from workloads.canonical import Integers, Values

__all__ = ["Profile", "degrees", "profiles"]

_Count = Annotated[int, Field(ge=0)]
_EXACT_UP_TO = 3.5  # groups of smaller mean count hold one count only


class Profile(BaseModel):
    """What is kept of a real, square matrix.

    A group is [nodes, mean nonzeros of their rows, mean nonzeros of their columns]. `multiplies_AA` and
    `nnz_AA` are the multiplies and the nonzeros of A times A.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rows: Annotated[int, Field(ge=1)]
    cols: Annotated[int, Field(ge=1)]
    nnz: _Count
    symmetric: bool
    max_row: _Count
    max_col: _Count
    multiplies_AA: _Count  # noqa: N815 - the key in the file
    nnz_AA: _Count  # noqa: N815 - the key in the file
    nodes_by_mean_row_and_column_count: tuple[tuple[int, float, float], ...]


@functools.cache
def profiles() -> dict[str, Profile]:
    """All profiles of `degree_profiles.json`, by the matrix's registry name."""
    text = resources.files("workloads").joinpath("degree_profiles.json").read_text(encoding="utf-8")
    return {name: Profile.model_validate(row) for name, row in json.loads(text).items()}


def degrees(profile: Profile) -> tuple[Integers, Integers]:
    """Nonzeros of each row and of each column, whole numbers, both summing to the profile's nonzeros.

    Within a group the counts are spread linearly about the mean, rows and columns alike, by the fraction that
    makes up the multiplies of A times A which means alone would miss (17 % fills a bin of width sqrt 2).
    """
    groups = np.array(profile.nodes_by_mean_row_and_column_count)
    count = groups[:, 0].astype(np.int64)
    tilt = np.concatenate([np.linspace(-1, 1, 2 * n + 1)[1::2] for n in count.tolist()])
    tilt *= _spread(groups, profile.multiplies_AA)
    return (
        _whole(np.repeat(groups[:, 1], count), tilt, profile.max_row, profile.nnz),
        _whole(np.repeat(groups[:, 2], count), tilt, profile.max_col, profile.nnz),
    )


def _spread(groups: Values, multiplies: int) -> float:
    weight = groups.prod(axis=1)
    free = (groups[:, 0] > 1) & (groups[:, 1:].max(axis=1) > _EXACT_UP_TO)
    missing = max(0.0, multiplies - float(weight.sum()))
    room = float(weight[free].sum())
    return min(0.5, float(np.sqrt(3 * missing / room))) if room else 0.0


def _whole(means: Values, tilt: Values, most: int, total: int) -> Integers:
    """Whole counts near `means` that sum to `total`; rounding carries over from node to node."""
    wanted = np.clip(np.where(means > _EXACT_UP_TO, means * (1 + tilt), means), 0, most)
    counts = np.diff(np.rint(np.cumsum(wanted) + 1e-9), prepend=0).astype(np.int64)
    step = 1 if total > counts.sum() else -1
    for node in np.argsort(-counts, kind="stable"):
        if counts.sum() == total:
            break
        counts[node] += step if 0 < counts[node] + step <= most else 0
    return counts
