"""Coverage of ports: events at each stream of a module, by kind, as a table and as JSON."""

import json
import re
from pathlib import Path

import pytest

from fiberscope import cli

pytest.importorskip("pyrtl", reason="the extra rtl is not installed")

LOOP = ["rtl", "loop", "merger", "gamma", "uniform:rows=12,cols=12,nonzeros=40", "--sim=pyrtl"]
SETTINGS = ["--set=pe.count=2", "--set=pe.radix=4"]


def test_a_loop_writes_the_events_at_the_ports_of_its_module(here: Path, printed) -> None:
    out = printed(*LOOP, *SETTINGS, "--coverage=bins.json")
    (merger,) = json.loads(Path("bins.json").read_text()).values()
    ports, counters = merger["ports"], merger["counters"]
    assert ports["merged"]["control=1"] == ports["tasks"]["tokens"] == counters["merges"]
    assert ports["merged"]["control=0"] == counters["merged_elements"]
    assert ports["merged"]["tokens"] == ports["merged"]["control=0"] + ports["merged"]["control=1"]
    assert 0 < ports["merged"]["back to back"] < ports["merged"]["tokens"]
    empty = [f"{port} {kind}" for port, kinds in ports.items() for kind in kinds if not kinds[kind]]
    assert merger["empty"] == [*empty, *(f"counter {name}" for name, count in counters.items() if not count)]
    bins = sum(map(len, ports.values())) + len(counters)
    assert f"\ncoverage of gamma.pe00.merger: {bins - len(merger['empty'])} of {bins} bins\n" in out
    ways = sum(kinds["tokens"] for port, kinds in ports.items() if port.startswith("ways["))
    assert re.search(rf"^  ways \(4\) +{ways} ", out, re.MULTILINE)
    table = out.partition("coverage of ")[2].splitlines()
    assert max(map(len, table)) <= 80


def test_events_do_not_depend_on_sleep_and_a_hyphen_prints_only(
    here: Path, capsys: pytest.CaptureFixture[str], printed
) -> None:
    tables = []
    for option in ([], ["--lock-step"]):
        assert cli.run([*LOOP, *SETTINGS, "--coverage=-", *option]) == 0
        tables.append(capsys.readouterr().out.partition("coverage of ")[2])
    assert tables[0] == tables[1] != ""
    assert not list(here.glob("*.json"))
    assert "coverage of" not in printed(*LOOP, *SETTINGS)
