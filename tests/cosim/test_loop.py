"""Gamma with blocks in an HDL simulator: the report is that of Gamma itself; a user's own Verilog too."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from vcd_reader import read_vcd

from fiberscope import cli

ROOT = Path(__file__).parents[2]
MATRIX = "uniform:rows=24,cols=24,nonzeros=100"
CYCLE = 1_000_000  # fs
SMALL = ["--set=pe.count=2", "--set=pe.radix=4"]
THRIFTY = [f"--set=fibercache.{setting}" for setting in ("size=2KiB", "banks=2", "ways=4")]
BLOCKS = {
    "merger": ("gamma.pe00.merger", []),
    "bank": ("gamma.fibercache.bank00", [*THRIFTY, "--set=pe.radix=2", "--set=scheduler.output=cache"]),
    "scheduler": ("gamma.scheduler", []),
    "crossbar": ("gamma.network.pe_requests", THRIFTY),
    "merger,bank": (
        "gamma.pe01.merger, gamma.fibercache.bank00, gamma.fibercache.bank01",
        [*THRIFTY, "--at=gamma.fibercache.bank01", "--at=gamma.pe01.merger", "--at=gamma.fibercache.bank00"],
    ),
}


pytestmark = pytest.mark.usefixtures("here")


def loop(simulator, *arguments, block="merger"):
    """Exit code of a small Gamma on a small matrix."""
    return cli.run(["rtl", "loop", block, "gamma", MATRIX, f"--sim={simulator}", *SMALL, *arguments])


def own_verilog(old, new):
    """The merger of ``loop`` under another name and with one text in the place of another."""
    assert cli.run(["rtl", "export", "merger", "--set", "radix=4"]) == 0
    text = Path("build/merger.v").read_text().replace("module merger", "module mine")
    assert old in text
    Path("mine.v").write_text(text.replace(old, new))
    return ["--verilog=mine.v", "--module=mine"]


@pytest.mark.parametrize(
    "block", [pytest.param(block, marks=() if "," in block else pytest.mark.slow) for block in BLOCKS]
)
def test_the_report_is_the_same_in_every_entry(block, simulator, capsys):
    at, settings = BLOCKS[block]
    assert loop(simulator, *settings, block=block) == 0
    title, component, rtl, *exercised, verdict = capsys.readouterr().out.splitlines()
    assert exercised[0].startswith(f"exercised at {at.partition(',')[0]}: ")
    assert title.endswith(f"RTL in {simulator} at {at}")
    assert component.split()[-1] == rtl.split()[-1]
    assert verdict.startswith("identical in all ")
    assert all(Path(f"build/loop/{one}.v").is_file() for one in block.split(","))


def heed():
    """In the child: Ctrl-C is heeded, also where the tests themselves run in the background of a script."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize("simulator", ["icarus"], indirect=True)
@pytest.mark.parametrize(
    "send", [os.kill, pytest.param(os.killpg, id="to the simulator too", marks=pytest.mark.slow)]
)
def test_a_run_that_is_interrupted_leaves_its_report(send, simulator, tmp_path):
    matrix = "uniform:rows=300,cols=300,nonzeros=6000"
    command = ["rtl", "loop", "merger", "gamma", matrix, f"--sim={simulator}", *SMALL]
    process = subprocess.Popen(
        [sys.executable, "-m", "fiberscope", *command],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
        preexec_fn=heed,  # noqa: PLW1509  (no thread holds a lock that the child needs)
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    for _ in range(300):
        if Path("build/loop/simulator.pid").is_file() or process.poll() is not None:
            break
        time.sleep(0.1)
    time.sleep(0.5)
    send(process.pid, signal.SIGINT)
    assert process.communicate(timeout=60)[0] in ("", "fiberscope: interrupted before the end\n")
    assert process.returncode == 130
    report = json.loads(Path("build/loop/report.json").read_text())
    assert (report["ending"], report["complete"]) == ("interrupted", False)
    assert report["cycles"] > 0
    assert not Path("build/loop/simulator.pid").exists()


@pytest.mark.slow
@pytest.mark.parametrize("simulator", ["icarus"], indirect=True)
def test_what_only_a_status_output_says_is_absent_without_it(simulator, capsys):
    at, settings = BLOCKS["bank"]
    assert loop(simulator, *settings, block="bank") == 0
    text = Path("build/loop/bank.v").read_text()
    Path("mine.v").write_text(re.sub(r"\b(missed|evicted)\b", r"my_\1", text))
    capsys.readouterr()
    assert loop(simulator, *settings, "--verilog=mine.v", "--output=own", block="bank") == 0
    *_, untold, verdict = capsys.readouterr().out.splitlines()
    assert untold.startswith(f"NOT compared: components.{at}.counters.")
    assert verdict.startswith("identical in all ")
    assert f"{at}.counters.evictions" not in Path("own/report.json").read_text()


@pytest.mark.slow
def test_what_is_within_is_shown_as_in_pyrtl(simulator, capsys):
    settings = ["--set=pe.radix=3", "--vcd-plain"]
    assert loop(simulator, *settings, "--vcd=hdl.vcd") == 0
    assert loop("pyrtl", *settings, "--vcd=pyrtl.vcd") == 0
    hdl, pyrtl = (read_vcd(Path(f"{name}.vcd")).signals for name in ("hdl", "pyrtl"))
    assert from_the_first_edge(hdl) == from_the_first_edge(pyrtl)
    assert sum(".rtl." in name for name in hdl) > 30


def from_the_first_edge(signals):
    """All changes; a register of data has no reset, and holds before the edge what a simulator likes."""
    shown = {}
    for name, wire in signals.items():
        (_time, first), *later = [(max(time, CYCLE), value) for time, value in wire.changes]
        while later and later[0][0] == CYCLE:
            (_time, first), *later = later
        shown[name] = [(CYCLE, first), *later]
    return shown


@pytest.mark.parametrize("simulator", ["icarus"], indirect=True)
def test_in_lock_step_the_simulators_time_is_that_of_the_machine(simulator, capsys):
    at = ["--at=gamma.pe00.merger", "--at=gamma.pe01.merger"]
    assert loop(simulator, *at, "--lock-step") == 0
    cycles = int(capsys.readouterr().out.splitlines()[2].split()[-1].replace(",", ""))
    log = Path("build/loop/run.log").read_text()
    (seconds,) = re.findall(r"runs_with_the_modules_in_it +\S+ +([\d.]+)", log)
    assert cycles <= float(seconds) < cycles + 1  # in ns, a cycle each, but for the reset


TWO_WAYS = (ROOT / "docs" / "two_way_merger.v").read_text()
DOCUMENTED = "uniform:rows=40,cols=40,nonzeros=200"
AS_DOCUMENTED = ["--set=pe.count=2", "--set=pe.radix=2", "--module=two_way_merger"]
VALID = "assign merged_valid      = active & shown_1;"
TAKES_EARLY = (
    r"note: inputs are taken in other cycles; gamma.pe00.merger: in cycle \d+, ways\[1\] is taken by the RTL"
)
PORTS = r"where that begins: gamma.pe00.merger: in cycle \d+, "
# What is changed in the merger of the page, the exit code, and what is said of it.
VERDICTS = {
    "as documented": ([], 0, TAKES_EARLY, "identical in all "),
    "swaps ties": (
        [("ways_1_coordinate < ways_0_coordinate", "ways_1_coordinate <= ways_0_coordinate")],
        3,
        r"DIFFERENT in \d+ of ",
        PORTS
        + r"merged is control=0 coordinate=(\d+) .* of the component, control=0 coordinate=\1 .* of the RTL",
    ),
    "waits for ready": ([(VALID, f"{VALID[:-1]} & merged_ready;")], 0, TAKES_EARLY, "identical in all "),
}


@pytest.mark.parametrize(
    ("verdict", "waveform"),
    [
        pytest.param(
            verdict,
            waveform,
            marks=pytest.mark.slow
            if bool(waveform) != (verdict == "swaps ties") or verdict == "as documented"
            else (),
        )
        for verdict in VERDICTS
        for waveform in ([], ["--vcd=loop.vcd"])
    ],
)
def test_verilog_is_judged_at_its_ports_with_and_without_a_waveform(verdict, waveform, simulator, capsys):
    changes, code, *lines = VERDICTS[verdict]
    text = TWO_WAYS
    assert "pending" not in text  # a status output
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    Path("mine.v").write_text(text)
    order = ["rtl", "loop", "merger", "gamma", DOCUMENTED, "--verilog=mine.v", f"--sim={simulator}"]
    assert cli.run([*order, *AS_DOCUMENTED, *waveform]) == code
    out = capsys.readouterr().out
    assert (
        "no stall at " in out.partition("NOT exercised at gamma.pe00.merger: ")[2]
    )  # its output never waits
    assert "PROTOCOL" not in out
    for line in lines:
        assert re.search(rf"^{line}", out, re.MULTILINE), out


def test_planted_verilog_that_drops_the_payload_is_found(simulator, capsys):
    spoilt = own_verilog("assign merged_value = ", "assign merged_value = 0 & ")
    assert loop(simulator, *spoilt) == 3
    out, err = capsys.readouterr()
    assert "with RTL at gamma.pe00.merger: the machine's product is wrong" in err
    assert re.search(
        r"; gamma.pe00.merger: in cycle \d+, merged is (.* )value=\S+ of the component, \1value=0.0 of", err
    )
    assert out.splitlines()[-2:] == ["Verilog of mine: mine.v", "Report with RTL: build/loop/report.json"]


@pytest.mark.slow
def test_planted_verilog_that_takes_its_time_differs_in_cycles(simulator, capsys):
    slow = own_verilog(
        "    // Registers\n",
        "    reg [1:0] turn; always @(posedge clk) if (rst) turn <= 0; else turn <= turn + 1;\n",
    )
    text = Path("mine.v").read_text()
    for old, new in (
        ("assign merged_valid = ", "assign merged_valid = &turn & "),
        ("& merged_ready", "& merged_ready & &turn"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    Path("mine.v").write_text(text)
    assert loop(simulator, *slow) == 3
    out = capsys.readouterr().out
    component, rtl = (int(line.split()[-1].replace(",", "")) for line in out.splitlines()[2:4])
    assert component < rtl
    assert "DIFFERENT in " in out
    assert re.search(
        r"\nwhere that begins: gamma.pe00.merger: in cycle \d+, \S+ is .* of the component, nothing of", out
    )


@pytest.mark.parametrize("option", ["--output", "--vcd"])
def test_verilog_that_an_output_would_overwrite_is_kept(option, simulator, capsys):
    arguments = own_verilog("", "")
    own = Path("own/fiberscope_loop.v")
    own.parent.mkdir()
    text = Path("mine.v").rename(own).read_text()
    capsys.readouterr()
    output, name = ("own", "a file of --output") if option == "--output" else (own, "the waveform")
    assert loop(simulator, f"--verilog={own}", arguments[1], f"{option}={output}") == 2
    assert capsys.readouterr().err == (
        f"fiberscope: {name} {own}: is --verilog {own}, which it would overwrite; give another name\n"
    )
    assert own.read_text() == text


def test_ports_that_do_not_match_are_listed(simulator, capsys):
    capsys.readouterr()
    assert loop(simulator, *own_verilog("ways_3_ready", "ways_3_rdy")) == 2
    log = Path("build/loop/fault.log")
    assert capsys.readouterr().err == (
        "fiberscope: the ports of module mine do not match those of its component: "
        f"missing output ways_3_ready; the whole output is in {log}\n"
    )
    first, *lines = log.read_text().splitlines()
    assert first == "the ports of module mine do not match those of its component"
    assert lines[:2] == ["  missing  output ways_3_ready", "  unknown  output ways_3_rdy"]
    assert lines[2].startswith(
        "expected: input clk, input rst, input tasks_valid, input [2:0] tasks_coordinate"
    )
    assert lines[3] == "found:    " + lines[2][10:].replace("ways_3_ready", "ways_3_rdy")
    assert lines[4:] == []


REFUSED = """
reg refused; always @(posedge clk) refused <= ~rst & outputs_0_valid & ~outputs_0_ready;
assign outputs_0_valid = (outputs_0_ready | ~refused) & """


@pytest.mark.slow
@pytest.mark.parametrize("simulator", ["icarus"], indirect=True)
def test_an_offered_token_stays_offered_but_at_an_arbiter_another_may_take_its_place(simulator, capsys):
    """In a network with one bank, requests overtake one that waits."""
    settings = [*THRIFTY, "--set=fibercache.banks=1", "--set=pe.radix=2"]
    assert loop(simulator, *settings, block="crossbar") == 0
    text = Path("build/loop/crossbar.v").read_text()
    mine = ["--verilog=mine.v", "--output=own"]
    Path("mine.v").write_text(text)
    assert loop(simulator, *settings, *mine, block="crossbar") == 0
    assert capsys.readouterr().out.count("identical in all ") == 2
    old = "assign outputs_0_valid = "
    assert text.count(old) == 1
    Path("mine.v").write_text(text.replace(old, REFUSED))
    assert loop(simulator, *settings, *mine, block="crossbar") == 3
    falls = "outputs_0_valid falls before the token is taken"
    at = rf"gamma.network.pe_requests: in cycle \d+, outputs\[0\]: {falls}"
    assert re.search(f"\nPROTOCOL VIOLATION: {at}\nidentical in all ", capsys.readouterr().out)


def test_parts_of_ones_own_run_in_the_process_of_the_simulator(simulator, here, printed):
    slow = (ROOT / "examples" / "own_component" / "slow_merger.py").read_text(encoding="utf-8")
    Path("mine.py").write_text(
        f"{slow}\n\nfrom fiberscope.hw.memory.replacement import ReplacementPolicy\n\n\n"
        "class First(ReplacementPolicy):\n    def victim(self, lines):\n        return lines[0]\n"
    )
    words = ["rtl", "loop", "scheduler", "gamma", MATRIX, *SMALL, *THRIFTY]
    cycles = []
    parts = ["--part", "merger=mine.py:SlowMerger", "--part", "bank=mine.py:First"]
    for more in (["--sim", "pyrtl"], ["--sim", simulator, *parts]):
        out = printed(*words, *more)
        assert "identical in all" in out
        cycles.append(int(out.partition("cycles with RTL")[2].split()[0].replace(",", "")))
    assert cycles[0] != cycles[1]
