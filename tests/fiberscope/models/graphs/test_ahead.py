"""Graphs whose blocks run ahead, and the same graphs in step: one outcome, in every entry of the report."""

import random
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams.kernels import KERNELS, orders_of
from streams.kernels import Kernel as OneKernel
from streams.random_expressions import RandomExpression
from streams.random_graphs import RandomGraph

from fiberscope.base.errors import InputError
from fiberscope.hw.streams.block_lookahead import AheadKernel
from fiberscope.models.graphs import machine, run
from fiberscope.models.graphs.compiler.lower import lower
from fiberscope.models.graphs.execution import graph_settings, prepare
from fiberscope.models.graphs.gv_reader import read_gv
from fiberscope.results.errors import FailedRunError
from fiberscope.sim import DeadlockError, Kernel, SimulationError
from fiberscope.sim.constants import DRAINED, MAX_TIME, SLICE_END

EXAMPLES = Path(__file__).parents[4] / "examples" / "graphs"
QUIRKS = ("auto", "auto", "none", "all", "0,12", "2,4,11", "17,25", "18,19,22")
DEPTHS = (0, 1, 2, 3, 4, 7, 16)


def reported(graph, operands, parameters, **options):
    """The report of a run without what it says of the host, and for what it failed."""
    try:
        report, fault = run(graph, operands, parameters, **options), ""
    except FailedRunError as error:
        report, fault = error.report, str(error)
    except InputError as error:
        return str(error)
    return fault, report.model_dump(exclude={"host"})


def both(graph, operands, parameters, **options):
    """The report of a run ahead, which must be that of one in step."""
    ahead = reported(graph, operands, parameters, **options)
    with mock.patch.object(machine, "AheadKernel", Kernel):
        in_step = reported(graph, operands, parameters, **options)
    assert ahead == in_step
    return ahead


def expression(seed):
    """A random expression as a graph; ``InputError`` if it has none."""
    drawn = RandomExpression(seed)
    return lower([drawn.assignment], drawn.formats, drawn.order), drawn.operands


def kernel(seed):
    """A kernel of the literature in some order of its loops."""
    name = random.Random(seed).choice(list(KERNELS))
    drawn = OneKernel(name, random.Random(seed).choice(orders_of(name)), seed, "sdb")
    return lower([drawn.assignment], drawn.formats, drawn.order), drawn.arrays


def netlist(seed):
    """A random graph, on random tensors."""
    drawn, numbers = RandomGraph(seed), np.random.default_rng(seed)
    shapes = {name: (7,) * order for name, order in drawn.tensors.items()}
    return drawn.graph, {name: numbers.integers(0, 3, shape) for name, shape in shapes.items()}


@st.composite
def graphs(draw):
    """A graph with its operands."""
    make, seed = draw(st.sampled_from((expression, kernel, netlist))), draw(st.integers(0, 10**6))
    try:
        return make(seed)
    except InputError:
        return netlist(seed)


LATENCIES = ("latency.alu", "latency.reduce")
parameters = st.fixed_dictionaries(
    {
        "timing": st.sampled_from(("sam", "machine")),
        "depth": st.sampled_from(DEPTHS),
        "quirks": st.sampled_from(QUIRKS),
        "latency.alu": st.sampled_from((1, 1, 2, 5)),
        "latency.reduce": st.sampled_from((1, 1, 3)),
    }
).map(lambda given: given | dict.fromkeys(LATENCIES, 1) if given["timing"] == "sam" else given)


@settings(max_examples=25)
@given(graphs(), parameters, st.none() | st.integers(1, 400))
def test_reports_are_equal(graph, parameters, limit) -> None:
    both(*graph, parameters, cycle_limit=limit)


def machine_of(graph, operands, parameters, kernel):
    """The first phase of a graph, not yet run."""
    ready = prepare(graph, operands)
    tensors = {name: operand.stored for name, operand in ready.operands.items()}
    return machine.GraphMachine(
        graph_settings(parameters),
        graph,
        tensors,
        ready.assignments,
        ready.sizes,
        ready.graph.phases[0],
        kernel,
    )


def seen(made, limit):
    """All that can be seen of a machine that has run on up to a cycle."""
    try:
        ended = made.kernel.run(cycle_limit=limit)
    except (DeadlockError, SimulationError) as error:
        return str(error), getattr(error, "__notes__", None)
    kernel = made.kernel
    channels = [(one.name, one.pushes, one.pops, one.occupancy) for one in kernel.channels()]
    return ended, kernel.time, kernel.statistics(), channels, made.progress(), made.cycles


@settings(max_examples=25)
@given(graphs(), parameters, st.lists(st.integers(1, 90), max_size=12))
def test_machines_are_equal_wherever_they_are_looked_at(graph, parameters, steps) -> None:
    ahead, in_step = (machine_of(*graph, parameters, kernel) for kernel in (AheadKernel(), Kernel()))
    for limit in (*np.cumsum(steps).tolist(), None):
        found = seen(ahead, limit)
        assert found == seen(in_step, limit)
        if isinstance(found[0], str):
            return
        # Ahead every cycle is a step; in step those in which all blocks await what is in flight are none.
        if all(parameters[name] == 1 for name in LATENCIES):
            assert ahead.kernel.steps == in_step.kernel.steps
        assert ahead.kernel.steps >= in_step.kernel.steps


@settings(max_examples=15)
@given(graphs(), st.integers(1, 9), st.integers(1, 7))
def test_a_budget_of_time_steps_ends_no_run(graph, latency, budget) -> None:
    """A run in slices of few time steps, whose last cycle can be one in which all blocks wait."""
    parameters = {"depth": 0, "timing": "machine"} | dict.fromkeys(LATENCIES, latency)
    ahead, in_step = (machine_of(*graph, parameters, kernel) for kernel in (AheadKernel(), Kernel()))
    for made in (ahead, in_step):
        reason = SLICE_END
        try:
            while reason == SLICE_END:
                reason = made.kernel._advance(MAX_TIME, budget)
        except SimulationError:
            return
        assert reason == DRAINED
    assert seen(ahead, None) == seen(in_step, None)
    assert ahead.kernel.step() is False


def example(name):
    """A graph of the examples, with operands."""
    graph = read_gv(EXAMPLES / f"{name}.gv")
    written = {node["tensor"] for node in graph.writers}
    read = sorted({node["tensor"] for node in graph.nodes.values()} - written - {""})
    shapes = {one: "x".join(["14"] * len(graph.formats[one].letters)) for one in read}
    return graph, {one: f"sam-random:shape={shapes[one]},sparsity=0.7,seed={len(one)}" for one in read}


@pytest.mark.parametrize("name", sorted(file.stem for file in EXAMPLES.glob("*.gv")))
@pytest.mark.parametrize("timing", ["sam", "machine"])
def test_the_examples_are_equal(name, timing) -> None:
    fault, report = both(*example(name), {"timing": timing})
    assert not fault
    assert report["verification"]["passed"]


@pytest.mark.parametrize(
    ("name", "parameters", "ahead"),
    [
        ("fig12_ikj", {"timing": "sam"}, True),
        ("fig12_ikj", {"timing": "machine", "depth": 0}, True),
        ("fig12_ikj", {"timing": "machine"}, False),
        ("fig13_skip", {"timing": "sam"}, False),
    ],
)
def test_what_runs_ahead(name, parameters, ahead) -> None:
    made = machine_of(*example(name), parameters, AheadKernel())
    made.kernel.run()
    assert bool(made.kernel.processes) == ahead
    assert made.kernel.ticks >= len(made.kernel.components)  # each block has run


def test_in_step_from_when_a_tracer_is_attached_on() -> None:
    tracer = mock.Mock(end=MAX_TIME, begin=lambda time: time)
    machines = [
        machine_of(*example("fig12_ikj"), {"timing": "sam"}, one) for one in (AheadKernel(), Kernel())
    ]
    for limit in (100, 250, None):
        found, wanted = (seen(made, limit) for made in machines)
        assert found == wanted
        machines[0].kernel.trace(tracer if limit == 100 else None)
    sampled = [call.args[0] for call in tracer.sample.call_args_list]
    assert sampled == list(range(100, 250))
