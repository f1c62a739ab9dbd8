"""FST files: what is in them, by GTKWave's own reader, and what happens when the converter fails."""

import re
import subprocess

import pytest
from optional_programs import needs
from watched import trace, watched

from fiberscope.sim import SimulationError, fst
from fiberscope.sim.trace import write_vcd


def write_fst(path, **options):
    kernel = watched()
    with write_vcd(kernel, path, colours=False, **options):
        kernel.run()


@needs("fst2vcd", "vcd2fst")
def test_an_fst_holds_what_the_vcd_does(tmp_path):
    write_fst(tmp_path / "run.fst")
    assert {path.name for path in tmp_path.iterdir()} == {"run.fst", "run.gtkw", "run.enum", "run.sucl"}
    assert '[dumpfile] "run.fst"' in (tmp_path / "run.gtkw").read_text()
    plain = trace(tmp_path / "run.vcd")
    back = subprocess.run(
        ["fst2vcd", tmp_path / "run.fst"], capture_output=True, text=True, check=True
    ).stdout
    values = {}
    for line in back.splitlines():
        if line[:1] in ("s", "b", "0", "1"):
            values.setdefault(line.split()[-1] if " " in line else line[1:], []).append(line.split()[0])
    assert sorted(map(len, values.values())) == sorted(
        len(signal.changes) for signal in plain.signals.values()
    )
    regs = re.findall(r"^\$var reg 16 (\S+) ", back, re.MULTILINE)
    texts = [signal for signal in plain.signals.values() if signal.type == "reg"]
    assert sum(int(value[1:], 2) == 0 for code in regs for value in values[code]) == sum(
        value == texts[0].texts[0] for signal in texts for _time, value in signal.changes
    )


def test_without_the_converter_it_is_said_before_the_run(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        SimulationError, match=r"run\.fst needs vcd2fst, which comes with GTKWave .*run\.vcd$"
    ):
        write_fst(tmp_path / "run.fst")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("script", "reason"), [("echo no space >&2; exit 1", "no space"), ("exit 0", "no reason")]
)
def test_a_converter_that_fails_leaves_no_file(tmp_path, monkeypatch, script, reason):
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / fst.CONVERTER).write_text(f"#!/bin/sh\n{script}\n")
    (programs / fst.CONVERTER).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    with pytest.raises(OSError, match=rf"vcd2fst failed: {reason}"):
        write_fst(tmp_path / "run.fst")
    assert [path.name for path in tmp_path.iterdir()] == ["bin"]
