"""Whether the format of a level fits that of the next inner one, whose tiles its data is cut into.

Source: Sparseloop (MICRO 2022), Section 5.3.3; what users of the public tool most often get wrong is a rank
that is missing for a loop over tiles.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fiberscope.models.analytic.architecture import Architecture
from fiberscope.models.analytic.dataflow import Traffic
from fiberscope.models.analytic.problem import Problem
from fiberscope.models.analytic.safs import SparseFeatures

__all__ = ["loops_in_words", "misfits"]


def misfits(
    problem: Problem, architecture: Architecture, features: SparseFeatures, traffic: Traffic
) -> list[tuple[str, NDArray[np.bool_]]]:
    """What does not fit, in words, and in which mappings."""
    found = []
    for level, tensor in traffic.dense:
        child = traffic.child(level, tensor)
        if child is None or not features.compressed(level, tensor):
            continue
        words = _misfit(problem, architecture, features, level, child, tensor)
        if words:
            everywhere = not features.compressed(child, tensor)
            found.append((words, np.asarray((traffic.dense[child, tensor].tile > 1) | everywhere)))
    return found


def _misfit(
    problem: Problem,
    architecture: Architecture,
    features: SparseFeatures,
    outer: int,
    inner: int,
    tensor: int,
) -> str:
    """What is wrong between two levels, in words; empty if nothing is."""
    name = problem.tensors[tensor].name
    outside, inside = architecture.levels[outer], architecture.levels[inner]
    kind, child = features.formats[outer, tensor], features.formats.get((inner, tensor))
    if child is None or not child.compressed:
        missing = [] if inside.decompresses else ["decompression_supported"]
        if problem.tensors[tensor].output and not inside.compresses:
            missing.append("compression_supported")
        if not missing:
            return ""
        needed = " and ".join(missing)
        return f"{name} is compressed at {outside.name} but not at {inside.name}, which needs {needed}"
    kinds, wanted = ([rank.kind for rank in one.ranks] for one in (kind, child))
    if kinds[: len(wanted)] == wanted:
        return ""
    return (
        f"{name} at {outside.name} is cut into tiles of {inside.name}, so its innermost ranks have to be "
        f"those of {inside.name}, {child}; they are {kind}"
    )


def loops_in_words(
    problem: Problem,
    architecture: Architecture,
    features: SparseFeatures,
    traffic: Traffic,
    place: tuple[int, int],
    row: int,
) -> str:
    """Which loops need a rank at a level, and how many ranks there are, of one mapping."""
    level, tensor = place
    nest, child = traffic.nest, traffic.child(level, tensor)
    start = 0 if child is None else nest.end(child)
    touched = problem.touches[tensor][nest.dimension[row]]
    slots = [slot for slot in range(start, nest.end(level)) if touched[slot] and nest.more[row, slot]]
    loops = [problem.dimensions[nest.dimension[row, slot]] for slot in reversed(slots)]
    ranks = len(features.formats[level, tensor].ranks)
    cut = ""
    if child is not None and features.compressed(level, tensor):
        inner = features.formats.get((child, tensor))
        count = len(inner.ranks) if inner else 1
        cut = f", and {count} for the tiles of {architecture.levels[child].name}"
    name = f"{problem.tensors[tensor].name} at {architecture.levels[level].name}"
    return f"{name} needs a rank for each loop over {', '.join(loops)}{cut}; its format has {ranks}"
