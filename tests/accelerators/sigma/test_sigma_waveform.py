"""The stall that the page of SIGMA reads off is in the waveform, cycle by cycle."""

import re
import shlex
from pathlib import Path

import pytest
from vcd_reader import read_vcd

import fiberscope
from fiberscope import cli

PAGE = Path(__file__).parents[3] / "docs" / "sigma.md"
UNITS_A_CYCLE = 2  # of the file, ns


@pytest.fixture(scope="module")
def signals(tmp_path_factory):
    (command,) = re.findall(
        r"^fiberscope (sim .*--vcd fold.vcd)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("fold"))
        assert cli.run([*shlex.split(command), "--vcd-plain", "-q"]) == 0
        return read_vcd(Path("fold.vcd")).signals


def changes(signals, name, most=4):
    """The first changes of a signal: cycle and value."""
    return [(time // UNITS_A_CYCLE, value) for time, value in signals[f"sigma.{name}"].changes[:most]]


def test_the_stall_is_as_the_page_says(signals):
    assert changes(signals, "distributor.lines_loaded", 6)[1:] == [(1, 1), (2, 2), (3, 3), (4, 4), (25, 5)]
    assert changes(signals, "dpe00.state")[1:] == [(2, "busy"), (3, "wait:columns"), (6, "busy")]
    assert changes(signals, "distributor.columns_sent", 7)[1:] == [
        (cycle, cycle - 4) for cycle in range(5, 11)
    ]
    assert changes(signals, "distributor.state", 5)[2:] == [
        (11, "full:columns"),
        (25, "busy"),
        (35, "full:columns"),
    ]
    assert changes(signals, "distributor.flushes", 2)[1] == (11, 1)
    assert changes(signals, "dpe00.neurons", 2)[1] == (6, 3)
    assert changes(signals, "dpe00.add", 3)[1:] == [(6, 29), (7, 58)]
    assert changes(signals, "accumulators.sums_taken", 3)[1:] == [(20, 13), (21, 26)]
    assert changes(signals, "accumulators.state")[1:3] == [(20, "busy"), (26, "wait:sums")]


def test_a_waveform_shows_every_column_and_changes_nothing(tmp_path):
    text = "gemm:m=60,n=40,k=128,a=0.4,b=0.9"
    make = {"dpe.count": 4, "dpe.multipliers": 16, "slice.k": 16, "memory.model": "none"}
    plain = fiberscope.simulate("sigma", text, settings=make)
    recorded = fiberscope.simulate("sigma", text, settings=make, waveform=tmp_path / "all.vcd")
    assert recorded.components == plain.components
    columns = read_vcd(tmp_path / "all.vcd").signals["sigma.distributor.columns_sent"].changes
    sent = plain.components["sigma.distributor"].counters["columns_sent"]
    assert len(columns) == sent + 1
    assert recorded.host.ticks_per_second > 0
