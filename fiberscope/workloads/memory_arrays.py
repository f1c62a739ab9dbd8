"""Conversion of objects of other libraries: numpy, scipy, the library sparse, networkx, torch."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from fiberscope.workloads.canonical import CsrArray
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.sparse import sparse
from fiberscope.workloads.sparse_layouts import decode, decode_scipy
from fiberscope.workloads.tensor import SparseTensor

_COO, _GCXS = ("coords",), ("indices", "indptr", "compressed_axes")  # attributes of the library sparse


def decode_object(value: Any, location: str) -> CsrArray | SparseTensor:  # noqa: ANN401 - whatever a user has
    """Return a sparse matrix as a matrix, and any other object as a tensor.

    A networkx graph becomes its adjacency matrix, with nodes in the order of the graph and missing weights 1.
    Explicit zeros of a sparse object stay. Zeros of a dense array are not stored.

    Raises:
        WorkloadError: naming ``location``: the object is no array, or its arrays are invalid.
    """
    if sparse.issparse(value):
        return decode_scipy(value, location)
    networkx = sys.modules.get("networkx")
    if networkx is not None and isinstance(value, networkx.Graph):
        return _decode_graph(networkx, value, location)
    if hasattr(value, "fill_value") and hasattr(value, "data") and not isinstance(value, np.ndarray):
        names = _COO if hasattr(value, "coords") else _GCXS
        if all(hasattr(value, name) for name in names):
            arrays = {
                name: np.asarray(getattr(value, name)) for name in (*names, "data", "shape", "fill_value")
            }
            return decode("coo" if names is _COO else "gcxs", arrays, location)
    return SparseTensor.from_array(_dense(value, location), location)


def _decode_graph(networkx: Any, graph: Any, location: str) -> CsrArray | SparseTensor:  # noqa: ANN401
    try:
        matrix = networkx.to_scipy_sparse_array(graph)
    except Exception as error:  # weights that are no numbers, or a graph without nodes
        raise WorkloadError(f"the graph has no matrix ({error})", location=location) from error
    return decode_scipy(matrix, location)


def _dense(value: Any, location: str) -> np.ndarray[Any, Any]:  # noqa: ANN401
    if np.ma.is_masked(value):
        raise WorkloadError(
            "some values are masked", location=location, fix="fill them first, as by filled(0)"
        )
    if isinstance(value, np.ndarray):
        return value
    try:
        return np.asarray(value)
    except Exception as error:  # ragged rows, or a tensor on another device
        raise WorkloadError(f"no array can be made of it ({error})", location=location) from error
