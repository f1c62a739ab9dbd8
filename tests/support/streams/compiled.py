"""Runs graphs, and holds what they write to dense arrays."""

import numpy as np
from streams.dense_evaluation import evaluated

from fiberscope.models.graphs import graph_from_text, gv_text
from fiberscope.models.graphs.execution import PhaseRuns, graph_settings, prepare
from fiberscope.results.errors import DeadlockedRunError


def results_of(graph, operands, settings=None):
    """The tensors that a graph writes, by name, each verified against its own expression.

    A graph that is stuck says so, and must run with channels without bounds.
    """
    try:
        return _run(graph, operands, settings or {})
    except DeadlockedRunError as error:
        if "depth" not in str(error):
            raise
        return _run(graph, operands, {**(settings or {}), "depth": 0})


def _run(graph, operands, settings):
    runs = PhaseRuns(prepare(graph, operands), graph_settings(settings))
    runs.execute()
    return runs.results


def dense(entries):
    """A tensor as an array."""
    array = np.zeros(entries.shape)
    array[tuple(entries.coordinates)] = entries.values if entries.shape else entries.values[0]
    return array


def assert_computes(graph, drawn):
    """A graph, which its file keeps, gives what the random expression that it is of gives on dense arrays."""
    assert graph_from_text(gv_text(graph)) == graph
    found = dense(results_of(graph, drawn.operands)["X"])
    wanted = evaluated([drawn.assignment], drawn.arrays, drawn.sizes)["X"]
    np.testing.assert_allclose(
        found, wanted, rtol=1e-9, atol=1e-9, err_msg=f"{drawn.seed}: {drawn.assignment}"
    )
