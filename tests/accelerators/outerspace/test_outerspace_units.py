"""Merging elements with a unit that keeps their heads in order: all that a run without it leaves behind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outerspace_bench import configurations, operands, run_outerspace, small_operands, tiny

from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.accelerators.outerspace import OuterSpace
from fiberscope.accelerators.outerspace.units import UNITS
from fiberscope.accelerators.testing import outcome
from fiberscope.hw.fibers.allocator import BumpAllocator, NodeWriter
from fiberscope.hw.fibers.sorted_head import SortedHeadUnit

ROOM = {"merge__max_lists": 64}


def with_units(parameters):
    """The same machine, with units."""
    return parameters.model_copy(update={"merge": parameters.merge.model_copy(update={"heads": "unit"})})


@given(
    operands(),
    configurations(merge__max_lists=64, merge__comparison_cycles=1, merge__emit_cycles=2),
    st.integers(2, 5),
    st.integers(2, 5),
)
def test_units_give_what_the_quick_way_does(given_operands, parameters, emit_cycles, add_cycles):
    merge = parameters.merge.model_copy(update={"emit_cycles": emit_cycles})
    element = parameters.pe.model_copy(update={"fp_latency": add_cycles})
    parameters = parameters.model_copy(update={"merge": merge, "pe": element})
    units, quick = (run_outerspace(make, *given_operands) for make in (with_units(parameters), parameters))
    assert outcome(units, tuple(UNITS)) == outcome(quick)
    heads = [part for part in units.kernel.components if isinstance(part, SortedHeadUnit)]
    assert sum(part.swaps for part in heads) == units.operations()["swap"]
    assert sum(part.rows for part in heads) == units.operations()["rows_merged"]


@given(operands(), configurations())
def test_units_link_nodes_as_the_linker_does(given_operands, parameters):
    alloc = parameters.alloc.model_copy(update={"links": "unit"})
    units, quick = (
        run_outerspace(make, *given_operands)
        for make in (parameters.model_copy(update={"alloc": alloc}), parameters)
    )
    assert outcome(units, tuple(UNITS)) == outcome(quick)
    for stored in ("addresses", "following", "heads"):
        assert list(getattr(units.lists, stored)) == list(getattr(quick.lists, stored))
    (space,), (writer,) = (
        [part for part in units.kernel.components if isinstance(part, kind)]
        for kind in (BumpAllocator, NodeWriter)
    )
    linker = quick.linker.counters()
    assert (writer.linked, space.granted, space.units) == tuple(
        linker[counter] for counter in ("linked", "spilled", "spilled_bytes")
    )


def test_a_part_that_stands_in_for_a_unit_runs():
    made = []

    class Own(SortedHeadUnit):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            made.append(self)

    machine = run_outerspace(tiny(**ROOM), *small_operands(), parts={"sorted_head": Own})
    assert len(made) == 4
    mergers = [part for tile in machine.mergers for part in tile]
    assert sum(part.merged_elements for part in made) == sum(part.elements for part in mergers) > 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"merge__max_lists": 3}, "merge.max_lists is 3; .* from 7 to 1048576"),
        (ROOM | {"merge__comparison_cycles": 2}, "merge.comparison_cycles is 2; .* from 1 to 1"),
        (ROOM | {"merge__emit_cycles": 1}, "merge.emit_cycles is 1; .* from 2 to 1000"),
        (ROOM | {"pe__fp_latency": 1}, "pe.fp_latency is 1; .* from 2 to 1000"),
    ],
)
def test_what_a_unit_cannot_do_in_time_is_refused(settings, message):
    with pytest.raises(ConfigurationError, match=message):
        OuterSpace(with_units(tiny(**settings)), *small_operands())
