"""An accelerator with PyRTL's simulation of a block in it: the report is that of the accelerator itself."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from vcd_reader import read_vcd

from fiberscope import accelerators, cli

pytest.importorskip("pyrtl", reason="the extra rtl is not installed")

CYCLE = 1_000_000  # fs
MATRIX = "uniform:rows=40,cols=40,nonzeros=300"
SMALLER = "uniform:rows=16,cols=16,nonzeros=60"
SHORT = [
    "--set=fibercache.size=256",
    "--set=fibercache.banks=2",
    "--set=fibercache.ways=1",
    "--set=fibercache.misses=1",
    "--set=pe.task_queue=1",
]
THRIFTY = [  # so few lines that partial fibers are evicted
    "--set=fibercache.size=2KiB",
    "--set=fibercache.banks=2",
    "--set=fibercache.ways=4",
    "--set=scheduler.output=cache",
    "--set=pe.radix=2",
]
CASES = [
    ("merger", ["--set=pe.radix=8"]),
    ("merger", ["--set=pe.radix=3", *SHORT]),
    ("merger", ["--set=pe.radix=5", "--at=gamma.pe02.merger", "--set=pe.buffer_lines=1"]),
    ("merger", ["--set=pe.radix=4", "uniform:rows=40,cols=10,nonzeros=80"]),
    ("bank", []),
    ("bank", THRIFTY),
    (
        "bank",
        ["--set=pe.radix=3", *SHORT, "--at=gamma.fibercache.bank01", "uniform:rows=40,cols=10,nonzeros=80"],
    ),
    (
        "bank",
        [
            "--set=fibercache.size=576",
            "--set=fibercache.banks=3",
            "--set=fibercache.ways=3",
            "--set=fibercache.line=32",
            "--set=memory.interleave=32",
        ],
    ),
    pytest.param("bank,merger", THRIFTY, marks=pytest.mark.slow),
    ("crossbar", [*THRIFTY, "--set=fibercache.banks=1"]),
    ("crossbar", ["--at=gamma.network.pe_replies", "--set=fibercache.banks=3", "--set=fibercache.size=9KiB"]),
    pytest.param(
        "crossbar",
        ["--at=gamma.network.memory_requests", "--set=memory.channels=3", "--set=pe.radix=4"],
        marks=pytest.mark.slow,
    ),
    ("scheduler", ["--set=pe.radix=3", "--set=scheduler.stream_lines=16"]),
    ("page_allocator", ["--set=scheduler.output_page=64", "--set=pe.radix=4"]),
]
PARTS = "accumulator, bank, crossbar, merger, page_allocator, pe, scheduler"  # of Gamma, as RTL
FIRST = {
    "crossbar": "gamma.network.pe_requests",
    "page_allocator": "gamma.pages",
    "scheduler": "gamma.scheduler",
    "merger": "gamma.pe00.merger",
    "bank": "gamma.fibercache.bank",
    "bank,merger": "gamma.fibercache.bank00, gamma.pe00.merger",
}


pytestmark = pytest.mark.usefixtures("here")


def said(
    capsys: pytest.CaptureFixture[str], *arguments: str, block: str = "merger", matrix: str = MATRIX
) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a loop on three processing elements."""
    code = cli.run(["rtl", "loop", block, "gamma", matrix, "--set=pe.count=3", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize(("block", "arguments"), CASES)
def test_the_report_is_the_same_in_every_entry(
    block: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = said(capsys, "--sim=pyrtl", *arguments, block=block)
    assert (code, err) == (0, "")
    title, component, rtl, *exercised, verdict = out.splitlines()
    assert any(line.startswith("exercised at ") for line in exercised)
    at = next((word.removeprefix("--at=") for word in arguments if "--at" in word), FIRST[block])
    assert f"RTL in pyrtl at {at}" in title
    assert component.split()[-1] == rtl.split()[-1]
    assert int(rtl.split()[-1].replace(",", "")) > 500
    assert verdict.startswith("identical in all ")


def test_all_of_several_kinds_are_replaced_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    settings = ("--set=pe.radix=4", "--set=memory.channels=2", "--set=scheduler.stream_lines=16")
    blocks = "scheduler,merger,crossbar"
    code, out, _err = said(capsys, "--sim=pyrtl", "--at=all", *settings, block=blocks, matrix=SMALLER)
    title, *_others, verdict = out.splitlines()
    networks = [f"{users}_{way}" for users in ("pe", "memory") for way in ("requests", "replies")]
    names = ["scheduler", *(f"pe{i:02}.merger" for i in range(3)), *(f"network.{name}" for name in networks)]
    assert title.endswith(f"RTL in pyrtl at {', '.join(f'gamma.{name}' for name in names)}")
    assert (code, verdict.startswith("identical in all ")) == (0, True)


ENTRIES = sorted((row, (row * step + step) % 12) for row in range(12) for step in (1, 5, 7))
INTEGERS = f"%%MatrixMarket matrix coordinate integer general\n12 12 {len(ENTRIES)}\n" + "".join(
    f"{row + 1} {column + 1} {row + column + 1}\n" for row, column in ENTRIES
)


SMALL = {"gamma": ["--set=pe.count=2", "--set=pe.radix=4"], "outerspace": []}


@pytest.mark.parametrize(
    ("machine", "block"),
    [
        ("gamma", "merger"),
        ("gamma", "bank"),
        ("gamma", "accumulator"),
        pytest.param("outerspace", "bank", marks=pytest.mark.slow),
    ],
)
def test_planted_where_any_part_goes_wrong_is_told(
    machine: str, block: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every token leaves with another lowest bit in its last field."""
    from fiberscope.hw.rtl.kit import twin

    send = twin.OutputStream.send

    def spoilt(self: Any, valid: Any, fields: Any) -> None:
        last = list(self.widths)[-1]
        send(self, valid, {**fields, last: (fields[last] ^ 1)[: len(fields[last])]})

    monkeypatch.setattr(twin.OutputStream, "send", spoilt)
    Path("integers.mtx").write_text(INTEGERS)
    order = [
        "rtl",
        "loop",
        block,
        machine,
        "integers.mtx",
        "--sim=pyrtl",
        "--vcd=loop.vcd",
        "--set=clock=1GHz",
    ]
    assert cli.run([*order, *SMALL[machine]]) == 3
    out, err = capsys.readouterr()
    part = rf"{machine}[.\w]*{block}\d*"
    (told,) = re.findall(
        rf"{part}: in cycle (\d+), (\S+) is (.*) of the component, (.*) of the RTL", out + err
    )
    cycle, _port, component, rtl = told
    assert component != rtl
    assert component.split()[:-1] == rtl.split()[:-1]
    assert "Waveform: loop.vcd (open it: fiberscope wave loop.vcd)" in out.splitlines()
    shown = read_vcd(Path("loop.vcd"))
    (differs,) = (signal for name, signal in shown.signals.items() if "differs" in name)
    assert [value for _time, value in differs.changes] == [0, 1]
    unit = {"1 ns": 1, "1 fs": CYCLE}[shown.header["timescale"]]
    assert differs.changes[1][0] == int(cycle) * unit


@pytest.mark.parametrize("machine", accelerators.names())
def test_a_part_that_no_module_can_take_the_place_of_is_refused(
    machine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another part of the same name, one that shares its memory, or one with no RTL at all."""
    from fiberscope.hw.rtl.catalogue import BLOCKS

    taken = {
        "extensor": {"intersector"},
        "gamma": {"merger", "bank", "accumulator", "page_allocator", "scheduler"},
        "graphicionado": {"concentrator"},
        "outerspace": {"bank", "bump_allocator", "concentrator", "node_writer", "sorted_head"},
        "sigma": {"adder_network", "benes", "prefix_popcount", "regor"},
    }
    for block in sorted(BLOCKS.keys() - taken.get(machine, set()) - {"crossbar"}):
        operand = (
            "rmat:scale=4,nonzeros=30" if machine == "graphicionado" else "uniform:rows=9,cols=9,nonzeros=9"
        )
        assert cli.run(["rtl", "loop", block, machine, operand, "--sim=pyrtl"]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)


def test_a_part_whose_memory_others_share_is_refused(refusal) -> None:
    order = ["rtl", "loop", "atomic_update", "graphicionado", "rmat:scale=4,nonzeros=30", "--sim=pyrtl"]
    error = refusal(*order, "--set=problem.algorithm=pagerank")
    assert "others read and write its properties in memory, which a module cannot share" in error


def test_what_no_token_came_to_is_warned_of(printed) -> None:
    """Of one merging task of two fibers, the ways beyond, and the other elements, have nothing to do."""
    Path("two.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n1 2 1\n2 2 1\n")
    order = [
        "rtl",
        "loop",
        "merger",
        "gamma",
        "two.mtx",
        "--set=pe.count=3",
        "--sim=pyrtl",
        "--set=pe.radix=8",
    ]
    lines = [
        line
        for line in printed(*order, "--at=pe02.merger", "--at=gamma.pe00.merger").splitlines()
        if "xercised" in line.lower()
    ]
    assert lines[0].startswith("exercised at gamma.pe00.merger: ")
    assert "no token at ways (6 of 8); " in lines[1]
    assert lines[1].endswith("no stall at tasks, ways (6 of 8), merged")
    assert "exercised at gamma.pe02.merger: 0 tokens, 0 stalls, busy in 0 of " in lines[2]
    assert lines[3].startswith(
        "NOT exercised at gamma.pe02.merger: no token at tasks, ways (8 of 8), merged; "
    )
    assert lines[3].endswith("counters at 0: merges, merged_elements")


def test_planted_rtl_that_breaks_ties_backwards_is_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fiberscope.hw.rtl.kit import smallest

    smaller = smallest._smaller
    monkeypatch.setattr(smallest, "_smaller", lambda left, right, name: smaller(right, left, name))
    code, out, _err = said(capsys, "--sim=pyrtl", "--set=pe.radix=8")
    assert code == 3
    assert "DIFFERENT in " in out
    assert " with the component, " in out


def test_planted_rtl_that_loses_write_backs_is_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyrtl

    from fiberscope.hw.memory.tags_rtl import Tags

    update = Tags.update

    def clean(tags: Tags, changes: Any, *others: Any) -> None:
        update(tags, replace(changes, write=pyrtl.Const(0, 1)), *others)

    monkeypatch.setattr(Tags, "update", clean)
    code, out, err = said(capsys, "--sim=pyrtl", *THRIFTY, block="bank")
    assert code == 3
    assert "traffic.partial.write_bytes: " in out or "deadlock" in err


def test_planted_rtl_that_stands_still_is_a_failed_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fiberscope.hw.rtl.kit import twin

    send = twin.OutputStream.send
    monkeypatch.setattr(twin.OutputStream, "send", lambda self, valid, fields: send(self, valid & 0, fields))
    code, _out, err = said(capsys, "--sim=pyrtl", "--set=pe.radix=8")
    assert code == 3
    assert "with RTL at gamma.pe00.merger: deadlock" in err


def test_planted_rtl_that_never_ends_is_stopped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fiberscope.hw.rtl.kit import twin

    accept = twin.InputStream.accept
    monkeypatch.setattr(twin.InputStream, "accept", lambda self, ready: accept(self, ready & 0))
    code, out, _err = said(capsys, "--sim=pyrtl", "--set=pe.radix=8")
    assert code == 3
    assert "  complete: True with the component, False with RTL" in out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["--sim=pyrtl", "--at=gamma.pe09.merger"],
            "gamma has no merger named gamma.pe09.merger; did you mean gamma.pe02.merger",
        ),
        (
            ["--sim=pyrtl", "--set=pe.radix=100"],
            "merger: radix must be from 2 to 64, not 100; set the accelerator so that",
        ),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"fiberscope: {line}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        ("network.virtual_output_queues=3", "a module has no virtual_output_queues, not 3"),
        ("pe.count=43", "inputs must be from 1 to 128, not 129"),
    ],
)
def test_a_network_that_no_module_is_made_for_is_refused(
    setting: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _out, err = said(capsys, "--sim=pyrtl", f"--set={setting}", block="crossbar")
    suits = "set the accelerator so that it suits the RTL"
    assert (code, err) == (2, f"fiberscope: crossbar: {line}; {suits}\n")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--sim=vcs"], "no simulator vcs; known: auto, icarus, pyrtl, verilator"),
        (["--sim=pyrtl", "--verilog=mine.v"], "PyRTL runs the twin only; Verilog of your own needs --sim"),
        (["--sim=pyrtl", "--module=mine"], "--module mine: name its file by --verilog"),
        (["--verilog=none.v"], "none.v: no such Verilog file"),
    ],
)
def test_what_cannot_be_run_with_rtl_is_not_run_without(
    arguments: list[str], line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fiberscope.hw.rtl.tools.icarus import Icarus
    from fiberscope.rtl import cosimulation

    monkeypatch.setattr(
        cosimulation, "simulate_request", lambda *_, **__: pytest.fail("simulated all the same")
    )
    monkeypatch.setattr(Icarus, "require", lambda _self: None)
    code, _out, err = said(capsys, *arguments)
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith(f"fiberscope: {line}")


def test_verilog_of_ones_own_is_for_one_block(capsys: pytest.CaptureFixture[str]) -> None:
    code, _out, err = said(capsys, "--verilog=mine.v", block="merger,bank")
    assert (code, err) == (2, "fiberscope: --verilog is for one block, not for merger and bank\n")


def test_a_block_that_is_no_part_is_refused(toy: str, refusal) -> None:
    error = refusal("rtl", "loop", "merger", toy, MATRIX)
    assert "toy has no part merger to replace; none of its parts exists as RTL" in error


def test_only_parts_that_exist_as_rtl_are_offered(capsys: pytest.CaptureFixture[str]) -> None:
    code, _out, err = said(capsys, block="islip")
    assert (code, err) == (2, f"fiberscope: gamma has no part islip to replace; known: {PARTS}\n")


def test_every_block_that_cannot_be_replaced_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    code, _out, err = said(capsys, block="mergr,merger,islip")
    assert (code, err.count("\n")) == (2, 1)
    assert "gamma has no part mergr to replace; did you mean merger?; gamma has no part islip to" in err


@pytest.mark.parametrize(
    ("command", "machine"), [(["loop", "machine"], True), (["loop", "all"], False), (["export"], True)]
)
def test_all_settings_that_no_module_suits_are_refused_at_once(
    command: list[str], machine: bool, monkeypatch: pytest.MonkeyPatch, refusal
) -> None:
    """Of each part, and of several parameters of a part; no tool has been looked for."""
    monkeypatch.setenv("PATH", "")
    settings = ["--set=pe.count=20", "--set=pe.row_reads=3", "--set=scheduler.output=cache"]
    err = refusal("rtl", *command, "gamma", MATRIX, *settings)
    reasons = [
        "scheduler: elements must be from 1 to 8, not 20",
        "pe: no module reads fibers as they lie in memory; set format.element=8",
        "pe: row_reads must be 2, 4, 8, 16 or 32, not 3",
        "machine: nobody reads Z in the FiberCache; set scheduler.output=memory",
    ]
    assert [err.count(reason) for reason in reasons] == [1, 1, 1, int(machine)]
