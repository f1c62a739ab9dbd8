"""Statistics as JSON: every number, every reading by its name, and the version of the form."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from fiberscope.errors import InputError
from fiberscope.models.tiles.statistics import Correlations, Sample, Statistics

__all__ = ["VERSION", "from_json", "to_document", "to_json"]

VERSION = 1


def to_document(statistics: Statistics) -> dict[str, Any]:
    """What ``to_json`` writes, as plain dictionaries, lists and numbers."""
    one = statistics
    return {
        "version": VERSION,
        "indices": list(one.indices),
        "extents": list(one.extents),
        "tile": list(one.tile),
        "metric": one.metric,
        "nonzeros": one.nonzeros,
        "tiles": one.tiles,
        "size_tile": one.size_tile,
        "max_tile": one.max_tile,
        "fullest": dict(one.fullest),
        "pr_tile_index": dict(zip(one.indices, one.pr_tile_index, strict=True)),
        "p_tile": one.p_tile,
        "pr": one.pr,
        "prob_index": {
            "reading": "pooled counts",
            "tiles_with": [counts.tolist() for counts in one.beginnings],
        },
        "corrs": {index: _lists(found) for index, found in one.corrs.items()},
        "tile_corrs": {index: _lists(found) for index, found in one.tile_corrs.items()},
        "sample": {"share": one.sample.share, "seed": one.sample.seed, "tiles": one.sample.tiles},
    }


def to_json(statistics: Statistics) -> str:
    """A text from which ``from_json`` makes the same statistics again."""
    return json.dumps(to_document(statistics))


def from_json(text: str, where: str) -> Statistics:
    """The statistics that a text holds.

    Args:
        text: as ``to_json`` writes it.
        where: it comes from; named in errors.

    Raises:
        InputError: it is no JSON, or of another version, or incomplete.
    """
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}:{error.lineno}: {error.msg}; statistics are kept as JSON") from error
    version = document.get("version") if isinstance(document, dict) else None
    if version != VERSION:
        raise InputError(f"{where}: statistics of version {version}; version {VERSION} is read; collect anew")
    try:
        return _read(document)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where}: incomplete statistics ({error}); collect anew") from error


def _read(document: dict[str, Any]) -> Statistics:
    indices = tuple(document["indices"])
    return Statistics(
        indices=indices,
        extents=tuple(document["extents"]),
        tile=tuple(document["tile"]),
        metric=document["metric"],
        nonzeros=document["nonzeros"],
        tiles=document["tiles"],
        size_tile=document["size_tile"],
        max_tile=document["max_tile"],
        fullest=document["fullest"],
        pr_tile_index=tuple(document["pr_tile_index"][index] for index in indices),
        beginnings=tuple(np.array(one, np.int64) for one in document["prob_index"]["tiles_with"]),
        corrs={index: _arrays(found) for index, found in document["corrs"].items()},
        tile_corrs={index: _arrays(found) for index, found in document["tile_corrs"].items()},
        sample=Sample(**document["sample"]),
    )


def _lists(found: Correlations) -> dict[str, list[float]]:
    return {reading: shares.tolist() for reading, shares in found.items()}


def _arrays(found: dict[str, list[float]]) -> Correlations:
    return {reading: np.array(shares, np.float64) for reading, shares in found.items()}
