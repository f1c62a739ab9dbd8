"""A cycle of a PyRTL block as one function: the values that PyRTL's own simulation has."""

import random

import pyrtl
import pytest

from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.hw.rtl.kit.interface import CLOCKING, Bundle, Interface, Payload
from fiberscope.hw.rtl.kit.twin import build

WIDTHS = (1, 2, 7, 33, 64)
INTERFACE = Interface(
    "random",
    (
        Bundle("in", "in", "input", {f"a{width}": Payload(width) for width in WIDTHS}),
        Bundle("out", "out", "output", {f"z{width}": Payload(width) for width in WIDTHS}),
    ),
)


def cut(wire, width):
    """A wire of another width, its lowest bits."""
    return wire[:width] if len(wire) >= width else wire.zero_extended(width)


def drive(between, wire):
    """Connect every output to a wire that a function returns."""
    for output in between.ports.values():
        if isinstance(output, pyrtl.Output):
            output <<= cut(wire(), len(output))  # noqa: PLW2901  (an assignment of PyRTL)


def operation(draw, wires):
    """The wire of a random operation on random wires."""
    a, b, c = (draw.choice(wires) for _ in range(3))
    b = cut(b, len(a))
    operations = (
        lambda: draw.choice([~a, a & b, a | b, a ^ b, a.nand(b)]),
        lambda: draw.choice([a + b, a - b, cut(a, 40) * cut(b, 40)]),
        lambda: draw.choice([a < b, a > b, a == b]),
        lambda: pyrtl.select(c[0], a, b),
        lambda: pyrtl.concat(a, pyrtl.Const(0, 3), b)[: draw.randint(1, 90)],
        lambda: pyrtl.concat_list([a[draw.randrange(len(a))] for _ in range(4)]),
        lambda: pyrtl.Const(draw.getrandbits(9), 9) ^ cut(a, 9),
    )
    return draw.choice(operations)()


def design_of(seed):
    """A design of random operations, registers, a memory and a ROM."""

    def design(between):
        draw = random.Random(seed)
        memory = pyrtl.MemBlock(7, 4, "words", asynchronous=True)
        rom = pyrtl.RomBlock(6, 3, [5 * i % 64 for i in range(8)], "table", asynchronous=True)
        registers = [pyrtl.Register(draw.choice(WIDTHS), f"r{i}", reset_value=i % 2) for i in range(6)]
        ports = [wire for wire in between.ports.values() if isinstance(wire, pyrtl.Input)]
        wires = [*ports, *registers, memory[cut(ports[-1], 4)], rom[cut(ports[-1], 3)]]
        for _ in range(40):
            wires.append(operation(draw, wires))
        memory[cut(wires[-2], 4)] <<= pyrtl.MemBlock.EnabledWrite(cut(wires[-3], 7), wires[-1][0])
        for register in registers:
            register.next <<= cut(draw.choice(wires), len(register))
        drive(between, lambda: draw.choice(wires[-25:]))

    return design


@pytest.mark.parametrize("seed", range(12))
def test_ports_and_wires_are_those_of_pyrtl(seed):
    twin = build(INTERFACE, design_of(seed))
    backend, draw = PyrtlBackend(twin, watched=True), random.Random(seed)
    trace = pyrtl.SimulationTrace(
        [twin.block.wirevector_by_name[name] for name in backend.signals()], block=twin.block
    )
    expected = pyrtl.FastSimulation(tracer=trace, block=twin.block)
    inputs = [wire for wire in INTERFACE.wires() if wire.direction == "input" and wire.name not in CLOCKING]
    for cycle in range(60):
        if cycle == 0 or draw.random() < 0.8:  # otherwise as before
            driven = {wire.name: draw.getrandbits(wire.width) for wire in inputs}
        backend.words.drive(driven)
        backend.cycle()
        expected.step(driven)
        seen = backend.words.seen()
        assert seen == {name: expected.inspect(name) for name in seen}
        assert list(backend.sample()) == [trace.trace[name][-1] for name in backend.signals()]


def test_a_cycle_that_changes_nothing_stands_for_all_that_follow():
    def design(between):
        count = pyrtl.Register(2, "count")
        count.next <<= pyrtl.select(count == 3, count, (count + 1)[:2])
        drive(between, lambda: count)

    backend = PyrtlBackend(build(INTERFACE, design))
    assert [backend.idle(9) for _ in range(5)] == [1, 1, 1, 9, 9]


def test_a_wire_that_depends_on_itself_within_a_cycle_is_refused():
    def design(between):
        loop = pyrtl.WireVector(1, "loop")
        loop <<= ~loop
        drive(between, lambda: loop)

    with pytest.raises(pyrtl.PyrtlError, match="within a cycle"):
        PyrtlBackend(build(INTERFACE, design))
