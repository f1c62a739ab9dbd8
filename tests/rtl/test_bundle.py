"""Channels whose tokens move together: a module of rows, with fields of its own names and widths."""

import random
from functools import reduce
from operator import add

import pytest

from hw.rtl.channel import ChannelParameters
from hw.rtl.kit.adapter import Adapter
from hw.rtl.kit.backend import PyrtlBackend
from hw.rtl.kit.block import RtlBlock
from hw.rtl.kit.interface import Bundle, Field, Interface, Stream
from hw.rtl.kit.registered import registered
from hw.rtl.kit.twin import build
from sim import ANY, Input, Kernel, Output
from sim.testing import StreamSink, StreamSource, random_stalls

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


def test_what_is_no_bundle_or_has_no_channel_is_refused():
    with pytest.raises(ValueError, match=r"in\[0\]: a bundle is an array of ports, of at least one lane"):
        Bundle("in[0]", "rows", "input", ROW, LANES)
    with pytest.raises(
        ValueError, match="a token has no number; it has control, coordinate, reference, value"
    ):
        Field("number", 12, "unsigned")
    block = RtlBlock("rows", "", ChannelParameters, ChannelParameters, lambda _: INTERFACE, design, Rows)
    with pytest.raises(ValueError, match="rows: no channel takes in, which is a bundle"):
        registered(block).verilog(ChannelParameters())
