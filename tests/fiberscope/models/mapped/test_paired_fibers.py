"""Machines whose instances intersect all fibers of one operand with all of the other, in random tiles."""

from drawn_specifications import paired
from hypothesis import HealthCheck, given, settings
from mapped_runs import compare, ran

from fiberscope.hw.streams.fiber_pairs import FiberPairs
from fiberscope.models.graphs.primitives.tasks import FIBER_PAIRS


@settings(suppress_health_check=list(HealthCheck))
@given(paired())
def test_rows_and_columns_of_a_task_meet_in_pairs_with_the_steps_of_the_trace(program):
    machine, _cycles = ran(program)
    compare(program, machine)
    leaf = machine.stages[0].leaves[0]
    (pairs,) = (leaf.blocks[node.name] for node in leaf.nodes.values() if node.type == FIBER_PAIRS)
    assert isinstance(pairs, FiberPairs)
