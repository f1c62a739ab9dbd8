"""An accelerator with PyRTL's simulation of a block in it: the report is that of the accelerator itself."""

from pathlib import Path

import pytest

from fiberscope import cli

pytest.importorskip("pyrtl", reason="the extra rtl is not installed")

MATRIX = "uniform:rows=40,cols=40,nonzeros=300"
SHORT = [
    "--set=fibercache.size=256",
    "--set=fibercache.banks=2",
    "--set=fibercache.ways=1",
    "--set=fibercache.misses=1",
    "--set=pe.task_queue=1",
]
CASES = [
    ["--set=pe.radix=8"],
    ["--set=pe.radix=3", *SHORT],
    ["--set=pe.radix=5", "--at=gamma.pe2.merger", "--set=pe.buffer_lines=1"],
    ["--set=pe.radix=4", "--b=uniform:rows=40,cols=10,nonzeros=80"],
]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a loop on three processing elements."""
    code = cli.run(["rtl", "loop", "merger", "gamma", MATRIX, "--set=pe.count=3", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize("arguments", CASES)
def test_the_report_is_the_same_in_every_entry(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = said(capsys, "--sim=pyrtl", *arguments)
    assert (code, err) == (0, "")
    title, component, rtl, verdict = out.splitlines()
    at = next((word.removeprefix("--at=") for word in arguments if "--at" in word), "gamma.pe0.merger")
    assert title.endswith(f"RTL in pyrtl at {at}")
    assert component.split()[-1] == rtl.split()[-1]
    assert int(rtl.split()[-1].replace(",", "")) > 500
    assert verdict.startswith("identical in all ")


def test_planted_rtl_that_breaks_ties_backwards_is_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from hw.rtl import merger

    smaller = merger._smaller
    monkeypatch.setattr(merger, "_smaller", lambda left, right, name: smaller(right, left, name))
    code, out, _err = said(capsys, "--sim=pyrtl", "--set=pe.radix=8")
    assert code == 3
    assert "DIFFERENT in " in out
    assert " with the component, " in out


def test_planted_rtl_that_stands_still_is_a_failed_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from hw.rtl import twin

    send = twin.OutputStream.send
    monkeypatch.setattr(twin.OutputStream, "send", lambda self, valid, fields: send(self, valid & 0, fields))
    code, _out, err = said(capsys, "--sim=pyrtl", "--set=pe.radix=8")
    assert code == 3
    assert "with RTL at gamma.pe0.merger: deadlock" in err


def test_planted_rtl_that_never_ends_is_stopped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from hw.rtl import twin

    accept = twin.InputStream.accept
    monkeypatch.setattr(twin.InputStream, "accept", lambda self, ready: accept(self, ready & 0))
    code, out, _err = said(capsys, "--sim=pyrtl", "--set=pe.radix=8")
    assert code == 3
    assert "  complete: True with the component, False with RTL" in out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["--at=gamma.pe9.merger"],
            "gamma has no merger named gamma.pe9.merger; did you mean gamma.pe2.merger",
        ),
        (["--sim=vcs"], "no HDL simulator vcs; known: icarus, verilator"),
        (["--set=pe.radix=100"], "merger: radix must be from 2 to 64, not 100; set the accelerator so that"),
        (
            ["--sim=pyrtl", "--verilog=mine.v"],
            "PyRTL runs the twin only; Verilog of your own needs --sim icarus or verilator",
        ),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"fiberscope: {line}")
    assert err.count("\n") == 1


def test_a_block_that_is_no_part_is_refused(toy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["rtl", "loop", "merger", toy, MATRIX]) == 2
    assert "toy has no part merger to replace" in capsys.readouterr().err
