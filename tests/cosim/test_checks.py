"""What the modules with registered outputs promise, checked in simulation."""

import subprocess

import pytest
import yaml

from fiberscope import __version__
from fiberscope.hw.rtl.kit.checks import wrapper
from fiberscope.hw.rtl.kit.interface import Interface, Stream

INTERFACE = Interface("sender", (Stream("out", "out", "output", {"control": 1, "coordinate": 4}),))
SENDER = """
module sender_core(input clk, input rst, output out_valid, output out_control, output [3:0] out_coordinate,
    input out_ready);
    reg [3:0] count;
    always @(posedge clk) if (rst) count <= 0; else if (ADVANCES) count <= count + 1;
    assign out_valid = VALID; assign out_control = 0; assign out_coordinate = count;
endmodule
module bench;
    reg clk = 0, rst = 1; reg [1:0] turn = 0; wire valid;
    sender dut(.clk(clk), .rst(rst), .out_valid(valid), .out_control(), .out_coordinate(),
        .out_ready(turn == 3));
    always #1 clk = ~clk;
    always @(posedge clk) turn <= turn + 1;
    initial begin #5 rst = 0; #100 $display("came to the end"); $finish; end
endmodule
"""


def said(folder, valid, advances):
    """What Icarus says of a sender that is ``valid`` then, and goes on when it ``advances``."""
    text = SENDER.replace("VALID", valid).replace("ADVANCES", advances)
    (folder / "bench.v").write_text(wrapper(INTERFACE, "sender_core") + text)
    compiler = ["iverilog", "-g2012", "-s", "bench", "-o", "bench.vvp", "bench.v"]
    subprocess.run(compiler, cwd=folder, check=True)
    run = subprocess.run(["vvp", "bench.vvp"], cwd=folder, capture_output=True, text=True, check=False)
    return run.stdout


@pytest.mark.parametrize("simulator", ["icarus"], indirect=True)
def test_who_keeps_an_offered_token_passes(simulator, tmp_path):
    assert "came to the end" in said(tmp_path, "1", "out_ready")
    assert "came to the end" in said(tmp_path, "count != 7", "out_ready && count != 7")


@pytest.mark.parametrize("simulator", ["icarus"], indirect=True)
@pytest.mark.parametrize(
    ("valid", "advances", "complaint"),
    [
        ("1", "1", "sender: out changed before the token was taken"),
        ("bench.turn[0]", "out_ready", "sender: out_valid fell before the token was taken"),
    ],
)
def test_planted_who_does_not_is_found(simulator, valid, advances, complaint, tmp_path):
    out = said(tmp_path, valid, advances)
    assert complaint in out
    assert "came to the end" not in out


def test_the_core_file_names_the_source_and_its_top(tmp_path, printed):
    out = printed("rtl", "export", "two_finger", "--ports=checked", "-o", str(tmp_path))
    assert f"Written: {tmp_path}/two_finger.core" in out.splitlines()
    first, text = (tmp_path / "two_finger.core").read_text().split("\n", 1)
    core = yaml.safe_load(text)
    assert first == "CAPI=2:"
    assert core["name"] == f"fiberscope:rtl:two_finger:{__version__.partition('+')[0]}"
    assert (tmp_path / core["filesets"]["rtl"]["files"][0]).is_file()
    assert core["targets"]["lint"]["toplevel"] == "two_finger"
    assert "module two_finger(" in (tmp_path / "two_finger.v").read_text()
