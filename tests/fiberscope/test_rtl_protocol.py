"""A module that breaks the protocol of its ports is wrong, though every token is that of the component."""

import re
from pathlib import Path

import pytest

from fiberscope import cli

pytest.importorskip("pyrtl", reason="the extra rtl is not installed")

MATRIX = "uniform:rows=16,cols=16,nonzeros=60"
SETTINGS = [  # requests wait for the only bank
    "--set=pe.count=3",
    "--set=pe.radix=2",
    "--set=fibercache.banks=1",
    "--set=fibercache.size=2KiB",
    "--set=fibercache.ways=4",
    "--set=scheduler.output=cache",
]


def test_planted_an_output_that_changes_its_offer_is_named(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An arbiter may do so; here the port counts as none of an arbiter."""
    from fiberscope.hw.networks.crossbar_rtl import CrossbarAdapter

    monkeypatch.setattr(CrossbarAdapter, "ARBITERS", ())
    assert cli.run(["rtl", "loop", "crossbar", "gamma", MATRIX, *SETTINGS, "--sim=pyrtl"]) == 3
    out, err = capsys.readouterr()
    at = r"gamma.network.pe_requests: in cycle \d+, outputs\[0\]: outputs_0_\w+ changes from \d+ to \d+"
    assert re.search(rf"^PROTOCOL VIOLATION: {at} before the token is taken$", out, re.MULTILINE)
    assert "\nidentical in all " in out
    assert err == ""
