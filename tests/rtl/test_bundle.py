"""Channels whose tokens move together: a module of rows, with fields of its own names and widths."""

import random
from dataclasses import replace
from functools import reduce
from operator import add

import pytest
from pairs import Pair, check_pair

from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.axis import axis
from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.channel import ChannelParameters
from fiberscope.hw.rtl.kit.checks import checked
from fiberscope.hw.rtl.kit.interface import Bundle, Field, Interface, Stream, Token
from fiberscope.hw.rtl.kit.model import Model
from fiberscope.hw.rtl.kit.registered import registered
from fiberscope.hw.rtl.kit.twin import build
from fiberscope.hw.rtl.kit.wrapper import Composition, Link, Part, hierarchical
from fiberscope.hw.stream import EMPTY
from fiberscope.sim import ANY, Component, Input, Kernel, Output
from fiberscope.sim.testing import StreamSink, StreamSource, head, random_stalls

EMPTY_TOKEN = (EMPTY, 0, 0, 0.0)
LANES = 3
ROW = {"control": 1, "number": Field("coordinate", 12, "unsigned"), "half": Field("value", 16, "float")}
INTERFACE = Interface(
    "rows",
    (
        Bundle("in", "rows", "input", ROW, LANES),
        Bundle("out", "results", "output", ROW, LANES),
        Stream("sums", "sums", "output", {"coordinate": 14}),
    ),
)


def design(between):
    """Turns every row around, and says the sum of its numbers."""
    rows, results, sums = between.inputs["in"], between.outputs["out"], between.outputs["sums"]
    results.send_lanes(rows.valid & sums.ready, list(reversed(rows.lanes)))
    sums.send(
        rows.valid & results.ready, {"coordinate": reduce(add, [lane["number"] for lane in rows.lanes])}
    )
    rows.accept(rows.valid & results.ready & sums.ready)


class Rows(Adapter):
    PORTS = (Input("in", ANY, array=True), Output("out", ANY, array=True), Output("sums", ANY))

    def observe(self, moved):
        if moved:
            assert [token.coordinate for token in moved["in"]] == [
                token.coordinate for token in reversed(moved["out"])
            ]


@pytest.mark.parametrize("seed", range(4))
def test_the_tokens_of_all_lanes_move_in_one_cycle(seed):
    draw = random.Random(seed)
    rows = [[(0, draw.randrange(4096), 0, draw.randrange(64) / 4) for _ in range(LANES)] for _ in range(20)]
    kernel = Kernel()
    kernel.clock("core", 10**9)
    module = kernel.add(Rows("module", INTERFACE, PyrtlBackend(build(INTERFACE, design))))

    def stalls():
        return random_stalls(draw.randrange(100))

    sinks = [kernel.add(StreamSink(f"sink{lane}", stalls())) for lane in range(LANES)]
    for lane, sink in enumerate(sinks):
        source = kernel.add(StreamSource(f"source{lane}", [row[lane] for row in rows], stalls()))
        kernel.connect(source, "out", module, f"in[{lane}]", capacity=2)
        kernel.connect(module, f"out[{lane}]", sink, "in", capacity=2)
    sums = kernel.add(StreamSink("sums", stalls()))
    kernel.connect(module, "sums", sums, "in", capacity=2)
    kernel.run()
    for lane, sink in enumerate(sinks):
        assert [token for _cycle, token in sink.received] == [row[LANES - 1 - lane] for row in rows]
    assert [token[1] for _cycle, token in sums.received] == [sum(token[1] for token in row) for row in rows]
    assert (module.end("in").tokens, module.end("sums").tokens) == (20 * LANES, 20)


def test_its_wires_hold_the_lanes_side_by_side():
    assert [str(wire) for wire in INTERFACE.wires()[2:7]] == [
        "input rows_valid", "input [2:0] rows_control", "input [35:0] rows_number", "input [47:0] rows_half",
        "output rows_ready",
    ]  # fmt: skip


def test_what_is_no_bundle_is_refused():
    with pytest.raises(ValueError, match=r"in\[0\]: a bundle is an array of ports, of at least one lane"):
        Bundle("in[0]", "rows", "input", ROW, LANES)
    with pytest.raises(
        ValueError, match="a token has no number; it has control, coordinate, reference, value"
    ):
        Field("number", 12, "unsigned")
    with pytest.raises(ValueError, match="in: call a field otherwise than mask, which the bundle has"):
        Bundle("in", "rows", "input", {"mask": Field("coordinate", 1, "unsigned")}, LANES, mask=True)


MASKED = (
    Bundle("in", "rows", "input", ROW, LANES, mask=True),
    Bundle("out", "results", "output", ROW, LANES, mask=True),
)


class Evens(Component):
    """Passes rows on, of which odd numbers are left out."""

    PORTS = (Input("in", ANY, array=True), Output("out", ANY, array=True))

    def tick(self, now):
        sources, sinks = self.channels("in"), self.channels("out")
        missing = [source for source in sources if not source.can_pop()]
        full = [sink for sink in sinks if not sink.can_push()]
        if missing:
            return self.wait_input(missing[0]) if len(missing) < LANES else self.idle()
        if full:
            return self.wait_output(full[0])
        for source, sink in zip(sources, sinks, strict=True):
            token = head(source)
            source.pop()
            sink.push(*(EMPTY_TOKEN if token[0] == EMPTY or token[1] % 2 else token))
        return self.busy(now + 1)


def evens(_parameters, between):
    rows, results = between.inputs["in"], between.outputs["out"]
    rows.accept(results.ready)
    lanes = [{**lane, "mask": lane["mask"] & ~lane["number"][0]} for lane in rows.lanes]
    results.send_lanes(rows.valid, lanes)


class EvensAdapter(Adapter):
    PORTS = Evens.PORTS


BLOCK = RtlBlock(
    "evens",
    "",
    ChannelParameters,
    ChannelParameters,
    lambda _: Interface("evens", MASKED),
    evens,
    EvensAdapter,
    lambda name, _: Evens(name),
)


def masked_rows(seed, count=60):
    """Tokens by lane, some of them empty."""
    draw = random.Random(seed)
    return {
        f"in[{lane}]": [
            EMPTY_TOKEN if draw.random() < 0.3 else (draw.randrange(2), draw.randrange(4096), 0, 0.5)
            for _ in range(count)
        ]
        for lane in range(LANES)
    }


def pair_of(seed, block=BLOCK, **changes):
    interface = block.interface(ChannelParameters())
    twin = block.twin(ChannelParameters())
    return Pair(
        "evens",
        Evens,
        lambda name: block.adapter(name, interface, PyrtlBackend(twin, seed)),
        masked_rows(seed),
        [f"out[{lane}]" for lane in range(LANES)],
        seed,
        **changes,
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_lane_that_has_nothing_is_masked_and_moves_with_its_row(seed):
    assert check_pair(pair_of(seed)) > 60


def test_planted_a_lane_that_is_not_masked_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("pairs.WAVEFORMS", tmp_path)

    def unmasked(_parameters, between):
        rows, results = between.inputs["in"], between.outputs["out"]
        rows.accept(results.ready)
        results.send_lanes(rows.valid, rows.lanes)

    with pytest.raises(AssertionError, match="evens, seed 1: tokens at sink_out_0 differs"):
        check_pair(pair_of(1, replace(BLOCK, design=unmasked)))


def test_what_the_fields_of_an_empty_lane_are_is_nobodys_business():
    (given, _) = MASKED
    wires = {"rows_mask": 0b101, "rows_control": 0b011, "rows_number": 0x700500300, "rows_half": 0}
    assert [given.decode(wires, lane)[:2] for lane in range(LANES)] == [
        (1, 0x300),
        EMPTY_TOKEN[:2],
        (0, 7 << 8),
    ]
    encoded = dict(given.encode(*(Token(*token) for token in ((1, 5, 0, 0.0), EMPTY_TOKEN, EMPTY_TOKEN))))
    assert encoded == {"rows_mask": 1, "rows_control": 1, "rows_number": 5, "rows_half": 0}


@pytest.mark.parametrize("seed", range(3))
def test_registered_rows_are_the_component_and_a_channel_behind_each_lane(seed):
    block = registered(BLOCK, 3)

    def behind(kernel, scope):
        parts = [kernel.add(Evens(f"{scope}.{name}")) for name in ("block", "wire")]  # no number turns odd
        for lane in range(LANES):
            kernel.connect(parts[0], f"out[{lane}]", parts[1], f"in[{lane}]", capacity=3)
        return {
            f"{port}[{i}]": (parts[port == "out"], f"{port}[{i}]")
            for port in ("in", "out")
            for i in range(LANES)
        }

    assert check_pair(pair_of(seed, block, composed=behind)) > 60


def test_bundles_are_joined_by_a_channel_of_rows():
    part = Part(BLOCK, ChannelParameters())
    chain = Composition(
        "chain",
        {"first": part, "second": part},
        (Link("first.out", "second.in", capacity=4),),
        {"in": "first.in", "out": "second.out"},
    )
    text = hierarchical(chain.without_status(), "chain")
    assert ".in_mask(first_results_mask)" in text
    assert text.count("\nmodule chain_channel(") == 1
    other = Part(replace(BLOCK, interface=lambda _: INTERFACE), ChannelParameters())
    with pytest.raises(ValueError, match="chain: there is no"):
        replace(chain, parts={"first": part, "third": other})


def test_a_bench_sees_the_component_as_rows():
    model = Model(MASKED, Evens)
    row = {"rows_valid": 1, "rows_mask": 0b111, "rows_control": 0, "rows_number": 0x004003002, "rows_half": 0}
    seen = []
    for cycle in range(8):
        outputs = model.outputs()
        seen.append((outputs["results_valid"], outputs["results_mask"], outputs["rows_ready"]))
        model.clock({**row, "rows_valid": cycle < 2, "results_ready": cycle > 4, **outputs})
    assert seen[:2] == [(0, 0, 1), (0, 0, 1)]
    assert seen[3:] == [(1, 0b101, 1)] * 4 + [(0, 0, 1)]


def test_a_shadow_compares_every_lane():
    def last_lane_wrong(_parameters, between):
        rows, results = between.inputs["in"], between.outputs["out"]
        rows.accept(results.ready)
        lanes = [{**lane, "mask": lane["mask"] & ~lane["number"][0]} for lane in rows.lanes]
        lanes[-1]["mask"] = rows.lanes[-1]["mask"]
        results.send_lanes(rows.valid, lanes)

    assert not _parts_from_its_shadow(BLOCK)
    assert _parts_from_its_shadow(replace(BLOCK, design=last_lane_wrong))


def _parts_from_its_shadow(block):
    kernel = Kernel()
    kernel.clock("core", 10**9)
    module = block.adapter(
        "module", Interface("evens", MASKED), PyrtlBackend(block.twin(ChannelParameters()))
    )
    module.shadow = lambda: Evens("module")
    kernel.add(module)
    for lane in range(LANES):
        source = kernel.add(StreamSource(f"source{lane}", masked_rows(7)[f"in[{lane}]"]))
        sink = kernel.add(StreamSink(f"sink{lane}"))
        kernel.connect(source, "out", module, f"in[{lane}]", capacity=2)
        kernel.connect(module, f"out[{lane}]", sink, "in", capacity=2)
    kernel.run()
    (differs,) = [i for i, signal in enumerate(module.signals()) if signal.name == "differs"]
    return module.sample()[differs]


def test_ports_of_axi_keep_the_bytes_of_the_lanes_that_have_something():
    text = axis(BLOCK, ChannelParameters())
    for line in (
        "//   in (input): control 0:0, number 12:1, half 28:13, in each of 3 lanes of 4 bytes",
        "input [11:0] in_tkeep",
        ".in_mask({&in_tkeep[11:8], &in_tkeep[7:4], &in_tkeep[3:0]})",
        "assign out_tkeep = {{4{out_mask[2]}}, {4{out_mask[1]}}, {4{out_mask[0]}}};",
        "assign out_tlast = out_control[2];",
    ):
        assert line in text


def test_assertions_hold_the_fields_of_every_lane():
    assert "reg [89:0] out_was;" in checked(BLOCK, ChannelParameters(), status=False)
