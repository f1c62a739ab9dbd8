"""What a run cost: by hand, by the laws of sums, and of every machine and specification that ships."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fiberscope
from fiberscope import accelerators
from fiberscope.results.costs.prices import Part, Prices
from fiberscope.results.costs.run_costs import RunActivity, charge_run
from fiberscope.results.report.costs import cost_fields
from fiberscope.results.report.costs_table import costs_table
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
ENERGIES = st.floats(0, 1e3)
NAMES = st.sampled_from(["pe", "cache.bank", "memory.channel", "control"])
PART = st.builds(
    Part,
    actions=st.dictionaries(st.sampled_from(["add", "read", "busy"]), ENERGIES),
    operations=st.just(()),
    um2=st.none() | st.floats(0, 1e6),
)
PRICES = st.builds(
    Prices,
    memory=st.fixed_dictionaries({"read": ENERGIES, "write": ENERGIES}),
    operations=st.dictionaries(st.just("multiply"), ENERGIES),
    parts=st.dictionaries(NAMES, PART),
)
DID = st.builds(
    RunActivity,
    families=st.dictionaries(
        NAMES, st.lists(st.dictionaries(st.sampled_from(["add", "read"]), COUNTS), min_size=1, max_size=4)
    ),
    bits=st.dictionaries(st.sampled_from("ABZ"), st.tuples(COUNTS, COUNTS)),
    operations=st.dictionaries(st.sampled_from(["multiply", "add"]), COUNTS),
)


def test_a_bill_by_hand():
    prices = Prices(
        memory={"read": 4.0, "write": 5.0},
        operations={"multiply": 2.0},
        parts={"pe.*": Part({"add": 3.0}, (), 10.0), "mul": Part({}, ("multiply",), None, ("mul(bits=8)",))},
        without=("host",),
    )
    lanes = [{"add": 4, "other": 1}, {"add": 3}, *[{"add": 0}] * 6]
    families = {"pe.lane": lanes, "mul": [{}, {}], "control": [{"steps": 4}]}
    found = charge_run(RunActivity(families, {"A": (16, 0), "Z": (0, 8)}, {"multiply": 6, "add": 9}), prices)
    assert found.picojoules == {
        "pe.lane": {"add": 21.0},
        "memory.channel": {"read A": 64.0, "write Z": 40.0},
        "operations": {"multiply": 12.0},
    }
    assert found.um2 == {"pe.lane": 80.0}
    assert found.energy_without == ("clock tree", "leakage", "wires", "host", "control")
    assert found.area_without == ("wires", "host", "control", "mul: mul(bits=8)")


def plainly(did, prices):
    """Energy and area without families, patterns or names of actions."""
    energy = sum(did.operations.get(name, 0) * each for name, each in prices.operations.items())
    for read, written in did.bits.values():
        energy += read * prices.memory["read"] + written * prices.memory["write"]
    area = 0.0
    for family, counters in ((name, one) for name, members in did.families.items() for one in members):
        part = prices.parts.get(family)
        if part is not None:
            energy += sum(part.actions.get(name, 0.0) * count for name, count in counters.items())
            area += part.um2 or 0.0
    return energy, area


@given(DID, PRICES)
def test_the_sum_of_all_is_what_a_plain_one_gives(did, prices):
    fields = cost_fields(prices, did, 2.0)
    energy, area = plainly(did, prices)
    assert fields["energy"].total_pj == pytest.approx(energy)
    assert fields["area_um2"] or pytest.approx(area) == 0.0
    assert fields["edp"] == pytest.approx(energy * 1e-12 * 2.0)


def doubled(counts):
    return {name: 2 * count for name, count in counts.items()}


@given(DID, PRICES)
def test_twice_as_much_takes_twice_the_energy_and_the_same_area(did, prices):
    twice = RunActivity(
        {name: [*map(doubled, members)] for name, members in did.families.items()},
        {name: (2 * read, 2 * written) for name, (read, written) in did.bits.items()},
        doubled(did.operations),
    )
    once, again = cost_fields(prices, did, 1.0), cost_fields(prices, twice, 1.0)
    assert again["energy"].total_pj == pytest.approx(2 * once["energy"].total_pj)
    assert again["area_um2"] == once["area_um2"]


@given(DID, PRICES)
def test_a_family_without_a_price_is_told(did, prices):
    found = charge_run(did, prices)
    for family in did.families:
        part = prices.parts.get(family)
        assert (family in found.energy_without) or family in found.picojoules or (part and part.actions)
        assert (family in found.area_without) != (family in found.um2)


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_machine_has_energy_and_area(name):
    report = fiberscope.simulate(name, WORKLOADS[name])
    spent = report.energy.by_component
    assert report.energy.total_pj > 0 < report.area_um2
    assert report.energy.total_pj == pytest.approx(sum(sum(one.values()) for one in spent.values()))
    assert report.area_um2 == pytest.approx(sum(report.area.by_component.values()))
    assert report.edp == pytest.approx(report.energy.total_pj * 1e-12 * report.seconds)
    assert [one for one in report.area.without if "(" in one] == []  # all netlists have been measured
    shown = costs_table(report).markdown()
    assert all(name in shown for name in (*spent, *report.area.by_component, *report.energy.without))


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
    assert report.area_um2 > 0


def test_a_machine_of_a_specification_has_both_and_the_area_of_its_trace():
    operands = dict.fromkeys("AB", WORKLOADS["gamma"])
    ran = fiberscope.simulate("spec:gamma", tensors=operands, settings={"pe.count": 2})
    traced = fiberscope.model("gamma", tensors=operands, settings={"pe.count": 2})
    assert ran.energy.total_pj > traced.energy.total_pj > 0  # it moves lines, not elements
    assert ran.area == traced.area


@pytest.mark.parametrize("key", ["fibercache.size", "pe.count"])
def test_what_is_larger_has_more_area(key):
    sizes = {"fibercache.size": ("3 MiB", "6 MiB"), "pe.count": (4, 8)}[key]
    small, large = (
        fiberscope.simulate("gamma", WORKLOADS["gamma"], settings={"pe.count": 4, key: size}).area_um2
        for size in sizes
    )
    assert small < large


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
    assert "toy has no costs.yaml" in costs_table(report).markdown()
