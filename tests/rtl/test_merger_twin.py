"""The merger's twin: cycle by cycle the component, for many parameters, streams and stalls."""

import random
from dataclasses import replace

import pyrtl
import pytest
from fiber_streams import merge_inputs
from pairs import Pair, check_pair

from hw.merge import HighRadixMerger
from hw.rtl import merger
from hw.rtl.backend import PyrtlBackend
from hw.rtl.catalogue import BLOCKS
from hw.rtl.merger import MergerParameters, interface
from hw.rtl.twin import build
from sim import SimulationError

BLOCK = BLOCKS["merger"]
SEEDS = range(24)
RADICES = (2, 3, 4, 5, 7, 8, 13, 16)


def stand_in(parameters, name, twin=None):
    backend = PyrtlBackend(twin or BLOCK.twin(parameters))
    return BLOCK.stand_in(name, interface(parameters), backend)


def drawn(seed):
    """Parameters and streams of a seed."""
    generator = random.Random(seed)
    parameters = MergerParameters(
        radix=generator.choice(RADICES),
        coordinate_bits=generator.choice([1, 8, 32, 55]),
        reference_bits=generator.choice([1, 16, 64]),
        value_bits=generator.choice([32, 64]),
    )
    bits = parameters.coordinate_bits, parameters.reference_bits
    return parameters, merge_inputs(generator, parameters.radix, 40, 20, *bits)


def pair(seed, parameters, inputs, **options):
    return Pair(
        "merger",
        lambda name: HighRadixMerger(name, parameters.radix),
        lambda name: stand_in(parameters, name),
        inputs,
        ["merged"],
        seed,
        options,
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_the_twin_is_the_component(seed):
    assert check_pair(pair(seed, *drawn(seed))) > 60


def test_the_seeds_reach_thousands_of_cycles_and_many_parameters():
    parameters = [drawn(seed)[0] for seed in SEEDS]
    elements = [sum(map(len, drawn(seed)[1].values())) for seed in SEEDS]
    assert {given.radix for given in parameters} == set(RADICES)
    assert {given.coordinate_bits for given in parameters} == {1, 8, 32, 55}
    assert sum(elements) > 5000


@pytest.mark.parametrize("options", [{"sleep": False}, {"order_seed": 1}, {"sleep": False, "order_seed": 2}])
def test_neither_sleep_nor_order_changes_anything(options):
    parameters, inputs = drawn(3)
    assert check_pair(pair(3, parameters, inputs)) == check_pair(pair(3, parameters, inputs, **options))


def test_radix_64():
    generator = random.Random(64)
    parameters = MergerParameters()
    inputs = merge_inputs(generator, 64, 12, 20, 32, 64)
    assert check_pair(pair(64, parameters, inputs)) > 500


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_the_twin_is_the_component_for_many_seeds(seed):
    check_pair(pair(seed, *drawn(seed)))


def test_planted_a_twin_that_breaks_ties_backwards_is_found_and_shown(tmp_path, monkeypatch):
    monkeypatch.setattr("pairs.WAVEFORMS", tmp_path)
    smaller = merger._smaller
    monkeypatch.setattr(merger, "_smaller", lambda left, right, name: smaller(right, left, name))
    message = r"merger, seed 3: .* differs: .*both are in the waveform .*merger-3\.vcd"
    with pytest.raises(AssertionError, match=message):
        check_pair(pair(3, *drawn(3)))
    shown = (tmp_path / "merger-3.vcd").read_text()
    assert "$scope module event" in shown
    assert "$scope module rtl" in shown


def test_planted_a_twin_with_a_cycle_too_many_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("pairs.WAVEFORMS", tmp_path)

    def late(parameters, between):
        tasks = between.inputs["tasks"]
        seen = pyrtl.Register(1)
        seen.next <<= tasks.valid
        tasks.valid = tasks.valid & seen
        merger.design(parameters, between)

    parameters, inputs = drawn(3)
    twin = build(interface(parameters), lambda streams: late(parameters, streams))
    slow = replace(pair(3, parameters, inputs), rtl=lambda name: stand_in(parameters, name, twin))
    with pytest.raises(AssertionError, match="differs"):
        check_pair(slow)


def test_a_token_that_does_not_fit_is_refused():
    parameters = MergerParameters(radix=2, coordinate_bits=4)
    inputs = {"tasks": [(0, 1, 0, 0.0)], "ways[0]": [(0, 16, 0, 0.0), (1, 0, 0, 0.0)], "ways[1]": []}
    with pytest.raises(AssertionError, match="ways_0_coordinate: 16 does not fit its 4 bits"):
        check_pair(pair(0, parameters, inputs))


def test_the_ways_connected_are_those_of_the_module():
    inputs = {"tasks": [], "ways[0]": [], "ways[1]": [], "ways[2]": []}
    for radix, message in (
        (4, r"the module has ways\[3\], which is not connected"),
        (2, "5 channels are connected"),
    ):
        given = pair(0, MergerParameters(radix=radix), inputs)
        with pytest.raises(SimulationError, match=message):
            check_pair(replace(given, event=given.rtl))
