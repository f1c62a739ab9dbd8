"""The prefix sum's twin: its adders and registers, MINT's size, twins broken on purpose, what it refuses."""

import random
from dataclasses import replace

import pyrtl
import pytest
from pairs import check_pair
from prefix_sum_scenario import prefix_sum_inputs
from scenarios import SCENARIOS

from fiberscope.hw.lanes import prefix_sum_rtl as prefix_sum
from fiberscope.hw.lanes.prefix_sum import FORMS, SERIAL, adders, depth
from fiberscope.hw.lanes.prefix_sum_rtl import BLOCK, PrefixSumParameters
from fiberscope.hw.rtl.kit import rows
from fiberscope.hw.rtl.kit.twin import named

SCENARIO = SCENARIOS["prefix_sum"]
ONE_FORM = PrefixSumParameters(form=SERIAL, lanes=4, width=16)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr("pairs.WAVEFORMS", tmp_path)


@pytest.mark.parametrize("lanes", [1, 2, 3, 4, 6, 8, 13, 32])
@pytest.mark.parametrize("form", FORMS)
def test_it_has_the_adders_and_stages_of_its_form(form, lanes):
    block = BLOCK.twin(PrefixSumParameters(form=form, lanes=lanes)).block
    assert sum(net.op == "+" for net in block.logic) == adders(form, lanes)
    assert not [net for net in block.logic if net.op in "-*"]
    registers = block.wirevector_subset(pyrtl.Register)
    assert sum(map(len, registers)) == depth(form, lanes) * (33 * lanes + 1) + 32  # rows, valid bits, offset


@pytest.mark.parametrize(("form", "bits"), list(zip(FORMS, (34_913, 10_602, 6_374), strict=True)))
def test_the_32_lanes_of_mint(form, bits):
    given = PrefixSumParameters(form=form)
    assert sum(map(len, BLOCK.twin(given).block.wirevector_subset(pyrtl.Register))) == bits
    inputs = prefix_sum_inputs(random.Random(form), given, 25)
    assert check_pair(replace(SCENARIO.pair(1, given), inputs=inputs)) > 25


def check(**changes):
    """A short run of the serial chain."""
    check_pair(replace(SCENARIO.pair(3, ONE_FORM), **changes))


def test_planted_a_twin_without_its_last_adder_is_found(monkeypatch):
    check()
    network = prefix_sum.network
    monkeypatch.setattr(prefix_sum, "network", lambda form, lanes: (*network(form, lanes)[:-1], ()))
    with pytest.raises(AssertionError, match=r"prefix_sum, seed 3: tokens at sink_sums_0 differs"):
        check()


def test_planted_a_twin_with_a_stage_too_many_is_found(monkeypatch):
    network = prefix_sum.network
    monkeypatch.setattr(prefix_sum, "depth", lambda form, lanes: depth(form, lanes) + 1)
    monkeypatch.setattr(prefix_sum, "network", lambda form, lanes: ((), *network(form, lanes)))
    with pytest.raises(AssertionError, match=r"prefix_sum, seed 3: .* differs"):
        check()


def test_planted_a_twin_that_keeps_the_offset_of_the_last_array_is_found(monkeypatch):
    monkeypatch.setattr(prefix_sum, "unless", lambda _stop, wire: wire)
    with pytest.raises(AssertionError, match=r"prefix_sum, seed 3: tokens at sink_sums_\d differs"):
        check()


def test_planted_a_twin_that_moves_while_its_last_row_cannot_leave_is_found(monkeypatch):
    def always(name, wire):
        return named(name, pyrtl.Const(1, 1) if name == "move" else wire)

    monkeypatch.setattr(rows, "named", always)
    with pytest.raises(AssertionError, match=r"prefix_sum, seed 3: .* differs"):
        check()


def test_planted_a_stand_in_that_waits_for_space_while_rows_move_is_found(monkeypatch):
    class Waits(BLOCK.stand_in):
        def account(self, now, moved, blocked):
            full = [output for output in self.channels("sums") if not output.can_push()]
            return self.wait_output(full[0]) if full else super().account(now, moved, blocked)

    broken = replace(BLOCK, stand_in=Waits)
    monkeypatch.setattr("scenario.BLOCKS", {"prefix_sum": broken})
    with pytest.raises(AssertionError, match=r"prefix_sum, seed 3: block differs"):
        check()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"form": "seriel"}, "prefix_sum: form must be one of serial, work-efficient, parallel, not seriel"),
        ({"lanes": 65}, "prefix_sum: lanes must be from 1 to 64, not 65"),
        ({"width": 63}, "prefix_sum: width must be from 1 to 62, not 63"),
        ({"reference_bits": 65}, "prefix_sum: reference_bits must be from 0 to 64, not 65"),
        ({"value_bits": 16}, "prefix_sum: value_bits must be 0, 32 or 64, not 16"),
    ],
)  # fmt: skip
def test_what_cannot_be_built_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        PrefixSumParameters(**parameters)


def test_parameters_that_suit_a_component_have_all_that_a_token_has():
    assert BLOCK.matching("serial", 4) == PrefixSumParameters("serial", 4, 32, 64, 64)
    assert BLOCK.matching("serial", 4, 10).width == 10
