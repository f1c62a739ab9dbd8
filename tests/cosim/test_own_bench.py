"""A user's own cocotb bench, on the event model of a block, on its RTL, and on both."""

import json
import re
from functools import partial
from pathlib import Path

import pytest

from fiberscope import cli
from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.registered import registered
from fiberscope.hw.rtl.tools.ports import check_ports
from fiberscope.rtl import user_bench

BENCH = Path(__file__).parents[2] / "examples" / "merger_bench.py"


def bench(*options, folder, block="merger", settings=("radix=4",), file=BENCH):
    given = [f"--set={setting}" for setting in settings]
    return cli.run(["rtl", "bench", str(file), "--block", block, *given, "-o", str(folder), *options])


def test_model_and_rtl_are_the_same_in_every_cycle(simulator, tmp_path, capsys):
    assert bench("--dut", "both", "--sim", simulator, folder=tmp_path) == 0
    out = capsys.readouterr().out.splitlines()
    assert out == [
        "1 tests of merger_bench.py passed on model and rtl of merger",
        "197 tokens moved, the same in every cycle",
    ]


def test_planted_rtl_of_other_timing_is_told_by_its_first_token(simulator, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(user_bench, "registered", partial(registered, capacity=3))
    assert bench("--dut", "both", "--sim", simulator, folder=tmp_path) == 3
    told = capsys.readouterr().out.splitlines()[1]
    assert told.startswith("DIFFERENT in fibers_leave_in_order, token ")
    assert re.search(r" in cycle \d+ of the model, .* in cycle \d+ of the RTL$", told)


NETWORK = Path(__file__).parent / "support" / "network_bench.py"
ADDERS = {"block": "adder_network", "settings": ("leaves=8",), "file": NETWORK}


@pytest.mark.slow
def test_lanes_that_a_mask_leaves_out_are_not_compared(simulator, tmp_path, capsys):
    assert bench("--dut", "both", "--sim", simulator, folder=tmp_path, **ADDERS) == 0
    assert capsys.readouterr().out.splitlines()[1] == "24 tokens moved, the same in every cycle"


def told(*lanes, cycle=4, port="sums"):
    """How a transfer of these lanes differs from one of three."""
    of_model = [5, "sums", [{"value": 1}, None, {"value": 3}]]
    of_rtl = [cycle, port, list(lanes)]
    outcome = user_bench.BenchResult(1, {"model": {"test": [of_model]}, "rtl": {"test": [of_rtl]}})
    return list(outcome.differences())


def test_a_difference_is_told_by_the_lanes_that_differ():
    assert told({"value": 1}, None, {"value": 3}, cycle=5) == []
    assert told({"value": 1}, {"value": 2}, {"value": 4}, cycle=5) == [
        "test, token 0: lane 1 empty; lane 2 value=3 at sums in cycle 5 of the model, "
        "lane 1 value=2; lane 2 value=4 at sums in cycle 5 of the RTL"
    ]
    assert told({"value": 7}, port="others") == [
        "test, token 0: lane 0 value=1; lane 2 value=3 at sums in cycle 5 of the model, "
        "value=7 at others in cycle 4 of the RTL"
    ]
    assert told({"value": 1}, None, {"value": 3}) == [
        "test, token 0: lane 0 value=1; lane 1 empty; lane 2 value=3 at sums in cycle 5 of the model, "
        "lane 0 value=1; lane 1 empty; lane 2 value=3 at sums in cycle 4 of the RTL"
    ]


def test_of_many_lanes_that_differ_four_are_told():
    one, other = ([[0, "sums", [{"value": number}] * 128]] for number in (1, 2))
    (line,) = user_bench.BenchResult(1, {"model": {"test": one}, "rtl": {"test": other}}).differences()
    assert line.count("lane ") == 8
    assert line.count("; 124 more lanes at sums in cycle 0") == 2


def test_a_bench_that_fails_on_the_model_fails(simulator, tmp_path, capsys):
    spoilt = tmp_path / "my [odd] benches" / "spoilt_bench.py"
    spoilt.parent.mkdir()
    spoilt.write_text(BENCH.read_text().replace("sorted(chain", "list(chain"))
    assert bench("--dut", "model", "--sim", simulator, folder=tmp_path / "out", file=spoilt) == 3
    err = capsys.readouterr().err
    assert "1 of 1 tests" in err
    assert "AssertionError: assert [[" in err  # the values, not the source alone


MEMORY = BENCH.with_name("memory_bench.py")
MACHINE = {"block": "gamma", "settings": ("pe.count=2", "pe.radix=4", "memory.channels=2")}
WORK = ["--dut", "gamma", "--matrix", "uniform:rows=20,cols=20,nonzeros=60"]


def test_a_bench_serves_the_memory_of_a_whole_machine(simulator, tmp_path, capsys):
    assert bench(*WORK, "--sim", simulator, folder=tmp_path, file=MEMORY, **MACHINE) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "1 tests of memory_bench.py passed on gamma of gamma"
    tokens = int(second.split()[0])
    (transcript,) = json.loads((tmp_path / "gamma" / "transcript.json").read_text()).values()
    reads = [lane for _cycle, port, (lane,) in transcript if "requests" in port and lane["control"] == 0]
    replies = [lane for _cycle, port, (lane,) in transcript if "replies" in port]
    assert len(transcript) == tokens > 50
    assert sorted(map(str, reads)) == sorted(map(str, replies))


@pytest.mark.slow
def test_planted_a_memory_that_loses_a_reply_leaves_the_machine_waiting(simulator, tmp_path, capsys):
    text = (
        MEMORY.read_text().replace("50_000", "2_000").replace("== READ:", "== READ and self.requests != 7:")
    )
    (tmp_path / "lossy_bench.py").write_text(text)
    file = tmp_path / "lossy_bench.py"
    assert bench(*WORK, "--sim", simulator, folder=tmp_path / "out", file=file, **MACHINE) == 3
    assert "1 of 1 tests" in capsys.readouterr().err


@pytest.mark.parametrize("simulator", ["auto"], indirect=True)
def test_planted_a_bench_that_leaves_before_the_end_is_told(simulator, tmp_path, capsys):
    text = (
        MEMORY.read_text()
        .replace("range(50_000)", "range(20)")
        .replace("assert int(dut.done", "int(dut.done")
    )
    (tmp_path / "hasty_bench.py").write_text(text.replace("    assert all(", "    any("))
    file = tmp_path / "hasty_bench.py"
    assert bench(*WORK, "--sim", simulator, folder=tmp_path / "out", file=file, **MACHINE) == 3
    assert capsys.readouterr().out.splitlines()[-1] == "WRONG: the machine did not come to its end"


@pytest.mark.parametrize(
    ("options", "block", "settings", "file", "said"),
    [
        (["--dut", "gamma"], "gamma", [], MEMORY, "--dut gamma: name the matrix that it runs on"),
        (WORK, "merger", [], MEMORY, "--block merger --dut gamma: a machine is tested as a whole"),
        (
            ["--dut", "model", "--matrix", "x"],
            "merger",
            [],
            BENCH,
            "--matrix x: it is for a machine under test, as in --dut gamma",
        ),
        (
            WORK,
            "gamma",
            ["pe.cuont=2"],
            MEMORY,
            "--set: gamma has no parameter pe.cuont; did you mean pe.count?",
        ),
        (["--dut", "bth"], "merger", ["radix=4"], BENCH, "no device bth to test; did you mean both?"),
        (
            [],
            "merger",
            ["radix=4"],
            Path("none.py"),
            "none.py: no such bench; give a Python file of cocotb tests",
        ),
        ([], "merge_tree", [], BENCH, "merge_tree is composed of several components: only DUT=rtl runs it"),
        ([], "merger", ["radix=1"], BENCH, "merger: radix must be from 2 to "),
    ],
)
def test_what_cannot_be_run_is_one_line(options, block, settings, file, said, tmp_path, capsys):
    assert bench(*options, folder=tmp_path, block=block, settings=settings, file=file) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"fiberscope: {said}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", BLOCKS)
def test_every_block_has_a_shell_with_the_ports_of_its_rtl(name, simulator, tmp_path, capsys):
    from fiberscope.hw.rtl.tools.hdl import find

    assert cli.run(["rtl", "shell", name, "-o", str(tmp_path)]) == 0
    interface = registered(BLOCKS[name], inputs=True).interface(BLOCKS[name].parameters())
    found = find(simulator).ports([tmp_path / f"{name}.v"], interface.module, tmp_path)
    check_ports(interface, found)
