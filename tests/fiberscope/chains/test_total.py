"""The totals of a chain: its time by hand, and each key from those of its products."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import fiberscope
from fiberscope.results.report.parts import Conversion
from fiberscope.run.chains.chain import Chain
from fiberscope.run.chains.total import _sum_seconds

PRODUCT_SECONDS, PRODUCT_BYTES, BYTES_PER_SECOND = 10.0, 60, 10
TOTALS = {  # top-level keys of a report that are numbers
    "cycles": sum,
    "seconds": sum,
    "traffic_minimum_bytes": sum,
    "area_um2": max,
}


def conversion(seconds: float, moved: int, waits_for: tuple[str, ...] = ()) -> Conversion:
    return Conversion(
        source="coo",
        target="csr",
        cycles=1,
        seconds=seconds,
        read_bytes=moved // 4,
        write_bytes=moved - moved // 4,
        waits_for=waits_for,
    )


def seconds_of(
    text: str,
    factors: dict[str, Conversion],
    written: Conversion | None = None,
    bytes_per_second: int | None = BYTES_PER_SECOND,
) -> float:
    """Time of the only product of a chain, which moves 60 bytes in 10 s, with conversions."""
    chain = Chain.parse(text)
    product = chain.products[0]
    moved = conversion(0.0, PRODUCT_BYTES)
    step = SimpleNamespace(
        seconds=PRODUCT_SECONDS,
        traffic={"A": moved},
        memory=bytes_per_second and SimpleNamespace(peak_bytes_per_second=bytes_per_second),
        conversions=SimpleNamespace(operands=factors) if factors else None,
    )
    run: Any = SimpleNamespace(
        reports={product.name: step}, conversions={product.name: written} if written else {}
    )
    return _sum_seconds(run, product)


BORROWS = ("pe.multiplier",)


@pytest.mark.parametrize(
    ("text", "factors", "written", "seconds"),
    [
        ("Z = Y W", {}, None, 10),
        # beside the product: the longest of both, and of their bytes at the memory's peak
        ("Z = Y W", {"A": conversion(4, 20)}, None, 10),
        ("Z = Y W", {"A": conversion(11, 20)}, None, 11),
        ("Z = Y W", {"A": conversion(4, 60)}, None, 12),
        ("Z = Y W", {}, conversion(4, 80), 14),
        ("Z = Y W", {"A": conversion(3, 20)}, conversion(3, 40), 12),
        # before it: the right factor, a conversion that borrows its units, the factor of a square
        ("Z = Y W", {"B": conversion(4, 60)}, None, 14),
        ("Z = Y W", {"A": conversion(4, 60), "B": conversion(2, 60)}, None, 14),
        ("Z = Y W", {"A": conversion(4, 60, BORROWS)}, None, 14),
        ("Z = Y W", {"A": conversion(4, 20)}, conversion(5, 60, BORROWS), 15),
        ("Z = Y Y", {"A": conversion(4, 60)}, None, 14),
        ("Z = Y Y", {"A": conversion(4, 60)}, conversion(11, 20), 15),
    ],
)
def test_the_time_of_a_product_with_conversions_by_hand(
    text: str, factors: dict[str, Conversion], written: Conversion | None, seconds: float
) -> None:
    assert seconds_of(text, factors, written) == seconds


def test_a_machine_without_a_memory_is_bound_by_none() -> None:
    assert seconds_of("Z = Y W", {"A": conversion(4, 10**9)}, bytes_per_second=None) == PRODUCT_SECONDS


@pytest.fixture(scope="module")
def report() -> Any:
    """A chain of three products on Gamma, one of them kept in another format and one a square."""
    matrix: Any = sparse.random_array((30, 30), density=0.1, rng=np.random.default_rng(0), format="csr")
    settings = {"memory.format.X": "coo", "pe.count": 4}
    return fiberscope.simulate("gamma", chain="X = A A; Y = X X; Z = X A", settings=settings, A=matrix)


def test_numbers_are_sums_or_the_largest_of_those_of_the_products(report: Any) -> None:
    steps = list(report.chain.steps.values())
    numbers = {key for key, value in report.model_dump().items() if type(value) in (int, float)}
    assert numbers == {*TOTALS, "edp"}
    for key, total in TOTALS.items():
        assert getattr(report, key) == total(getattr(step, key) for step in steps), key
    assert report.edp == pytest.approx(report.energy.total_pj * 1e-12 * report.seconds, rel=1e-12)


def test_groups_of_counts_are_sums(report: Any) -> None:
    steps = list(report.chain.steps.values())
    for name in report.operations:
        assert report.operations[name] == sum(step.operations[name] for step in steps), name
    assert report.operations.keys() == set().union(*(step.operations for step in steps))
    for name in ("row_hits", "row_misses", "row_conflicts"):
        assert getattr(report.memory, name) == sum(getattr(step.memory, name) for step in steps) > 0
    for family, actions in report.energy.by_component.items():
        for name, picojoules in actions.items():
            apart = [step.energy.by_component.get(family, {}).get(name, 0.0) for step in steps]
            assert picojoules == pytest.approx(sum(apart), rel=1e-12), (family, name)
    assert report.energy.total_pj == pytest.approx(sum(step.energy.total_pj for step in steps), rel=1e-12)
    for name, component in report.components.items():
        apart = [step.components[name] for step in steps]
        for key in ("cycles", "busy", "input_stall", "output_stall", "idle"):
            assert getattr(component, key) == sum(getattr(each, key) for each in apart), (name, key)


def test_bandwidth_is_that_of_all_bytes_over_all_seconds(report: Any) -> None:
    moved = sum(part.moved_bytes for step in report.chain.steps.values() for part in step.traffic.values())
    assert report.memory.bytes_per_second == pytest.approx(moved / report.seconds, rel=1e-12)
    peak = report.memory.peak_bytes_per_second
    assert {step.memory.peak_bytes_per_second for step in report.chain.steps.values()} == {peak}
    assert report.memory.utilization == pytest.approx(moved / report.seconds / peak, rel=1e-12)


def test_time_and_bytes_of_a_chain_count_every_conversion(report: Any) -> None:
    chain = report.chain
    square, last = (chain.steps[name].conversions.operands for name in "YZ")
    assert list(chain.written) == ["X"]
    assert (list(square), list(last)) == (["A"], ["A"])
    moved = sum(part.moved_bytes for step in chain.steps.values() for part in step.traffic.values())
    converted = [chain.written["X"], square["A"], last["A"]]
    assert chain.traffic_bytes == moved + sum(each.moved_bytes for each in converted)
    took = {name: step.seconds for name, step in chain.steps.items()}
    beside = max(took["X"], chain.written["X"].seconds) + max(took["Z"], last["A"].seconds)
    assert chain.seconds == pytest.approx(beside + square["A"].seconds + took["Y"], rel=1e-12)


def test_the_bottleneck_is_that_of_the_longest_product(report: Any) -> None:
    name, longest = max(report.chain.steps.items(), key=lambda step: step[1].seconds)
    share = longest.seconds / report.seconds
    assert report.bottleneck == f"{name} takes {share:.0%} of the time. {longest.bottleneck}"
