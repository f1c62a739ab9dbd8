"""Compositions: what is refused, what is written, and wrong channels are found."""

import re
from dataclasses import replace

import pytest
from pairs import check_pair
from scenarios import SCENARIOS

from fiberscope.hw.fibers import intersect_rtl as intersector
from fiberscope.hw.fibers import merge_rtl as merger
from fiberscope.hw.fibers import merge_tree_rtl as merge_tree
from fiberscope.hw.fibers.merge_rtl import MergerParameters
from fiberscope.hw.fibers.merge_tree_rtl import MergeTreeParameters, compose
from fiberscope.hw.memory import cache_rtl as bank
from fiberscope.hw.memory.cache_parameters_rtl import BankParameters
from fiberscope.hw.rtl.kit import channel, wrapper
from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.hw.rtl.kit.channel import ChannelParameters
from fiberscope.hw.rtl.kit.interface import Interface
from fiberscope.hw.rtl.kit.twin import build
from fiberscope.hw.rtl.kit.wrapper import Composition, Link, Part, composed, flat, hierarchical

NARROW = MergerParameters(2, 8, 8, 32)
SMALL = MergeTreeParameters(radix=2, latency=2, coordinate_bits=8, reference_bits=8, value_bits=32)


def two(links, exports, second=NARROW):
    parts = {"first": Part(merger.BLOCK, NARROW), "second": Part(merger.BLOCK, second)}
    return Composition("pair", parts, tuple(links), exports)


EXPORTS = {
    "tasks[0]": "first.tasks",
    "tasks[1]": "second.tasks",
    "ways[0]": "first.ways[0]",
    "ways[1]": "first.ways[1]",
    "ways[2]": "second.ways[1]",
    "merged": "second.merged",
}
LINK = Link("first.merged", "second.ways[0]")


def banked(links, exports):
    """A channel and a bank, which sends two tokens a cycle to memory."""
    given = BankParameters(banks=3, sets=4, ways=2, data="none")
    widths = given.address_bits, given.tag_bits
    request = ChannelParameters(2, 1, 3, widths[1], widths[0], 0)
    parts = {"queue": Part(channel.BLOCK, request), "bank": Part(bank.BLOCK, given)}
    others = {port: f"bank.{port}" for port in ("replies", "memory_replies")}
    return Composition("banked", parts, tuple(links), others | exports)


def test_lanes_are_exported_under_names_that_verilog_has():
    lanes = {port: f"bank.{port}" for port in ("memory_requests", "memory_requests.1")}
    composition = banked([Link("queue.out", "bank.requests")], {"in": "queue.in", **lanes})
    names = [wire.name for wire in composition.interface().wires()]
    assert "memory_requests_lane_1_valid" in names
    assert all(name.isidentifier() for name in names)
    assert "memory_requests.1" in [stream.label for stream in composition.interface().streams]


def test_lanes_are_not_joined_by_a_channel():
    exports = {"out": "queue.out", "requests": "bank.requests", "reads": "bank.memory_requests.1"}
    with pytest.raises(ValueError, match=r"^banked: bank\.memory_requests has lanes, which a channel of one"):
        banked([Link("bank.memory_requests", "queue.in")], exports)


def test_a_chain_of_two_is_accepted():
    names = [wire.name for wire in two([LINK], EXPORTS).interface().wires()]
    assert names[:4] == ["clk", "rst", "tasks_0_valid", "tasks_0_coordinate"]
    assert names[-2:] == ["merged_ready", "pending"]


@pytest.mark.parametrize(
    ("links", "exports", "second", "faults"),
    [
        ([], EXPORTS, NARROW,
         "there is no channel in it; first.merged is not joined; second.ways[0] is not joined"),
        ([LINK, LINK], EXPORTS, NARROW,
         "first.merged is joined 2 times; second.ways[0] is joined 2 times"),
        ([Link("first.merged", "second.way[0]")], EXPORTS, NARROW,
         "there is no second.way[0]; second.ways[0] is not joined"),
        ([Link("third.merged", "second.ways[0]")], EXPORTS, NARROW,
         "there is no third.merged; first.merged is not joined"),
        ([Link("second.ways[0]", "first.merged")], EXPORTS, NARROW,
         "second.ways[0] to first.merged is not from an output to an input"),
        ([LINK], EXPORTS, replace(NARROW, value_bits=64),
         "first.merged has {'control': 1, 'coordinate': 8, 'reference': 8, 'value': 32}, "
         "but second.ways[0] has {'control': 1, 'coordinate': 8, 'reference': 8, 'value': 64}: "
         "a channel changes no width"),
    ],
)  # fmt: skip
def test_all_that_does_not_fit_is_said_at_once(links, exports, second, faults):
    with pytest.raises(ValueError, match=f"^pair: {re.escape(faults)}$"):
        two(links, exports, second)


@pytest.mark.parametrize("label", ["first_merged", "second_ways_0"])
def test_a_port_that_would_be_shorted_to_a_net_is_refused(label):
    exports = {**EXPORTS, label: EXPORTS["merged"]}
    del exports["merged"]
    end = {"first_merged": "first.merged", "second_ways_0": "second.ways[0]"}[label]
    fault = f"port {label} and the net at {end} would be one, {label}: call one otherwise"
    with pytest.raises(ValueError, match=f"^pair: {re.escape(fault)}$"):
        two([LINK], exports)


def test_so_are_two_nets_and_two_ports_of_one_name():
    ports = {**EXPORTS, "merged_0": "second.merged", "merged[0]": "third_x.merged"}
    del ports["merged"]
    with pytest.raises(ValueError, match=r"; port merged_0 and port merged\[0\] would be one, merged_0: "):
        two([LINK], ports)
    finger = Part(intersector.TWO_FINGER, intersector.TWO_FINGER.parameters())
    exports = {f"{side}_{i}": f"{part}.{side}" for side in "ab" for i, part in enumerate(["x", "x_matches"])}
    del exports["a_1"]
    exports |= {"unmatched": "x.matches_b", "c": "x_matches.matches_a", "d": "x_matches.matches_b"}
    with pytest.raises(ValueError, match=r"^three: the net at x\.matches_a and the net at x_matches\.a "):
        Composition(
            "three", {"x": finger, "x_matches": finger}, (Link("x.matches_a", "x_matches.a"),), exports
        )


def test_a_composition_without_channels_or_with_bad_ones_is_refused():
    with pytest.raises(ValueError, match="alone: there is no channel in it"):
        Composition(
            "alone",
            {"one": Part(merger.BLOCK, NARROW)},
            (),
            {name: f"one.{name}" for name in ("tasks", "ways[0]", "ways[1]", "merged")},
        )
    with pytest.raises(ValueError, match="channel: latency must be from 1 to 64, not 0"):
        two([replace(LINK, latency=0)], EXPORTS).instances()


def test_each_module_is_written_once_and_instantiated_by_name():
    text = merge_tree.BLOCK.verilog(MergeTreeParameters(radix=3, leaves=2, value_bits=32))
    modules = [line.split("(")[0].removeprefix("module ") for line in text.splitlines() if "module " in line]
    assert modules == [
        "merge_tree", "merge_tree_merger_0", "merge_tree_merger_1", "merge_tree_channel",
    ]  # fmt: skip
    for instance in (
        "merge_tree_merger_0 leaf_00(",
        "merge_tree_merger_0 leaf_01(",
        "merge_tree_merger_1 root(",
        "merge_tree_channel channel_at_root_ways_0(",
    ):
        assert text.count(instance) == 1
    assert ".merged_ready(leaf_01_merged_ready)" in text
    assert ".in_ready(leaf_01_merged_ready)" in text
    assert text == merge_tree.BLOCK.verilog(MergeTreeParameters(radix=3, leaves=2, value_bits=32))


def test_without_status_no_module_of_it_has_any():
    for shows in (True, False):
        text = merge_tree.BLOCK.verilog(SMALL, status=shows)
        assert ("output pending" in text) == shows
        assert (".pending(" in text) == shows


def test_a_composition_is_a_part_of_another():
    inner = compose(SMALL)
    tree = Part(merge_tree.BLOCK, SMALL)
    sink = Part(merger.BLOCK, NARROW)
    exports = {f"tree_{label}": f"tree.{label}" for label in inner.exports if label != "merged"}
    exports |= {"tasks": "last.tasks", "way": "last.ways[1]", "merged": "last.merged"}
    links = (Link("tree.merged", "last.ways[0]"),)
    block = composed(
        "deep",
        "a merger behind a tree",
        MergeTreeParameters,
        lambda _given: Composition("deep", {"tree": tree, "last": sink}, links, exports),
        merge_tree.MergeTreeAdapter,
    )
    text = block.verilog(SMALL)
    assert "deep_merge_tree tree(" in text
    assert "module deep_merge_tree_merger(" in text
    assert "assign pending = tree_shows_pending | channel_at_last_ways_0_shows_pending;" in text
    assert "tree/leaf_00/running_00" in {wire.name for wire in block.twin(SMALL).block.wirevector_set}


@pytest.mark.parametrize("change", [{"latency": 3}, {"capacity": 1}])
def test_planted_a_channel_of_another_latency_or_capacity_is_found(change, tmp_path, monkeypatch):
    monkeypatch.setattr("pairs.WAVEFORMS", tmp_path)
    scenario = SCENARIOS["merge_tree"]
    other = merge_tree.BLOCK.twin(replace(SMALL, **change))
    assert check_pair(scenario.pair(3, SMALL)) > 60
    with pytest.raises(AssertionError, match=r"merge_tree, seed 3: .* differs"):
        check_pair(scenario.pair(3, SMALL, lambda: PyrtlBackend(other)))


def test_planted_a_channel_that_frees_a_slot_too_early_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("pairs.WAVEFORMS", tmp_path)
    given = ChannelParameters(capacity=2, latency=1)

    def early(between):
        source, sink = between.inputs["in"], between.outputs["out"]
        accept = source.accept
        source.accept = lambda room: accept(room | sink.ready)
        channel.design(given, between)

    twin = build(channel.interface(given), early)
    with pytest.raises(AssertionError, match=r"channel, seed 3: .* differs"):
        check_pair(SCENARIOS["channel"].pair(3, given, lambda: PyrtlBackend(twin)))


def test_the_channels_between_are_those_of_the_links():
    instances = compose(MergeTreeParameters(leaves=3, capacity=5, latency=7)).instances()
    channels = {i.name: i.part.parameters for i in instances if i.part.block is channel.OF_STREAM}
    assert channels.keys() == {f"channel_at_root_ways_{i}" for i in range(3)}
    (made,) = set(channels.values())
    assert (made.capacity, made.latency, made.tokens.widths) == (5, 7, ChannelParameters().widths)
    assert isinstance(compose(SMALL).interface(), Interface)
    assert wrapper.hierarchical(compose(SMALL), "other").startswith("module other(")


def test_a_channel_of_empty_tokens_is_refused():
    with pytest.raises(ValueError, match="channel: a token needs a field, so not all widths can be 0"):
        ChannelParameters(control_bits=0, coordinate_bits=0, reference_bits=0, value_bits=0)


def test_a_tap_tells_of_tokens_that_move_not_of_those_that_are_offered():
    """Of two channels the second is full: what the first offers from then on does not move."""
    parts = dict.fromkeys(("one", "other"), Part(channel.BLOCK, ChannelParameters(2, 1, 0, 4, 0, 0)))
    composition = Composition(
        "chain",
        parts,
        (Link("one.out", "other.in", capacity=0),),
        {"in": "one.in", "out": "other.out"},
        {},
        {"moved": ("one.out",), "moved_coordinate": ("one.out", "coordinate")},
    )
    backend = PyrtlBackend(build(composition.interface(), lambda between: flat(composition, between)))
    told, offered = [], 5
    for _cycle in range(12):
        backend.words.drive({"in_valid": 1, "in_coordinate": offered, "out_ready": 0})
        backend.cycle()
        seen = backend.words.seen()
        offered += seen["in_ready"]
        told += [seen["moved_coordinate"]] * seen["moved"]
        assert seen["moved"] or seen["moved_coordinate"] == 0
    assert told == [5, 6]
    assert re.search(r"assign moved = (\w+)_valid & \1_ready;", hierarchical(composition, "chain"))
