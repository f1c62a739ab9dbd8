"""What is proven is what runs: machines, conversions, graphs and examples are made of what ``hw`` has.

All twins in RTL are of such components, so this holds for what they are proven against.
"""

import importlib
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fiberscope import hw, simulate
from fiberscope.accelerators.composition import Composition
from fiberscope.hw.memory.replacement import Line, ReplacementPolicy
from fiberscope.hw.networks.arbitration import ArbitrationPolicy, Head
from fiberscope.models.graphs import Graph, compile_expression, read_gv, run
from fiberscope.models.graphs.compiler.kernels import KERNELS
from fiberscope.models.graphs.machine import GraphMachine
from fiberscope.models.graphs.random_tensors import generate_operands
from fiberscope.sim import Component, Kernel

TESTS = Path(__file__).parent
GRAPHS = TESTS.parent / "examples" / "graphs"
OUTER = TESTS.parent / "examples" / "specifications" / "outer.yaml"
IMAGE = TESTS / "support" / "image.yaml"  # whose indices are computed
SUPPORT = (TESTS / "converters" / "support", *TESTS.glob("accelerators/**/support"))

# Ends of benches: of a memory's trace that is replayed, and of tests of blocks.
EQUIPMENT = {"fiberscope.hw.dram.trace", "fiberscope.hw.streams.checker", "fiberscope.hw.streams.testing"}
EXPRESSIONS = (
    ("x(i) = 2 * b(i)", "x:s,b:s", {}),
    ("x(i) = b(i) * c(i) + d(i)", "x:b,b:b,c:d,d:b", {}),
    ("x(j) = B(i,j) * c(i)", "x:s,B:ss,c:s", {"order": ["i", "j"]}),
    ("x(i) = B(i,j) * c(j)", "x:s,B:ss,c:d", {"optimise": "locate"}),
    ("X(i,j) = B(i,k) * C(k,j)", "X:ss,B:ss,C:ss", {"parallelize": "i:4"}),
)
TILED = "X(i,j) = B(i,k) * C(k,j)", "X:ss,B:ss,C:ss"  # runs with memories of tiles


class OldestLine(ReplacementPolicy):
    """Evicts the first line of a set."""

    def victim(self, lines: Sequence[Line]) -> Line:
        """Return the first line."""
        return lines[0]


class FirstInput(ArbitrationPolicy):
    """Serves the first input that has a token."""

    def winner(self, output: int, heads: Sequence[Head], now: int) -> Head:
        """Return the first head."""
        return heads[0]


def machines() -> None:
    """Those of the accelerators and of the examples, in several makes."""
    from machine_case import cases

    for case in cases().values():
        for variant in case.variants:
            case.build(variant, case.operands())
    gamma = cases()["gamma"]
    queued = {**gamma.variants["tiny"], "network.virtual_output_queues": 2}
    replace(gamma, variants={"queued": queued}).build("queued", gamma.operands())
    parts = {"bank": OldestLine, "crossbar": FirstInput}
    assert simulate("gamma", "uniform:rows=9,cols=9,nonzeros=30", parts=parts).verification.passed


def mapped() -> None:
    """Those of specifications: with mergers, of more fibers than a tree has ways too, with a loop in front of
    the cut that is summed over, with intersectors that skip, with lanes, with look-ups, with memories that
    have registered outputs, with linked lists.
    """
    for name, factor in (
        ("spec:gamma", "uniform:rows=9,cols=9,nonzeros=30"),
        ("spec:gamma-reduce", "uniform:rows=9,cols=9,nonzeros=30"),
        (str(OUTER), "uniform:rows=9,cols=9,nonzeros=30"),
        (str(OUTER.with_name("stationary.yaml")), "uniform:rows=9,cols=9,nonzeros=30"),
        ("spec:extensor", "uniform:rows=9,cols=9,nonzeros=30"),
        ("spec:sigma", "uniform:rows=9,cols=9,nonzeros=30"),
    ):
        assert simulate(name, factor).verification.passed
    small = {"tile.count": 1, "l1.count": 1}
    column = "uniform:rows=257,cols=1,nonzeros=257"
    assert simulate("spec:outerspace-linked", "uniform:rows=1,cols=257,nonzeros=257", column, settings=small)
    assert simulate(
        str(OUTER), "uniform:rows=9,cols=9,nonzeros=30", settings={"timing.memory": "registered"}
    ).verification.passed
    tensors = {"I": "tensor:shape=6x6,nonzeros=20", "F": "tensor:shape=2x3,nonzeros=4"}
    assert simulate(str(IMAGE), tensors=tensors).verification.passed


def conversions() -> None:
    """From every format to every other."""
    from conversions import EXAMPLE, PAIRS, convert

    for source, target in PAIRS:
        convert(EXAMPLE, source, target)


def graphs() -> Iterator[Graph]:
    """Those of the gallery and the examples, and some that have more types of nodes."""
    for kernel in KERNELS:
        yield compile_expression(kernel.text, [kernel.formats]).graph
    for text, formats, options in EXPRESSIONS:
        yield compile_expression(text, [formats], **options).graph
    yield from map(read_gv, sorted(GRAPHS.glob("*.gv")))
    yield read_gv(TESTS / "support" / "vector_reducer.gv")  # a form that public files have


@pytest.fixture(scope="module")
def built() -> set[type[Component]]:
    """The classes of the components of them all, with their bases."""
    found: set[type[Component]] = set()

    def note(kernel: Kernel) -> None:
        parts = [*kernel.components, *getattr(kernel, "lookahead_models", ())]
        found.update(base for part in parts for base in type(part).__mro__)

    def build(self: Composition) -> None:
        as_it_is(self)
        note(self.kernel)

    def make(self: GraphMachine, *arguments: object, **options: object) -> None:
        as_it_is_made(self, *arguments, **options)
        note(self.kernel)

    as_it_is, as_it_is_made = Composition.build, GraphMachine.__init__
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path, *map(str, SUPPORT)])
        patch.setattr(Composition, "build", build)
        patch.setattr(GraphMachine, "__init__", make)
        machines()
        mapped()
        conversions()
        for graph in graphs():
            run(graph, generate_operands(graph), {"scratchpad.latency": 0 if graph.phases[1:] else 4})
        tiled = compile_expression(*TILED, "i_0,k_0,j,i_1,k_1", split="i:4,k:3").graph
        run(tiled, generate_operands(tiled), {"tiles.capacity": 1 << 16})
    return found


def components() -> set[type[Component]]:
    """The component classes of ``hw``, which stand-ins of the RTL are not."""
    names = [module.name for module in pkgutil.walk_packages(hw.__path__, f"{hw.__name__}.")]
    parts = {
        part
        for name in names
        if not name.startswith("fiberscope.hw.rtl") and not name.endswith("_rtl") and name not in EQUIPMENT
        for part in vars(importlib.import_module(name)).values()
        if isinstance(part, type) and issubclass(part, Component) and part.__module__ == name
    }
    assert len(parts) > 80
    return parts


def test_every_component_is_built(built: set[type[Component]]) -> None:
    assert {part.__name__ for part in components() - built} == set()


def test_planted_a_component_that_nothing_builds_is_found(
    built: set[type[Component]], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module("fiberscope.hw.fibers.merge")
    monkeypatch.setattr(
        module,
        "Idle",
        type("Idle", (Component,), {"__module__": "fiberscope.hw.fibers.merge"}),
        raising=False,
    )
    assert {part.__name__ for part in components() - built} == {"Idle"}
