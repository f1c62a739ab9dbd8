"""Twins of networks: the remainder by which banks are found, lines beside their tokens, what is refused."""

import pyrtl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.hw.networks import concentrator_rtl as concentrator
from fiberscope.hw.networks import crossbar_rtl as crossbar
from fiberscope.hw.networks.concentrator_rtl import ConcentratorParameters
from fiberscope.hw.networks.crossbar_rtl import CrossbarParameters
from fiberscope.hw.networks.routes import AddressRoute, CoordinateRoute, PortRoute
from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.hw.rtl.kit.trees import remainder
from fiberscope.sim.testing import run_block

LINE = 512


@given(divisor=st.integers(1, 100), width=st.integers(1, 42), data=st.data())
def test_the_remainder_is_that_of_python(divisor, width, data):
    pyrtl.reset_working_block()
    pyrtl.Output(7, "rest").__ilshift__(remainder(pyrtl.Input(width, "number"), divisor))
    simulation = pyrtl.Simulation(tracer=None)
    for number in {0, (1 << width) - 1, *data.draw(st.lists(st.integers(0, (1 << width) - 1)))}:
        simulation.step({"number": number})
        assert simulation.inspect("rest") == number % divisor


def test_an_address_with_one_bit_above_the_interleaving_selects_one_of_two_outputs():
    """Six outputs, of which such addresses reach the first two."""
    parameters = CrossbarParameters(2, 6, interleave_bits=16, address_bits=17)
    simulation = pyrtl.Simulation(block=crossbar.BLOCK.twin(parameters).block, tracer=None)
    wires = dict.fromkeys((wire.name for wire in simulation.block.wirevector_subset(pyrtl.Input)), 0)
    simulation.step(wires | {"inputs_0_valid": 1, "inputs_0_reference": 1 << 16})
    assert [simulation.inspect(f"outputs_{place}_valid") for place in range(6)] == [0, 1, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("made", "source", "sink"),
    [
        (crossbar, "inputs_1", "outputs_1"),
        (concentrator, "inputs_1", "requests"),
        (concentrator, "replies", "outputs_1"),
    ],
)
def test_a_line_leaves_with_its_token(made, source, sink):
    """The token of address 64 and of port 1, to which nothing else comes in the way."""
    block = made.BLOCK.twin(made.BLOCK.parameters(2, 2, line_bits=LINE)).block
    simulation = pyrtl.Simulation(block=block, tracer=None)
    wires = dict.fromkeys((wire.name for wire in block.wirevector_subset(pyrtl.Input)), 0)
    line = (1 << LINE) - 3
    token = {f"{source}_valid": 1, f"{source}_reference": 64, f"{source}_line": line}
    if source == "replies":
        token["replies_coordinate"] = 1 << 32
    simulation.step(wires | token | {f"{sink}_ready": 1})
    assert [simulation.inspect(f"{sink}_{part}") for part in ("valid", "line")] == [1, line]
    assert simulation.inspect(f"{source}_ready") == 1


def test_the_worked_example():
    """Three inputs that want one output: two turns around, then what is left of the last."""
    tokens = {f"inputs[{i}]": [(0, i, 64 * i, 0.0)] * (2 + (i == 2)) for i in range(3)}
    parameters = CrossbarParameters(3, 1)
    unit = crossbar.BLOCK.adapter(
        "unit", crossbar.BLOCK.interface(parameters), PyrtlBackend(crossbar.BLOCK.twin(parameters))
    )
    outcome = run_block(unit, tokens, ["outputs[0]"], capacity=16)
    assert [token[1] for token in outcome.tokens("outputs[0]")] == [0, 1, 2, 0, 1, 2, 2]
    assert outcome.statistics["unit"].counters == {"transfers": 7, "conflicts": 2 + 2 + 2 + 2 + 1}


def test_parameters_are_those_of_the_component():
    assert crossbar.matching(AddressRoute(4096)) == CrossbarParameters(interleave_bits=12)
    assert crossbar.matching(PortRoute(3)) == CrossbarParameters(route="port", group=3)


@pytest.mark.parametrize(
    ("route", "queues", "message"),
    [
        (PortRoute(), 4, "a module has no virtual_output_queues, not 4"),
        (AddressRoute(96), 0, "interleave must be a power of two, not 96"),
        (CoordinateRoute(), 0, "a module routes by address or port, not by CoordinateRoute"),
    ],
)
def test_what_a_module_does_not_have_is_refused(route, queues, message):
    with pytest.raises(ValueError, match=f"^crossbar: {message}$"):
        crossbar.matching(route, virtual_output_queues=queues)


def test_requesters_whose_ports_do_not_fit_a_tag_are_refused():
    with pytest.raises(ValueError, match=r"^concentrator: first_port must be from 0 to 0, not 1$"):
        ConcentratorParameters(2, 2, first_port=1, tag_bits=33)
    with pytest.raises(ValueError, match=r"^concentrator: repliers must be from 1 to 2, not 3$"):
        ConcentratorParameters(2, 3)
