"""A converter as a machine: the engine's laws, both modes, memory, variants, and in front of another one."""

from dataclasses import asdict
from pathlib import Path

import pytest
from conversions import EXAMPLE, PAIRS, convert, machine, parameters, random_matrix
from kept import check_kept, checksum
from modes import other_mode
from modes_of_conversions import told
from scipy import sparse

import fiberscope
from fiberscope.accelerators.request_check import checked_requests
from fiberscope.accelerators.testing import KERNELS, cycles
from fiberscope.converters.recipes import sources
from fiberscope.converters.variants import FIGURE_8, KINDS, VARIANTS, WIRES, instances, waits_for_host
from fiberscope.results.report.difference import compare
from fiberscope.sim import Kernel
from fiberscope.sim.testing import check_accounting

TENSOR = random_matrix(5, (40, 30), 0.1)
WITH_MEMORY = parameters(("port.ideal", False))
SIMPLE = parameters(("port.ideal", False), ("memory.model", "simple"))
SCRIPT = Path(__file__).parent / "support" / "modes_of_conversions.py"
every_pair = pytest.mark.parametrize(("source", "target"), PAIRS, ids=[" to ".join(pair) for pair in PAIRS])


def left_behind(source: str, target: str, chosen: object, **options: object) -> dict[str, object]:
    """All that a run leaves behind."""
    kernel = Kernel(**options) if options else None
    made, expected = machine(TENSOR, source, target, parameters=chosen, kernel=kernel)
    assert made.kernel.run().complete
    assert expected.difference(made.result()) is None
    statistics = made.kernel.statistics()
    check_accounting(statistics)
    return {
        "cycles": cycles(made),
        "statistics": {name: asdict(part) for name, part in statistics.items()},
        "operations": made.operations(),
        "traffic": {name: asdict(part) for name, part in made.traffic().items()},
    }


IDEAL = [(*pair, parameters()) for pair in PAIRS]
REAL = [(*pair, WITH_MEMORY) for pair in (("csr", "csc"), ("csr", "bsr2"), ("zvc", "csc"), ("coo", "csf"))]


@pytest.mark.parametrize(("source", "target", "chosen"), IDEAL + REAL)
def test_neither_sleep_nor_tick_order_changes_a_conversion(source, target, chosen):
    expected = left_behind(source, target, chosen)
    for options in KERNELS:
        assert left_behind(source, target, chosen, **options) == expected, options


def test_compiled_and_uncompiled_conversions_are_the_same():
    assert other_mode(SCRIPT) == told()


@every_pair
def test_traffic_is_that_of_whole_lines(source, target):
    made, expected = machine(TENSOR, source, target, parameters=WITH_MEMORY)
    made.kernel.run()
    traffic = made.traffic()
    assert traffic["Z"].write_bytes == expected.line_bytes
    assert traffic["A"].read_bytes >= made.source.line_bytes
    if not made.recipe.is_two_pass:
        assert traffic["A"].read_bytes == made.source.line_bytes
        total = traffic["A"].read_bytes + traffic["Z"].write_bytes
        assert total == made.traffic_minimum_bytes()


STREAMED = [("dense", "coo"), ("dense", "zvc"), ("rlc", "coo"), ("csr", "coo"), ("dense", "csf")]


@pytest.mark.parametrize(("source", "target"), STREAMED)
def test_what_streams_is_hidden_behind_memory_but_for_its_latency(source, target):
    """The memory moves a line a cycle: what comes on top of its lines does not grow with the matrix."""
    added = []
    for rows in (100, 1600):
        tensor = random_matrix(3, (rows, 200), 0.01 if source == "dense" else 0.05)
        made, expected = machine(tensor, source, target, parameters=SIMPLE)
        lines = (made.source.line_bytes + expected.line_bytes) // 64
        least = max(lines, convert(tensor, source, target).cycles)
        added.append(made.kernel.run().cycles - least)
    assert 0 < added[0] <= 200  # of memory and network, there and back, and of the stages
    assert abs(added[1] - added[0]) <= 40


def test_the_variants_have_the_instances_that_their_idea_says():
    b, m, mr = (instances(variant) for variant in VARIANTS)
    assert sum(b.values()) > sum(m.values()) > sum(mr.values())
    assert m.keys() == b.keys() > mr.keys()
    assert {"prefix sum", "dividers"}.isdisjoint(mr)
    alone = [instances("mint_b", [pair]) for pair in FIGURE_8]
    assert all(b[kind] == sum(one.get(kind, 0) for one in alone) for kind in b)
    assert all(m[kind] == max(one.get(kind, 0) for one in alone) for kind in m)


@pytest.mark.parametrize("source", ["dense", "zvc", "rlc"])
def test_sums_of_counts_share_the_prefix_sum_of_positions(source):
    """One runs in the first pass, the other between the two."""
    assert instances("mint_b", [(source, "csc")])["prefix sum"] == 1


def test_the_instances_of_all_conversions_are_those_kept():
    found = {
        f"{variant}, {source} to {target}": instances(variant, [(source, target)])
        for variant in VARIANTS
        for source, target in PAIRS
    }
    check_kept(Path(__file__).parent / "conversions.json", "instances", {"checksum": checksum(found)})


def test_a_variant_waits_for_what_it_borrows():
    assert waits_for_host("mint_b") == waits_for_host("mint_m") == ()
    assert "dividers" in waits_for_host("mint_mr")
    assert "dividers" not in waits_for_host("mint_mr", "activation_only")
    for misspelt in (("mint_x", "none"), ("mint_mr", "activation-only"), ("mint_b", "nothing")):
        with pytest.raises(KeyError):
            waits_for_host(*misspelt)


def test_every_block_of_a_recipe_is_of_some_kind_of_hardware():
    from fiberscope.converters.recipes import find_recipe, parse_kind

    blocks = {block for pair in PAIRS for block in find_recipe(*pair).blocks}
    assert {parse_kind(block) for block in blocks} == KINDS.keys() | set(WIRES)
    assert set(sources()) == {"dense", "zvc", "rlc", "coo", "csr", "csc", "csf"}


def test_a_converter_in_front_of_a_machine_is_told_beside_the_run_without():
    matrix = sparse.random_array((60, 60), density=0.1, rng=__import__("numpy").random.default_rng(1))
    without = fiberscope.simulate("gamma", matrix.tocsr())
    report = fiberscope.simulate("gamma", matrix.tocsr(), settings={"memory.format.A": "zvc"})
    told_of = report.conversions
    assert told_of is not None
    assert report.cycles == without.cycles
    assert told_of.seconds_without == without.seconds
    one = told_of.operands["A"]
    assert (one.source, one.target) == ("zvc", "csr")
    assert told_of.seconds == pytest.approx(without.seconds + one.seconds)
    assert told_of.traffic_bytes - told_of.traffic_bytes_without == one.read_bytes + one.write_bytes
    assert "A from zvc to csr before the run" in report.summary()


def test_an_operand_in_the_format_that_the_machine_reads_is_not_converted():
    report = fiberscope.simulate("gamma", EXAMPLE.matrix(), settings={"memory.format.A": "CSR"})
    assert report.conversions is None


def test_diff_tells_what_a_converter_in_front_of_a_machine_adds():
    runs = [
        fiberscope.simulate("gamma", EXAMPLE.matrix(), settings=settings)
        for settings in ({}, {"memory.format.A": "zvc"})
    ]
    found = compare(*runs)
    assert [(one.name, one.before, one.after) for one in found.settings] == [("memory.format.A", None, "zvc")]
    one = runs[1].conversions.operands["A"]
    assert {change.name: (change.before, change.after) for change in found.changes} == {
        "conversion A cycles": (0, one.cycles),
        "traffic conversion A read": (0, one.read_bytes),
        "traffic conversion A written": (0, one.write_bytes),
    }


@pytest.mark.parametrize(
    ("accelerator", "key", "value", "message"),
    [
        ("gamma", "C", "zvc", "memory.format.C: operands of gamma that can be converted: A, B"),
        ("sigma", "A", "zvc", "memory.format.A: operands of sigma that can be converted: none"),
        ("gamma", "A", "bsr2", "no recipe converts bsr2 to csr"),
        ("gamma", "A", "zcv", "no format is called 'zcv'"),
    ],
)
def test_what_cannot_be_converted_for_a_machine_is_refused(accelerator, key, value, message):
    with pytest.raises(ValueError, match=message):
        fiberscope.simulate(accelerator, EXAMPLE.matrix(), settings={f"memory.format.{key}": value})


@every_pair
def test_every_request_is_one_of_its_tensors(source, target):
    mint, _expected = machine(TENSOR, source, target, parameters=SIMPLE)
    with checked_requests(mint) as check:
        assert mint.kernel.run().complete
        check.finish()
    assert check.faults == []
