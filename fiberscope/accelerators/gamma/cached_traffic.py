"""Memory traffic of Gamma from the functional pass: exact requests, and misses of a cache without timing."""

from __future__ import annotations

import numpy as np

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.gamma.configuration import GammaConfiguration
from fiberscope.accelerators.gamma.functional_pass import FunctionalPass
from fiberscope.accelerators.machine import CachedTraffic
from fiberscope.workloads.canonical import CsrArray, Integers


def cached_traffic(parameters: GammaConfiguration, a: CsrArray, b: CsrArray) -> CachedTraffic:
    """Count the traffic between the FiberCache and memory for A times B.

    Args:
        parameters: the configuration of the machine.
        a, b: the operands, CSR with sorted and distinct coordinates.

    Returns:
        The traffic by tensor, and the lines that tasks in flight need, as a fraction of the FiberCache.

    Raises:
        ConfigurationError: the scheduler keeps rows of the product in the FiberCache.
    """
    if parameters.scheduler.output != "memory":
        raise ConfigurationError("gamma: the functional cache needs scheduler.output=memory")
    work = FunctionalPass(parameters, a, b)
    run, _states = work.run_cache()
    lines = parameters.fibercache.size // parameters.fibercache.line
    return CachedTraffic(work.traffic(run), _lines_in_flight(work) / lines)


def _lines_in_flight(work: FunctionalPass) -> float:
    """Return the mean number of input lines of the tasks that all processing elements hold at a time.

    A processing element holds the task that runs and the tasks in its queue. The mean weights each task by
    the number of elements that the task merges. A line of B counts once for each task that needs it, but all
    tasks together need at most all lines of B.
    """
    parameters, table, trees = work.parameters, work.trees.table, work.trees
    of_rows = _lines_of_rows(work)
    of_nonzeros = of_rows[np.asarray(work.a.coordinates)]
    # As in ``work.task_lengths``, rows that are one task each precede the tasks of trees.
    short = _sums(of_nonzeros, np.asarray(work.a.pointers))[np.asarray(trees.is_tree_row) == 0]
    inputs = np.asarray(table.inputs).astype(np.int64)
    # A negative input is a partial fiber, see ``TaskTable``.
    is_fiber = inputs < 0
    coordinates = np.asarray(trees.nonzeros.coordinates)
    of_b, of_fibers = np.zeros(len(inputs), np.int64), np.zeros(len(inputs), np.int64)
    of_b[~is_fiber] = of_rows[coordinates[inputs[~is_fiber]]]
    outputs = np.asarray(work.work.task_outputs)[-1 - inputs[is_fiber]]
    of_fibers[is_fiber] = -(-outputs * parameters.sizes.element_bytes // parameters.fibercache.line)
    first = np.asarray(table.first_inputs)
    lengths, tasks = work.task_lengths, parameters.pe.count * (1 + parameters.pe.task_queue)
    weights = lengths / max(1, lengths.sum())
    lines_of_b = tasks * float(np.concatenate([short, _sums(of_b, first)]) @ weights)
    fibers = tasks * float(np.concatenate([np.zeros(len(short)), _sums(of_fibers, first)]) @ weights)
    nonzeros = int(work.b.pointers[work.b.rows])
    whole = nonzeros * work.b_sizes.element_bytes / parameters.fibercache.line
    return min(lines_of_b, whole) + fibers


def _lines_of_rows(work: FunctionalPass) -> Integers:
    """Return the number of lines that each row of B touches."""
    line, size = work.parameters.fibercache.line, work.b_sizes.element_bytes
    pointers = np.asarray(work.b.pointers).astype(np.int64)
    spans = (pointers[1:] * size - 1) // line - pointers[:-1] * size // line + 1
    # The formula is wrong for an empty row, which touches no line.
    return np.where(pointers[1:] > pointers[:-1], spans, 0)


def _sums(counts: Integers, bounds: Integers) -> Integers:
    """Return the sums of the counts between neighbouring bounds, which may be equal."""
    prefix_sums = np.concatenate([[0], np.cumsum(counts)])
    return np.diff(prefix_sums[bounds])
