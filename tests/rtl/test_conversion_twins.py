"""The twins of MINT's blocks: what they are made of, and what they refuse."""

import pyrtl
import pytest

from fiberscope.hw.lanes import cluster_counter_rtl as cluster_counter
from fiberscope.hw.lanes import comparator_bank_rtl as comparator_bank
from fiberscope.hw.lanes import counter_banks_rtl as counter_banks
from fiberscope.hw.lanes import packer_rtl as packer
from fiberscope.hw.lanes import position_multiplier_rtl as position_multiplier
from fiberscope.hw.lanes import prefix_sum_rtl as prefix_sum
from fiberscope.hw.lanes import sorting_network_rtl as sorting_network
from fiberscope.hw.lanes.comparator_bank_rtl import ComparatorBankParameters
from fiberscope.hw.lanes.counter_banks_rtl import CounterBanksParameters
from fiberscope.hw.lanes.packer_rtl import PackerParameters
from fiberscope.hw.lanes.position_multiplier_rtl import PositionMultiplierParameters
from fiberscope.hw.lanes.prefix_sum import FORMS, adders
from fiberscope.hw.lanes.prefix_sum_rtl import PrefixSumParameters
from fiberscope.hw.lanes.sorting_network_rtl import SortingNetworkParameters


def logic_of(block, parameters):
    return block.twin(parameters).block


def operations(block, kind):
    return sum(net.op == kind for net in block.logic)


@pytest.mark.parametrize(("lanes", "columns"), [(2, 1), (4, 3), (16, 10), (32, 15)])
def test_the_sorter_has_half_its_lanes_of_comparators_a_column(lanes, columns):
    block = logic_of(sorting_network.BLOCK, SortingNetworkParameters(lanes=lanes))
    assert operations(block, "<") == columns * lanes // 2
    names = {wire.name for wire in block.wirevector_subset(pyrtl.Register)}
    assert sum(name.startswith("full_") for name in names) == columns - 1


def test_the_adders_of_a_beat_of_mint():
    """129 + 32, 31 + 32 = 63 and 57 + 32 (section 14.5 of its specification), counted in the twins."""
    counted = {
        form: operations(logic_of(prefix_sum.BLOCK, PrefixSumParameters(form=form)), "+") for form in FORMS
    }
    assert counted == {"serial": 31 + 32, "work-efficient": 57 + 32, "parallel": 129 + 32}
    assert counted == {form: adders(form, 32) for form in FORMS}


def test_the_multiplier_has_a_product_a_digit_and_lane():
    block = logic_of(position_multiplier.BLOCK, PositionMultiplierParameters(lanes=8))
    assert operations(block, "*") == operations(block, "+") == 3 * 8


@pytest.mark.parametrize("lanes", [1, 2, 16])
def test_the_comparators_of_a_bank_and_a_counter(lanes):
    block = logic_of(cluster_counter.BLOCK, cluster_counter.ClusterCounterParameters(lanes=lanes))
    assert operations(block, "=") == lanes - 1
    assert not block.wirevector_subset(pyrtl.Register)
    changes = logic_of(comparator_bank.BLOCK, ComparatorBankParameters(lanes=lanes, test="changed"))
    assert len(changes.wirevector_subset(pyrtl.Register)) == 2


def test_a_packer_holds_what_may_be_left():
    for inputs, outputs, kept in ((16, 8, 16), (8, 16, 15), (1, 1, 1)):
        assert PackerParameters(inputs=inputs, outputs=outputs).kept == kept


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        (ComparatorBankParameters, {"word_bits": 0}, "a test for zero needs values; word_bits must not be 0"),
        (
            CounterBanksParameters,
            {"lanes": 8, "sweep_lanes": 4},
            "sweep_lanes must be at least banks, 8, not 4",
        ),
    ],
)
def test_what_cannot_be_built_is_refused(kind, parameters, message):
    with pytest.raises(ValueError, match=message):
        kind(**parameters)


def test_parameters_that_suit_a_component_have_all_that_a_token_has():
    assert sorting_network.BLOCK.matching(4) == SortingNetworkParameters(32, 64, 53, 4)
    assert packer.BLOCK.matching(3, 5) == PackerParameters(62, 64, 53, 3, 5)
    assert position_multiplier.BLOCK.matching(2, 9) == PositionMultiplierParameters(9, 0, 53, 2)
    assert comparator_bank.BLOCK.matching(2, "changed").test == "changed"
    assert cluster_counter.BLOCK.matching(2, 7).width == 7
    assert counter_banks.BLOCK.matching(100, 4, 8, 1, 2) == CounterBanksParameters(100, 4, 8, 1, 2, 62, 53)
