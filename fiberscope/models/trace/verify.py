"""Compares what a loop nest wrote with an independent evaluation of its Einsum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fiberscope.models.trace.projection import can_project, projections
from fiberscope.models.trace.reference import Floats, keys_of, output_shape, point_by_point, reduced
from fiberscope.models.trace.specification import Einsum, Specification
from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.fibertree import FiberTree
from fiberscope.workloads.verification import Comparison

__all__ = ["UNCHECKED", "Verification", "verify"]

UNCHECKED = "none"
MOST_POINTS = 1 << 22  # that are worked out one by one


@dataclass(frozen=True, kw_only=True)
class Verification(Comparison):
    """How the output of an Einsum compares with the reference; what was not compared passes.

    Args:
        einsum: its name.
        reference: what it was compared with, in words; ``UNCHECKED`` where nothing could be worked out.
    """

    einsum: str
    reference: str


def verify(
    specification: Specification,
    einsum: Einsum,
    tensors: Mapping[str, FiberTree],
    shapes: Mapping[str, int],
    output: FiberTree,
) -> Verification:
    """Compare the output of an Einsum with its reference.

    Args:
        tensors: inputs by name, with the ranks of their declarations.
        shapes: of the Einsum's ranks.
        output: with the ranks of its declaration.
    """
    points = 1
    for rank in einsum.ranks:
        points *= shapes[rank]
    if points <= MOST_POINTS:
        error = _error_by_points(specification, einsum, tensors, shapes, output)
        return Verification(error, einsum=einsum.name, reference="an evaluation of every point")
    if can_project(einsum):
        expected, found, scales = projections(specification, einsum, tensors, shapes, output)
        error = _largest(expected, found, scales)
        return Verification(error, einsum=einsum.name, reference="random projections")
    return Verification(0.0, einsum=einsum.name, reference=UNCHECKED)


def _error_by_points(
    specification: Specification,
    einsum: Einsum,
    tensors: Mapping[str, FiberTree],
    shapes: Mapping[str, int],
    output: FiberTree,
) -> float:
    expected = point_by_point(specification, einsum, tensors, shapes)
    declared = specification.tensors[einsum.output].ranks
    sizes = [output_shape(specification, einsum, rank, shapes) for rank in declared]
    columns = [expected.coordinates[rank] for rank in declared]
    keys, values, magnitudes = reduced(einsum, keys_of(columns, sizes, len(expected.values)), expected.values)
    found, ours = output.to_coo()
    our_keys = keys_of([found[rank] for rank in declared], sizes, len(ours))
    empty = specification.tensors[einsum.output].empty
    return _error(keys, values, magnitudes, our_keys, ours, empty)


def _error(
    keys: Integers, values: Floats, magnitudes: Floats, our_keys: Integers, ours: Floats, empty: float
) -> float:
    """The largest error of a value; what one side does not have is empty there."""
    order = np.argsort(our_keys)
    our_keys, ours = our_keys[order], ours[order].astype(np.float64)
    everything = np.union1d(keys, our_keys)
    expected, sizes = (np.full(len(everything), fill) for fill in (empty, 0.0))
    found = np.full(len(everything), empty)
    places = np.searchsorted(everything, keys)
    expected[places], sizes[places] = values, magnitudes
    found[np.searchsorted(everything, our_keys)] = ours
    return _largest(expected, found, sizes)


def _largest(expected: Floats, found: Floats, sizes: Floats) -> float:
    """The largest error against the size of what was added up."""
    equal = (expected == found) | (np.isnan(expected) & np.isnan(found))
    if equal.all():
        return 0.0
    with np.errstate(all="ignore"):
        errors = np.abs(found[~equal] - expected[~equal]) / sizes[~equal]
    return float(np.where(np.isfinite(errors), errors, np.inf).max())
