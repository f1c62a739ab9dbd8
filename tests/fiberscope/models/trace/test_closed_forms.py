"""The model's counts against what they must be for the operands, worked out without a loop nest."""

import functools
from dataclasses import replace

import numpy as np
import pytest
from closed_forms import fiber, gamma, outerspace, sigma
from extensor_form import ExTensorForm
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fiberscope.models.trace.evaluate import run
from fiberscope.models.trace.load import load
from fiberscope.models.trace.model import Model
from fiberscope.workloads.fibertree import FiberTree

SHAPES = st.tuples(*[st.sampled_from((1, 2, 5, 9, 40))] * 3)


def tensor(points, names, shapes, values):
    columns = np.array(sorted(points), np.int64).reshape(-1, 2).T
    return FiberTree.from_coo(dict(zip(names, shapes, strict=True)), columns, values[: len(points)])


def metrics(specification, operands):
    """What the model counts; of operands the shape (M, K, N), the points (k, m) of A, and (k, n) of B."""
    (m, k, n), a, b = operands
    values, model = np.arange(1.0, 4001.0), Model(specification)
    tensors = {"A": tensor(a, "KM", (k, m), values), "B": tensor(b, "KN", (k, n), values)}
    return model.metrics(run(specification, tensors, model.observe))


@st.composite
def drawn(draw):
    """Operands, thin or crowded, often with a row or column that has everything."""
    m, k, n = draw(SHAPES)
    return (m, k, n), draw(points(k, m)), draw(points(k, n))


@st.composite
def points(draw, rows, columns):
    some = draw(st.sets(st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1)), max_size=80))
    if draw(st.booleans()):
        hub = draw(st.integers(0, rows - 1))
        some |= {(hub, column) for column in range(columns)}
    if draw(st.booleans()):
        hub = draw(st.integers(0, columns - 1))
        some |= {(row, hub) for row in range(rows)}
    return some or {(0, 0)}


LARGE = (
    (140, 140, 140),
    {(k, (k * 7) % 140) for k in range(140)} | {(5, m) for m in range(140)},
    {(k, (k * 11) % 140) for k in range(0, 140, 2)} | {(k, 9) for k in range(140)},
)


def rows_of(operands):
    """Rows of A, with their k, and rows of B, with their n."""
    (m, k, _), a, b = operands
    return (
        [sorted(each for each, row in a if row == at) for at in range(m)],
        [sorted(column for row, column in b if row == at) for at in range(k)],
    )


@functools.cache
def loaded(name, **tiling):
    return load(name, tiling)


def with_cache(name, configuration, cache, lines):
    """A specification whose cache holds so many lines."""
    specification = loaded(name)
    assert cache in specification.configurations[configuration].components
    of = specification.configurations[configuration]
    smaller = replace(of.components[cache], depth=lines)
    components = dict(of.components) | {cache: smaller}
    changed = dict(specification.configurations) | {configuration: replace(of, components=components)}
    return replace(specification, configurations=changed)


def hold_gamma(operands, cache_lines):
    found = metrics(with_cache("gamma", "Gamma", "FiberCache", cache_lines), operands)
    expected = gamma(*rows_of(operands), cache_lines)
    fetched, made = found["T"], found["Z"]
    assert {
        "A": fetched["MainMemory"]["A"]["read"],
        "B": fetched["MainMemory"]["B"]["read"],
        "Z": made["MainMemory"]["Z"]["write"],
        "intersect": fetched["Intersect"]["intersect"],
        "swaps": made["HighRadixMerger"]["T_MKN"],
        "mul": made["FPMul"]["mul"],
        "add": made["FPAdd"]["add"],
    } == expected
    assert made["MainMemory"]["Z"]["read"] == 0


def hold_outerspace(operands, cache_lines):
    found = metrics(with_cache("outerspace", "Multiply", "L0Cache", cache_lines), operands)
    multiply, copy, merge = found["T0"], found["T1"], found["Z"]
    assert {
        "A": multiply["MainMemory"]["A"]["read"],
        "B": multiply["MainMemory"]["B"]["read"],
        "T0": copy["MainMemory"]["T0"]["read"],
        "T1": copy["MainMemory"]["T1"]["write"],
        "Z": merge["MainMemory"]["Z"]["write"],
        "swaps": merge["SortHW"]["T1_MKN"],
        "mul": multiply["FPMul"]["mul"],
        "add": merge["FPAdd"]["add"],
    } == outerspace(*rows_of(operands), cache_lines)


def hold_sigma(operands, _):
    found = metrics(loaded("sigma"), operands).get("Z", {}).get("DataSRAMBanks", {})
    assert {name: found[name]["read"] for name in ("A", "B")} == sigma(*rows_of(operands))


def hold_extensor(operands, tiling):
    large, small = tiling
    sizes = {f"{rank}{level}": size for rank in "KMN" for level, size in ((1, large), (0, small))}
    found = metrics(loaded("extensor-energy", **sizes), operands)["Z"]
    _, a, b = operands
    form = ExTensorForm(a, b, large, small)
    for component, counted in (("MainMemory", form.dram), ("LLB", form.llb)):
        traffic = found.get(component, {"A": {"read": 0}, "B": {"read": 0}, "Z": {"read": 0, "write": 0}})
        assert {
            "A": traffic["A"]["read"],
            "B": traffic["B"]["read"],
            "Z read": traffic["Z"]["read"],
            "Z write": traffic["Z"]["write"],
        } == {name: counted[name] for name in ("A", "B", "Z read", "Z write")}
    steps = {
        "K2": found["K2Intersect"]["intersect"],
        "K1": found["K1Intersect"]["intersect"],
        "K0": found["K0Intersection"]["intersect"],
    }
    assert steps == {name: form.steps[name] for name in steps}
    for name in ("TopSequencer", "MiddleSequencer", "BottomSequencer"):
        bodies = {rank: count for rank, count in found[name].items() if rank != "time"}
        assert bodies == {rank: form.bodies[rank] for rank in bodies}
    assert found["FPMul"]["mul"] == form.bodies["K0"]


LAWS = {
    "gamma": (hold_gamma, st.sampled_from((6, 48, 393216)), 48),
    "outerspace": (hold_outerspace, st.sampled_from((6, 48, 2048)), 48),
    "sigma": (hold_sigma, st.none(), None),
    "extensor": (hold_extensor, st.sampled_from(((4, 2), (6, 3), (16, 2), (9, 1))), (32, 8)),
}


def hold(name, examples):
    """Draw operands, and hold the machine's counts to its form; how often it was."""
    law, parameters, large = LAWS[name]
    held = 0

    def count(operands, parameter):
        nonlocal held
        law(operands, parameter)
        held += 1

    drawing = given(drawn(), parameters)(example(LARGE, large)(count))
    settings(max_examples=examples)(drawing)()
    return held


@pytest.mark.parametrize("name", LAWS)
def test_the_counts_are_those_of_the_closed_form(name):
    assert hold(name, 8) > 8


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_the_counts_are_those_of_the_closed_form_in_many_draws(name):
    assert hold(name, 600) > 600


def test_planted_a_form_that_forgets_a_line_is_found():
    found = metrics(loaded("gamma"), LARGE)["T"]["MainMemory"]["A"]["read"]
    rows, _ = rows_of(LARGE)
    assert found == 64 * -(-len(rows) // 2) + sum(map(fiber, map(len, rows)))
    assert found != 64 * len(rows) // 2 + sum(96 * len(row) for row in rows)  # fibers that share lines
