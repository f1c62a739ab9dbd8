"""Waveforms of an accelerator with RTL in it: the machine as ever, the RTL's wires, where they differ."""

import re
from pathlib import Path

import pytest
from vcd_reader import read_vcd

from fiberscope import cli

pytest.importorskip("pyrtl", reason="the extra rtl is not installed")

from fiberscope.hw.rtl.kit import waves

MACHINE = ["gamma", "uniform:rows=40,cols=40,nonzeros=300", "--set=pe.count=2", "--set=pe.radix=8"]
MERGER = "gamma.pe00.merger"
CYCLE = 1_000_000  # fs


pytestmark = pytest.mark.usefixtures("here")


def loop(*arguments, blocks="merger"):
    return cli.run(["rtl", "loop", blocks, *MACHINE, "--sim=pyrtl", *arguments])


def signals(path):
    return read_vcd(Path(path)).signals


def machine(path):
    """The signals that the machine has without RTL, but for those of the component that RTL stands for."""
    inside = re.compile(r"\.(rtl|component)\.|\.differs$")
    return {name: signal.changes for name, signal in signals(path).items() if not inside.search(name)}


def plant_ties_backwards(monkeypatch):
    from fiberscope.hw.rtl.kit import smallest

    smaller = smallest._smaller
    monkeypatch.setattr(smallest, "_smaller", lambda left, right, name: smaller(right, left, name))


def test_the_machine_is_shown_as_without_rtl_and_the_wires_beside_it(capsys):
    assert cli.run(["sim", *MACHINE, "-q", "--vcd=plain.vcd", "--vcd-plain"]) == 0
    assert loop("--vcd=loop.vcd", "--vcd-plain") == 0
    assert "identical in all" in capsys.readouterr().out
    shown, without = machine("loop.vcd"), machine("plain.vcd")
    found = signals("loop.vcd")
    own = {name for name in without if name not in shown}
    assert {name.replace(MERGER, f"{MERGER}.component") for name in own} <= found.keys()
    assert {name: changes for name, changes in without.items() if name not in own} == shown
    for name in own:
        beside = found[name.replace(MERGER, f"{MERGER}.component")]
        assert beside.changes == without[name]
    assert [value for _time, value in found[f"{MERGER}.differs"].changes] == [0]
    assert found[f"{MERGER}.rtl.merging"].width == 1
    assert len(found[f"{MERGER}.rtl.merged_value"].changes) > 20
    assert len([name for name in found if ".rtl.node06_level1" in name]) == 6


def test_planted_rtl_is_marked_where_it_first_does_otherwise(monkeypatch, capsys):
    assert cli.run(["sim", *MACHINE, "-q", "--vcd=plain.vcd", "--vcd-plain"]) == 0
    plant_ties_backwards(monkeypatch)
    assert loop("--vcd=loop.vcd", "--vcd-plain") == 3
    (start, low), (time, high) = signals("loop.vcd")[f"{MERGER}.differs"].changes
    assert (start, low, high) == (0, 0, 1)
    shown, without = machine("loop.vcd"), machine("plain.vcd")
    first = min(
        change[0]
        for name, changes in shown.items()
        for change in set(changes) ^ set(without.get(name, changes))
    )
    assert time >= first > 0  # a token leaves another way, and then the merger
    save = Path("loop.gtkw").read_text()
    assert re.search(r"^\*\S+ (\d+)", save, re.MULTILINE)[1] == str(time)


def test_window_scope_and_trigger_are_those_of_any_waveform(capsys):
    assert loop("--vcd=part.vcd", "--vcd-window=200:300", "--vcd-scope=pe00.merger") == 0
    part = read_vcd(Path("part.vcd"))
    assert (part.start, part.end) == (200 * CYCLE, 300 * CYCLE)
    assert all(name.startswith(MERGER) for name in part.signals)
    assert f"{MERGER}.rtl.begins" in part.signals
    assert loop("--vcd=part.vcd", "--vcd-trigger=pe00.merger busy > 30", "--vcd-cycles=20") == 0
    part = read_vcd(Path("part.vcd"))
    assert part.start > 30 * CYCLE
    assert part.end == part.start + 20 * CYCLE


def test_a_bank_is_watched_too(capsys):
    small = [f"--set=fibercache.{setting}" for setting in ("size=2KiB", "banks=2", "ways=4")]
    assert loop(*small, "--vcd=bank.vcd", "--vcd-scope=fibercache.bank00", blocks="bank") == 0
    found = signals("bank.vcd")
    assert [value for _time, value in found["gamma.fibercache.bank00.differs"].changes] == [0]
    assert len(found["gamma.fibercache.bank00.rtl.set_index"].changes) > 20


def test_a_wire_wider_than_a_signal_is_several():
    wires = {"tree.sum": 65, "held": 64, "low": 1}
    assert [(s.name, s.width, s.within) for s in waves.signals(wires, "rtl")] == [
        ("sum_63_0", 64, "rtl.tree"),
        ("sum_64_64", 1, "rtl.tree"),
        ("held", 64, "rtl"),
        ("low", 1, "rtl"),
    ]
    assert list(waves.values(wires, [(1 << 64) + 5, (1 << 64) - 2, 1])) == [5, 1, -2, 1]


@pytest.mark.parametrize("option", ["--vcd-window=1:2", "--vcd-scope=pe00", "--vcd-plain"])
def test_an_option_of_a_waveform_without_one_is_one_line(option, capsys):
    assert loop(option) == 2
    name = option.partition("=")[0]
    assert capsys.readouterr().err == f"fiberscope: {name} needs --vcd FILE, the waveform to write\n"


def test_a_scope_that_is_not_there_is_refused(capsys):
    assert loop("--vcd=x.vcd", "--vcd-scope=pe07") == 2
    assert "no component matches the scope pe07" in capsys.readouterr().err


def test_in_lock_step_the_rtl_runs_every_cycle_of_the_machine_once(monkeypatch, capsys):
    from fiberscope.hw.rtl.kit.backend import PyrtlBackend

    calls, cycle = [], PyrtlBackend.cycle
    monkeypatch.setattr(PyrtlBackend, "cycle", lambda self: calls.append(1) or cycle(self))
    assert loop("--lock-step") == 0
    out = capsys.readouterr().out
    assert "identical in all" in out
    assert len(calls) == int(re.search(r"with RTL +([\d,]+)", out)[1].replace(",", ""))
