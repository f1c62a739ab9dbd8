"""Runs of machines that nobody configures, and what they are held to."""

from collections import Counter

import yaml
from pydantic import create_model

from fiberscope.models.from_spec.build import build_graphs
from fiberscope.models.from_spec.machine import MappedMachine
from fiberscope.models.from_spec.settings import DEFAULTS, MappedParameters
from fiberscope.models.graphs.primitives.tasks import FIBER_PAIRS, SKIP_AHEAD
from fiberscope.models.trace.evaluate import run
from fiberscope.models.trace.model import Model
from fiberscope.models.trace.options import Effects
from fiberscope.models.trace.plan import rank_shapes
from fiberscope.models.trace.reference import Computation
from fiberscope.models.trace.specification import Split
from fiberscope.models.trace.verify import verify

MOST_EQUAL = 2  # factors
SHIPPED_SETTINGS = yaml.safe_load(DEFAULTS.read_text())


def parameters(of_memory=None, **timing):
    """Those that ship, but for some of the timing and of the memory."""
    given = {
        "clock": 10**9,
        **SHIPPED_SETTINGS,
        "timing": {**SHIPPED_SETTINGS["timing"], **timing},
        "memory": {**SHIPPED_SETTINGS["memory"], **(of_memory or {})},
    }
    return create_model("Drawn", __base__=MappedParameters, clock=(int, ...))(**given)


def built(program, kernel=None, value=None, **timing):
    """The machine of a program, not run, with values of a type."""
    specification, trees = program
    banked = timing.get("dispatch") == "coordinate"
    graphs = build_graphs(specification, trees, lanes=timing.get("lanes", 0), banked=banked)
    given = parameters(**timing).model_copy(update={"value": value} if value else {})
    return MappedMachine(given, specification, graphs, trees, "drawn", kernel=kernel)


def ran(program, kernel=None, **timing):
    """The same, run to its end, and the cycles that it took."""
    machine = built(program, kernel, **timing)
    ended = machine.kernel.run()
    assert ended.complete
    return machine, ended.cycles


def compare(program, machine):
    """Its output with every point, its operations with the trace's."""
    specification, trees = program
    outcome = run(specification, trees)
    last = specification.einsums[-1]
    tensors = {**outcome.tensors, **trees}
    shapes = rank_shapes(specification, last, tensors)
    found = verify(Computation(specification, last, tensors, shapes), machine.result().outputs[last.name])
    assert found.reference == "an evaluation of every point"
    assert found.passed
    operations, counted = machine.operations(), outcome.runs[-1].operations
    assert operations["multiply"] == counted.get("mul", 0)
    added = operations["add"] + operations.get("sub", 0) - counted.get("add", 0) - counted.get("sub", 0)
    assert 0 <= added <= outcome.runs[-1].zero_sums
    whole = {rank for tensor in specification.tensors.values() for rank in tensor.uncompressed}
    whole |= {
        name
        for cut in last.partitioning
        if isinstance(cut, Split) and cut.rank in whole
        for name in cut.names
    }
    for loop, steps in steps_of(machine.stages[-1]).items():
        counts = outcome.runs[-1].intersections[loop]
        untold = (
            counts.two_finger > 0 and counts.skip_ahead == 0
        )  # of what is cut as another, the trace is silent
        assert loop in whole or untold or steps == counts.skip_ahead


def steps_of(stage):
    """Of each loop whose intersector skips ahead the steps of all its units."""
    steps = Counter()
    for leaf in (stage.outer_blocks, *stage.leaves):
        for node in leaf.nodes.values():
            if node.type in (SKIP_AHEAD, FIBER_PAIRS):
                steps[node["index"]] += leaf.blocks[node.name].steps
    return steps


def bits_of_the_trace(specification, trees):
    """Bits that each tensor's buffers take, an instance at a time."""
    model = Model(specification, Effects(instances=True))
    outcome = run(specification, trees, model.observe)
    told = model.metrics(outcome)["Z"].get("DRAM", {})
    return {name: told[name]["read"] if name in told else 0 for name in trees}
