"""``fiberscope rtl power`` of a machine: what is within a module counts as alone, as often as it is there."""

import random
from dataclasses import fields
from types import SimpleNamespace

import pyrtl
import pytest
from optional_programs import needs

from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.hw.rtl.kit.channel import OF_STREAM, carrying
from fiberscope.hw.rtl.kit.composition import Composition, Link, Part
from fiberscope.hw.rtl.kit.interface import Interface, Stream
from fiberscope.hw.rtl.kit.sram import Sram
from fiberscope.hw.rtl.kit.twin import build, delayed
from fiberscope.hw.rtl.kit.wrapper import flat
from fiberscope.hw.rtl.tools.activity import RecordingBackend
from fiberscope.hw.rtl.tools.area import SHIPPED
from fiberscope.hw.rtl.tools.netlist import map_to_cells
from fiberscope.rtl import machine_power
from fiberscope.rtl.machine_power import (
    EqualParts,
    MachinePower,
    Node,
    Row,
    machine_power_report,
    measure_row,
)

CELLS = SHIPPED["osu018"][0]
needs_cells = needs("cells", "yosys")
needs_sta = needs("sta")
TOKENS = Stream("in", "in", "input", {"coordinate": 6})
QUEUE = Part(OF_STREAM, carrying(TOKENS, 4))
TWO = Composition(
    "two",
    {"first": QUEUE, "second": QUEUE},
    (Link("first.out", "second.in", 0),),
    {"in": "first.in", "out": "second.out"},
)


@pytest.fixture(scope="module")
def netlist():
    return map_to_cells(QUEUE.block.modules(QUEUE.parameters, "queue"), "queue", CELLS)


@pytest.fixture(scope="module")
def recorded(netlist):
    """Two queues in a row with random tokens and waits, and the first with the same alone."""
    twin = build(TWO.interface(), lambda between: flat(TWO, between))
    both = RecordingBackend(PyrtlBackend(twin, watched=True), {"first": netlist, "second": netlist})
    first = OF_STREAM.twin(QUEUE.parameters)
    alone = RecordingBackend(PyrtlBackend(first, watched=True), {"": netlist})
    draw, ready = random.Random(1), list(both.signals()).index("first.out_ready")
    for _ in range(300):
        given = {"in_valid": draw.getrandbits(1), "in_coordinate": draw.getrandbits(6)}
        both.words.drive({**given, "out_ready": draw.random() < 0.3})
        both.cycle()
        alone.words.drive({**given, "out_ready": both.sample()[ready]})
        alone.cycle()
    return both, alone


@needs_cells
def test_an_instance_within_a_module_toggles_as_it_does_alone(recorded):
    both, alone = recorded
    assert both.activity("first") == alone.activity()
    assert both.activity("second") != alone.activity()


@needs_cells
@needs_sta
def test_instances_take_together_what_each_of_them_takes(recorded, netlist):
    both, node = recorded[0], Node(45, 0.9)
    first, second, all_of_them = (
        measure_row(EqualParts("queue", netlist, QUEUE, names), both, CELLS, node)
        for names in (["first"], ["second"], ["first", "second"])
    )
    assert all_of_them.count == 2
    assert first.array > second.array > 0  # what is in the first at the end was not written into the second
    for one in fields(all_of_them)[1:]:
        sums = getattr(first, one.name) + getattr(second, one.name)
        assert getattr(all_of_them, one.name) == pytest.approx(sums, rel=0.01)  # duties count a little


def test_what_a_multiplication_takes_is_said_beside_that_of_the_costs_file(monkeypatch):
    monkeypatch.setattr("fiberscope.rtl.machine_power.sta.version", lambda: "2")
    monkeypatch.setattr("fiberscope.rtl.machine_power.version", lambda: "0")
    report = SimpleNamespace(
        accelerator="gamma",
        workload=SimpleNamespace(name="m"),
        operations={"multiply": 40},
        energy=SimpleNamespace(by_component={"pe.merger": {"cycle": 500.0, "merge": 300.0}}),
    )
    rows = [Row("pe.merger", 1, 10.0, 4.0, 0.0, 2.0), Row("pages", 1, 100.0, 0.0, 0.0, 0.0)]
    *_, nanojoules, each = machine_power_report(MachinePower(report, 100, rows, [], Node(45, 0.9), 1e9))
    assert nanojoules == "By costs.yaml 0.8 nJ of the parts of which it knows, here 1.6."
    assert each == "For each of 40 multiplications these are, in pJ, by costs.yaml 20, here 40."


def test_what_is_held_has_a_name_in_its_scope():
    def design(between):
        word = between.inputs["in"].fields["coordinate"]
        array = pyrtl.MemBlock(6, 3, "array", asynchronous=True)
        memory = Sram("memory", 8, 6)
        between.inputs["in"].accept(between.outputs["out"].ready)
        behind = delayed(array[word[:3]] ^ memory.read(word[:3], word[5])[0], 2)
        between.outputs["out"].send(behind[0], {"coordinate": behind})

    def scoped(between):
        with pyrtl.name_scope("inner"):
            design(between)

    out = Stream("out", "out", "output", TOKENS.content)
    ports = Interface("held", (TOKENS, out))
    names = {"array_read_0", "delayed_behind_0", "delayed_behind_1", "memory_data"}
    alone, within = (PyrtlBackend(build(ports, made), watched=True).signals() for made in (design, scoped))
    assert names <= alone.keys()
    assert {f"inner.{name}" for name in names} <= within.keys()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["gamma"], "gamma: name the matrix that it runs on"),
        (["gamma", "m.mtx", "--liberty=my.lib"], "gamma: --liberty is for a block"),
        (["gamma", "m.mtx", "--at=gamma.pe00"], "gamma: --at is for a block"),
        (["gamma", "m.mtx", "--table=my.csv"], "gamma: --table is for a block"),
        (["divider", "--json=my.json"], "divider: --json is for a machine"),
        (["sigma", "m.mtx"], "sigma does not exist as one module; gamma does"),
    ],
)
def test_what_cannot_be_measured_is_said_in_one_line(arguments, line, refusal):
    assert refusal("rtl", "power", *arguments) == f"fiberscope: {line}\n"


def test_each_part_is_mapped_to_cells_once_with_its_own_netlist(monkeypatch):
    parts = [Part(OF_STREAM, carrying(TOKENS, capacity)) for capacity in (2, 3, 4)]
    monkeypatch.setattr(machine_power, "map_to_cells", lambda text, module, _cells: (module, text))
    steps = []
    netlists = machine_power._map_parts(parts, CELLS, lambda *step: steps.append(step[1:]))
    assert steps == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert list(netlists) == parts
    assert len({text for _module, text in netlists.values()}) == 3
    for part, (module, text) in netlists.items():
        assert module == part.interface.module
        assert f"module {module}" in text
