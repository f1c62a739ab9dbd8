"""Machines from random specifications: they compute what every point gives, and count as the trace does."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from drawn_flattened import computed, flattening
from drawn_specifications import merging, programs, redefined
from drawn_storage import stored_merging, stored_programs
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st
from mapped_runs import compare, ran
from scipy import sparse

import fiberscope
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.models.from_spec import instance_blocks
from fiberscope.models.trace.evaluate import run
from fiberscope.models.trace.model import Model
from fiberscope.models.trace.specification import Split, UniformOccupancy
from fiberscope.sim import Kernel

REFUSED = ("both uncompressed and partitioned", "as another tensor while the loops run")
ANYHOW = settings(suppress_health_check=list(HealthCheck))


def held(program):
    """Hold a machine to its law; the reason if there is none."""
    try:
        machine, _cycles = ran(program)
    except ConfigurationError as error:
        refused = str(error)
    else:
        compare(program, machine)
        return "built"
    reasons = [one for one in REFUSED if one in refused]
    assert len(reasons) == 1, refused
    return reasons[0]


DRAWN = {
    "any mapping": programs(),
    "pieces of a leader, and a factor that stays whole": programs(led=True),
    "sums of products": programs(nested=True),
    "flattened ranks": flattening(),
    "computed indices": computed(),
    "operators of another meaning": redefined(),
}


@pytest.mark.parametrize("kind", DRAWN)
@ANYHOW
@given(data=st.data())
def test_a_machine_gives_what_every_point_gives_and_counts_as_the_trace(kind, data):
    held(data.draw(DRAWN[kind]))


@pytest.mark.slow
@settings(ANYHOW, max_examples=2000)
@given(st.one_of(DRAWN.values()))
def test_two_thousand_machines(program):
    held(program)


def merged(specification, trees):
    """Elements that pass a merger of tasks with several lists, and lists of these: all in each round."""
    merger = specification.configurations["Chip"].components["Merger"]
    kept, radix = set if merger.reduces else list, merger.radix or len(trees["A"].values)
    rows, fibers = {}, {}
    for k, n in zip(*trees["B"].swizzle(("K", "N")).columns(), strict=True):
        fibers.setdefault(int(k), []).append(int(n))
    for k, m in zip(*trees["A"].swizzle(("K", "M")).columns(), strict=True):
        rows.setdefault(int(m), []).append(fibers.get(int(k), []))
    cut = specification.einsums[0].partitioning
    size = cut[0].directives[0].size if cut else trees["A"].nonzeros + 1
    pieces = [row[at : at + size] for row in rows.values() for at in range(0, len(row), size)]
    left = [[fiber for fiber in piece if fiber] for piece in pieces]
    elements = counted = 0
    while left := [lists for lists in left if len(lists) > 1]:
        elements += sum(map(len, chain(*left)))
        counted += sum(map(len, left))
        left = [
            [kept(chain(*lists[at : at + radix])) for at in range(0, len(lists), radix)] for lists in left
        ]
    return elements, counted


@ANYHOW
@given(merging())
def test_a_merger_counts_as_the_trace_and_gives_what_every_point_gives(program):
    machine, _cycles = ran(program)
    compare(program, machine)
    specification, _trees = program
    elements, lists = merged(*program)
    assert machine.operations()["merge"] == elements
    model = Model(program[0])
    told = model.metrics(run(*program, model.observe))["Z"]["Merger"]
    (bound,) = specification.einsums[-1].bindings.mergers
    if specification.configurations["Chip"].components["Merger"].inputs is not None:
        steps = told[f"T_{''.join(bound.init_ranks)}"]
        assert steps == elements + lists  # of any number the trace counts comparisons


def test_what_a_merger_hands_over_cuts_nothing():
    drawn = merging(pieces=st.just(2))
    specification, trees = find(drawn, lambda _program: True, settings=settings(database=None))
    first, second = specification.einsums
    led = (Split("K", ("K1", "K0"), (UniformOccupancy("T", 2),)),)
    changed = replace(specification, einsums=(first, replace(second, partitioning=led)))
    with pytest.raises(
        ConfigurationError, match="Z: K is partitioned as T, which a merger computes while the loops run"
    ):
        ran((changed, trees))


@settings(ANYHOW, max_examples=25)
@given(programs() | merging() | stored_merging(), st.integers(0, 1 << 30))
def test_nothing_depends_on_the_order_of_ticks_or_on_sleep(program, seed):
    try:
        _machine, cycles = ran(program)
    except ConfigurationError:
        return
    plain, _ = ran(program)
    for kernel in (Kernel(order_seed=seed), Kernel(sleep=False)):
        other, took = ran(program, kernel)
        assert took == cycles
        assert str(other.result().outputs["Z"]) == str(plain.result().outputs["Z"])
        assert accounts(other) == accounts(plain)


def accounts(machine):
    """Of each component what its cycles counted as, and its counters."""
    return {name: (one.busy, one.idle, one.counters) for name, one in machine.kernel.statistics().items()}


@settings(ANYHOW, max_examples=25)
@given(programs() | flattening() | merging() | stored_merging() | stored_programs())
def test_tasks_by_coordinate_give_the_same(program):
    try:
        machine, _cycles = ran(program, dispatch="coordinate")
    except ConfigurationError:
        return
    compare(program, machine)
    for stage in machine.stages:
        loops = [crossing.loop for crossing in stage.graph.crossings]
        if stage.stage.outer:
            coordinates = stage.cut.elements[loops.index(stage.stage.outer[-1])].integers()
            owners = [coordinate % stage.stage.instances for coordinate in coordinates]
            assert list(stage.cut.owner.integers()) == owners


@settings(ANYHOW, max_examples=25)
@given(programs() | merging() | stored_merging(), st.sampled_from([1, 2, 7]), st.sampled_from([1, 2, 9]))
def test_tasks_in_turn_and_short_queues_give_the_same_in_other_cycles(program, tasks, several):
    try:
        machine, _cycles = ran(
            program, dispatch="static", tasks=tasks, way=several, sums=several, walk=several
        )
    except ConfigurationError:
        return
    compare(program, machine)


UNBOUNDED = {"tile.count": 1, "l1.count": 1, "timing.memory": "ideal"}


def test_a_merger_of_any_number_has_a_way_for_each_list():
    """OuterSPACE with 257 elements that multiply: columns of A of 3, 1 and 1, rows of B of 2, 1 and 3.

    Row 0 of the product is merged of three lists, 6 elements of which 2 and 1 meet; rows 1 and 2 are of one
    list each, and pass as they are.
    """
    a = sparse.csr_array([[1.0, 1.0, 1.0], [1.0, 0, 0], [1.0, 0, 0]])
    b = sparse.csr_array([[1.0, 1.0, 0], [0, 1.0, 0], [1.0, 1.0, 1.0]])
    report = fiberscope.simulate("spec:outerspace", a, b, settings=UNBOUNDED)
    assert report.operations == {"multiply": 10, "add": 3, "merge": 6}
    assert report.result.toarray().tolist() == [[2, 3, 1], [1, 1, 0], [1, 1, 0]]


def test_heads_of_more_lists_than_a_tree_has_ways_are_kept_in_order():
    """Row 0 of the product is merged of 257 lists of 1, an element every two cycles."""
    a, b = sparse.csr_array(np.ones((1, 257))), sparse.csr_array(np.ones((257, 1)))
    report = fiberscope.simulate("spec:outerspace", a, b, settings=UNBOUNDED)
    assert report.operations == {"multiply": 257, "add": 256, "merge": 257}
    assert report.result.toarray().tolist() == [[257]]
    mergers = [part for name, part in report.components.items() if name.endswith(".merger")]
    merger = max(mergers, key=lambda part: part.busy)
    assert merger.busy == 1 + 257 + 257  # the task, the heads, and what follows each of them in its list
    assert sum(merger.input_stall_by_port.values()) == 257  # a cycle for each of the latter


@settings(ANYHOW, max_examples=25)
@given(merging() | stored_merging())
def test_heads_in_order_count_as_a_tree_of_ways_and_give_the_same(program):
    specification, trees = program
    chip = specification.configurations["Chip"]
    merger = replace(chip.components["Merger"], inputs=None, radix=None)
    chip = replace(chip, components={**chip.components, "Merger": merger})
    program = replace(specification, configurations={"Chip": chip}), trees
    tree, _cycles = ran(program)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(instance_blocks, "RADIX", (1, 1))
        machine, _cycles = ran(program)
    compare(program, machine)
    assert machine.operations() == tree.operations()
    assert {name: use.read_bytes for name, use in machine.traffic().items()} == {
        name: use.read_bytes for name, use in tree.traffic().items()
    }


def test_how_many_instances_are_built_is_set():
    a = sparse.csr_array(np.eye(3))
    with pytest.raises(ConfigurationError, match=r"it has 257 instances of pe; timing\.most is 256"):
        fiberscope.simulate("spec:outerspace", a, a, settings=UNBOUNDED | {"timing.most": 256})
