"""What a run cost: by hand, by the laws of sums, and of every machine and specification that ships."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fiberscope
from fiberscope import accelerators
from fiberscope.results.costs.cost import UNKNOWN, Cost
from fiberscope.results.costs.prices import PartCosts, Prices
from fiberscope.results.costs.run_costs import RunActivity, iterate_area_items, iterate_static_items
from fiberscope.results.report.costs import build_cost_fields
from fiberscope.results.report.costs_table import build_costs_tables
from fiberscope.template.new import new_machine

WORKLOADS = {
    "gamma": "uniform:rows=30,cols=30,nonzeros=90",
    "extensor": "uniform:rows=30,cols=30,nonzeros=90",
    "outerspace": "uniform:rows=30,cols=30,nonzeros=90",
    "sigma": "gemm:m=16,n=16,k=16,a=0.5,b=0.5",
    "graphicionado": "uniform:rows=30,cols=30,nonzeros=90",
    "weight_stationary": "gemm:m=16,n=16,k=16,a=0.5,b=0.5",
}
COUNTS = st.integers(0, 10**9)
NUMBERS = st.floats(0, 1e3)
COSTS = st.just(UNKNOWN) | st.builds(
    lambda lower, more, basis: Cost(lower, None if more is None else lower + more, basis),
    NUMBERS,
    st.none() | NUMBERS,
    st.sampled_from(["measured", "law", "published"]),
)
NAMES = st.sampled_from(["pe", "cache.bank", "memory.channel", "control"])
PART = st.builds(
    PartCosts,
    actions=st.dictionaries(st.sampled_from(["add", "read", "busy"]), COSTS),
    operations=st.just(()),
    areas=st.dictionaries(st.sampled_from(["data", "merger(radix=2)"]), COSTS),
    clock=COSTS,
    leakage=COSTS,
    wires=st.dictionaries(st.sampled_from(["add", "read"]), COSTS),
)
PRICES = st.builds(
    Prices,
    memory=st.fixed_dictionaries({"read": COSTS, "write": COSTS}),
    operations=st.dictionaries(st.just("multiply"), COSTS),
    parts=st.dictionaries(NAMES, PART),
)
DID = st.builds(
    RunActivity,
    families=st.dictionaries(
        NAMES,
        st.lists(st.dictionaries(st.sampled_from(["add", "read", "cycles"]), COUNTS), min_size=1, max_size=4),
    ),
    bits=st.dictionaries(st.sampled_from("ABZ"), st.tuples(COUNTS, COUNTS)),
    operations=st.dictionaries(st.sampled_from(["multiply", "add"]), COUNTS),
    cycles=COUNTS,
    seconds=st.just(2.0),
)


def published(number):
    return Cost.exact(number, "published")


def test_a_bill_by_hand():
    prices = Prices(
        memory={"read": published(4.0), "write": published(5.0)},
        operations={"multiply": published(2.0)},
        parts={
            "pe.*": PartCosts(
                {"add": published(3.0)},
                areas={"data": Cost(10.0, 15.0, "law")},
                clock=Cost(0.5, 1.0, "measured"),
                leakage=Cost(1e-12, 2e-12, "law"),
            ),
            "mul": PartCosts({}, ("multiply",), {"mul(bits=8)": UNKNOWN}),
        },
        without=("host",),
    )
    lanes = [{"add": 4, "other": 1, "busy": 5, "cycles": 9}, {"add": 3, "busy": 3, "cycles": 9}]
    lanes += [{"add": 0, "busy": 0, "cycles": 9}] * 6
    families = {"pe.lane": lanes, "mul": [{}, {}], "control": [{"steps": 4}], "memory.channel": [{}]}
    did = RunActivity(families, {"A": (16, 0), "Z": (0, 8)}, {"multiply": 6, "add": 9}, 9, 2.0)
    fields = build_cost_fields(prices, did)
    energy, area = fields["energy"], fields["area"]
    assert energy.by_component == {
        "pe.lane": {"add": 21.0, "clock": 4.0, "leakage": pytest.approx(16.0)},
        "memory.channel": {"read A": 64.0, "write Z": 40.0},
        "operations": {"multiply": 12.0},
    }
    kinds = (energy.dynamic, energy.clock, energy.leakage, energy.memory, energy.on_chip)
    assert [kind.known for kind in kinds] == [33.0, 4.0, pytest.approx(16.0), 104.0, pytest.approx(53.0)]
    assert [kind.upper for kind in kinds] == [None, None, None, 104.0, None]
    unknown = ("control", "mul.clock", "mul.leakage", "wires", "host")
    (clock,) = (part for part in energy.parts if part.name == "pe.lane.clock")
    assert clock.upper == 72.0  # in all cycles, without gating
    assert energy.without == unknown
    assert (area.known, area.upper, area.by_component) == (80.0, None, {"pe.lane": 80.0})
    assert [(part.name, part.upper) for part in area.parts if part.basis == "law"] == [
        ("pe.lane: data", 120.0)
    ]
    assert area.without == ("mul: mul(bits=8)", "control", "host")


def plainly(did, prices):
    """Energy and area without families, patterns or names of actions."""
    energy = sum(did.operations.get(name, 0) * cost.lower for name, cost in prices.operations.items())
    for read, written in did.bits.values():
        energy += read * prices.memory["read"].lower + written * prices.memory["write"].lower
    area = 0.0
    for family, counters in ((name, one) for name, members in did.families.items() for one in members):
        part = prices.parts.get(family)
        if part is None or family == "memory.channel":
            continue
        energy += sum(cost.lower * counters.get(name, 0) for name, cost in part.actions.items())
        energy += sum(cost.lower * counters.get(name, 0) for name, cost in part.wires.items())
        energy += part.clock.lower * counters.get("busy", 0) + part.leakage.lower * did.seconds * 1e12
        area += sum(cost.lower for cost in part.areas.values())
    return energy, area


@given(DID, PRICES)
def test_the_sum_of_all_is_what_a_plain_one_gives(did, prices):
    fields = build_cost_fields(prices, did)
    energy, area = plainly(did, prices)
    assert fields["energy"].total_pj == pytest.approx(energy)
    assert fields["area"].known == pytest.approx(area)
    assert fields["area_um2"] in (None, fields["area"].known)
    assert fields["edp"] == pytest.approx(energy * 1e-12 * did.seconds)


@given(DID, PRICES)
def test_sums_are_of_parts_and_no_upper_end_is_below_what_is_known(did, prices):
    fields = build_cost_fields(prices, did)
    energy, area = fields["energy"], fields["area"]
    kinds = (energy.dynamic, energy.clock, energy.leakage, energy.memory)
    assert energy.total_pj == pytest.approx(sum(kind.known for kind in kinds))
    assert energy.total_pj == pytest.approx(energy.on_chip.known + energy.memory.known)
    assert energy.total_pj == pytest.approx(sum(sum(one.values()) for one in energy.by_component.values()))
    assert area.known == pytest.approx(sum(area.by_component.values()))
    for interval in (*kinds, energy.on_chip, area, *energy.parts, *area.parts):
        assert interval.upper is None or interval.known <= interval.upper * (1 + 1e-9)
    for whole, parts in ((energy.upper_pj, energy.parts), (area.upper, area.parts)):
        assert (whole is None) == any(part.upper is None for part in parts)
        assert whole is None or whole == pytest.approx(sum(part.upper for part in parts))


def doubled(counts):
    return {name: 2 * count for name, count in counts.items()}


@given(DID, PRICES)
def test_twice_as_much_takes_twice_the_energy_and_the_same_area(did, prices):
    twice = RunActivity(
        {name: [*map(doubled, members)] for name, members in did.families.items()},
        {name: (2 * read, 2 * written) for name, (read, written) in did.bits.items()},
        doubled(did.operations),
        2 * did.cycles,
        2 * did.seconds,
    )
    once, again = build_cost_fields(prices, did), build_cost_fields(prices, twice)
    assert again["energy"].total_pj == pytest.approx(2 * once["energy"].total_pj)
    assert again["area"] == once["area"]


def test_parts_that_are_no_components_count_as_often_as_they_are_there():
    part = PartCosts(
        {}, areas={"cells": published(3.0)}, clock=Cost(0.5, 1.0, "law"), leakage=published(1e-6)
    )
    clock, leakage = iterate_static_items({"array": (4, part)}, RunActivity({}, {}, {}, 100, 2e-6))
    assert (clock.cost.lower, clock.cost.upper) == (0.0, 400.0)  # no clock is known to have run
    assert leakage.cost.lower == pytest.approx(8.0)
    assert [item.cost.lower for item in iterate_area_items({"array": (4, part)})] == [12.0]


@given(DID, PRICES)
def test_a_family_without_a_price_is_told(did, prices):
    """A family without an entry is named; its clock and leakage too if anything of it is known."""
    fields = build_cost_fields(prices, did)
    energy, area = fields["energy"], fields["area"]
    for family in did.families.keys() - {"memory.channel"}:
        part = prices.parts.get(family)
        assert (family in energy.without) == (part is None)
        named = [name for name in area.without if name.partition(":")[0] == family]
        assert bool(named) == (not part or not part.areas or UNKNOWN in part.areas.values())


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_machine_has_energy_and_area(name):
    report = fiberscope.simulate(name, WORKLOADS[name])
    spent = report.energy.by_component
    assert report.energy.total_pj > 0 < report.area_um2
    assert report.energy.total_pj == pytest.approx(sum(sum(one.values()) for one in spent.values()))
    assert report.area_um2 == pytest.approx(sum(report.area.by_component.values()))
    assert report.edp == pytest.approx(report.energy.total_pj * 1e-12 * report.seconds)
    assert [one for one in report.area.without if "(" in one] == []  # all netlists have an area
    energy = report.energy
    kinds = (energy.dynamic, energy.clock, energy.leakage, energy.memory)
    assert energy.total_pj == pytest.approx(sum(kind.known for kind in kinds))
    assert energy.leakage.known > 0
    intervals = (*kinds, energy.on_chip, report.area, *energy.parts, *report.area.parts)
    assert all(one.upper is None or one.known <= one.upper * (1 + 1e-9) for one in intervals)
    shown = "".join(table.markdown() for table in build_costs_tables(report))
    areas = [one for one, um2 in report.area.by_component.items() if um2]
    costly = [one for one, actions in spent.items() if any(actions.values())]
    assert all(one in shown for one in (*costly, *areas, *report.energy.without))


def test_a_machine_that_is_written_anew_and_matraptor_have_both(tmp_path):
    examples = Path(__file__).parents[3] / "examples"
    for folder in (new_machine("mine", tmp_path), examples / "matraptor"):
        report = fiberscope.simulate(str(folder), WORKLOADS["gamma"])
        assert {"pe.reader", "pe.multiplier", "memory.channel"} <= report.energy.by_component.keys()
        assert report.area.by_component["pe.multiplier"] > 0


def test_memory_takes_its_energy_a_bit():
    report = fiberscope.simulate("gamma", WORKLOADS["gamma"])
    spent, moved = report.energy.by_component["memory.channel"], report.traffic
    assert spent["read A"] == pytest.approx(3.9 * 8 * moved["A"].read_bytes)
    assert spent["write Z"] == pytest.approx(3.9 * 8 * moved["Z"].write_bytes)


def test_every_machine_is_among_those():
    assert set(WORKLOADS) == set(accelerators.names())


@pytest.mark.parametrize("name", ["gamma", "extensor", "outerspace", "sigma", "graphicionado"])
def test_every_specification_has_energy_and_area(name):
    report = fiberscope.model(name, WORKLOADS["gamma"])
    assert report.energy.total_pj > 0
    assert report.area.known > 0


def test_a_machine_of_a_specification_has_both_and_the_area_of_its_trace():
    operands = dict.fromkeys("AB", WORKLOADS["gamma"])
    ran = fiberscope.simulate("spec:gamma", tensors=operands, settings={"pe.count": 2})
    traced = fiberscope.model("gamma", tensors=operands, settings={"pe.count": 2})
    assert ran.energy.total_pj > traced.energy.total_pj > 0  # it moves lines, not elements
    assert ran.area == traced.area


@pytest.mark.parametrize(
    ("key", "sizes"),
    [
        ("fibercache.size", ("3 MiB", "6 MiB")),
        ("pe.count", (4, 8)),
        ("pe.radix", (16, 24, 32, 48, 64)),  # of which 24 and 48 were not measured
    ],
)
def test_what_is_larger_has_more_area(key, sizes):
    areas = [
        fiberscope.simulate("gamma", WORKLOADS["gamma"], settings={"pe.count": 4, key: size}).area
        for size in sizes
    ]
    for less, more in pairwise(areas):
        assert less.known < more.known
        assert less.upper < more.upper
    assert [area.without for area in areas] == [()] * len(areas)


def test_a_chain_takes_what_its_products_take():
    report = fiberscope.simulate("gamma", chain="Y = A A; Z = Y A", A=WORKLOADS["gamma"], pe__count=4)
    steps = list(report.chain.steps.values())
    assert report.energy.total_pj == pytest.approx(sum(step.energy.total_pj for step in steps))
    merged = sum(step.energy.by_component["pe.merger"]["merged_elements"] for step in steps)
    assert report.energy.by_component["pe.merger"]["merged_elements"] == pytest.approx(merged)
    assert report.area_um2 == steps[0].area_um2
    assert report.edp == pytest.approx(report.energy.total_pj * 1e-12 * report.seconds)


def test_a_machine_without_a_file_has_neither(toy):
    report = fiberscope.simulate(toy, WORKLOADS["gamma"])
    assert (report.energy, report.area, report.area_um2, report.edp) == (None, None, None, None)
    assert "toy has no costs.yaml" in build_costs_tables(report)[0].markdown()
