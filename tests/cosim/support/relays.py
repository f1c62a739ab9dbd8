"""A module that passes tokens on in two lanes, and modules that each break one rule of the protocol."""

from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.interface import Interface, Stream
from fiberscope.hw.stream import STREAM
from fiberscope.sim import Input, Kernel, Output
from fiberscope.sim.testing import StreamSink, StreamSource

FIELDS = {"control": 1, "coordinate": 8}
STREAMS = (
    Stream("in", "in", "input", FIELDS),
    Stream("out", "out", "output", FIELDS),
    Stream("out.1", "out_lane_1", "output", FIELDS),
)
TOKENS = [(0, 3, 0, 0.0), (0, 5, 0, 0.0), (1, 0, 0, 0.0), (0, 2, 0, 0.0), (1, 0, 0, 0.0)]
STALLS = ((0, 2, 0, 0, 3, 0), (4, 0, 0, 6, 0, 0))  # of the source, and of the sink
RELAY = """
module relay (input clk, input rst, input in_valid, input in_control, input [7:0] in_coordinate,
    output in_ready, output out_valid, output out_control, output [7:0] out_coordinate, input out_ready,
    output out_lane_1_valid, output out_lane_1_control, output [7:0] out_lane_1_coordinate,
    input out_lane_1_ready);
    reg refused, never, ended;
    wire both = in_valid & ~in_control;
    always @(posedge clk) begin
        refused <= ~rst & out_valid & ~out_ready;
        ended <= ~rst & (ended | in_valid & in_control & out_ready);
    end
    assign in_ready = in_control ? out_ready : out_lane_1_ready;
    assign out_valid = in_valid & (in_control | out_lane_1_ready);
    assign out_control = in_control;
    assign out_coordinate = in_control ? 0 : in_coordinate;
    assign out_lane_1_valid = both;
    assign out_lane_1_control = 0;
    assign out_lane_1_coordinate = in_coordinate;
endmodule
"""
# By module: what stands in the place of what, what is found, and its cycles in the bench and in the loop.
FAULTS = {
    "keeps": ("", "", None, None, None),
    "withdraws": (
        "out_lane_1_valid = both",
        "out_lane_1_valid = both & ~waits; reg waits; "
        "always @(posedge clk) waits <= ~rst & out_lane_1_valid & ~out_lane_1_ready",
        "out.1: out_lane_1_valid falls before the token is taken",
        1,
        3,
    ),
    "changes": (
        "out_lane_1_coordinate = in_coordinate",
        "out_lane_1_coordinate = in_coordinate + waits; reg waits; "
        "always @(posedge clk) waits <= ~rst & out_lane_1_valid & ~out_lane_1_ready",
        "out.1: out_lane_1_coordinate changes from NUMBER to NUMBER before the token is taken",
        1,
        3,
    ),
    "unknown": (
        "out_control = in_control",
        "out_control = in_control | never",
        "out: out_control is X: not reset, or driven by nothing",
        2,
        1,
    ),
    "floats": (
        "in_ready = in_control ? out_ready : out_lane_1_ready",
        "in_ready = in_control ? 1'bz : out_lane_1_ready",
        "in: in_ready is Z: not reset, or driven by nothing",
        4,
        9,
    ),
    "goes_on": (
        "out_valid = in_valid",
        "out_valid = ended & ~in_valid | in_valid",
        "out: a token follows the last stop; 2 fibers have begun at in",
        8,
        21,
    ),
    "swaps": (
        "out_valid = in_valid & (in_control | out_lane_1_ready)",
        "out_valid = in_valid & (in_control | out_lane_1_ready & in_coordinate != 5)",
        "out.1: lane 1 moves a token without lane 0",
        3,
        8,
    ),
}
FOUR_VALUED = ("unknown", "floats")  # that a simulator of two values cannot see


class RelayAdapter(Adapter):
    """Stands in for a relay."""

    PORTS = (Input("in", STREAM), Output("out", STREAM))
    FIBERS_OF = {"out": "in"}  # noqa: RUF012


def interface(name):
    return Interface(name, STREAMS)


def verilog(name):
    """The module of a fault."""
    old, new, *_found = FAULTS[name]
    assert old in RELAY
    return RELAY.replace("module relay", f"module {name}").replace(old, new, 1)


def loop(name, backend):
    """What a run between a source and a sink finds, by the adapter."""
    kernel = Kernel()
    kernel.clock("core", 10**9)
    source = kernel.add(StreamSource("source", TOKENS, STALLS[0]))
    adapter = kernel.add(RelayAdapter(name, interface(name), backend, drain=8))
    sink = kernel.add(StreamSink("sink", STALLS[1]))
    kernel.connect(source, "out", adapter, "in", capacity=2)
    kernel.connect(adapter, "out", sink, "in", capacity=2)
    kernel.run(cycle_limit=200)
    violation = adapter.exercise().violation
    return violation and violation[1]
