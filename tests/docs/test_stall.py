"""The stall that the tour shows and the page of waveforms reads off is in the waveform, cycle by cycle."""

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest
from vcd_reader import read_vcd

from fiberscope import cli

DOCS = Path(__file__).parents[2] / "docs"
NANOSECOND = 10**6  # in femtoseconds, the unit of the file; a cycle at 1 GHz


@pytest.fixture(scope="module")
def element(tmp_path_factory):
    """The signals of the processing element that the tour's command records, by name without its scope."""
    (command,) = re.findall(r"^fiberscope (sim .*--vcd stall.vcd.*)$", text("tour.md"), re.MULTILINE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("stall"))
        assert cli.run([*shlex.split(command), "--vcd-plain", "-q"]) == 0
        return {name.split(".", 2)[2]: signal for name, signal in read_vcd(Path("stall.vcd")).signals.items()}


def text(page):
    return (DOCS / page).read_text(encoding="utf-8")


def periods(signal, value):
    """The cycles from which and before which a signal has a value."""
    return [
        (start // NANOSECOND, end // NANOSECOND)
        for (start, held), (end, _) in pairwise(signal.changes)
        if held == value
    ]


def test_the_stall_is_as_the_pages_say(element):
    def at(cycle, name):
        return element[name].at(cycle * NANOSECOND)

    ((start, end),) = periods(element["merger.state"], "wait:ways_02")
    (back,) = (cycle for cycle, _ in periods(element["reader.state"], "busy") if start < cycle < end)
    page = " ".join(text("waveforms.md").split())
    for said in (
        f"works on `task` {at(start, 'merger.task')}",
        f"(`fan_in` {at(start, 'merger.fan_in')})",
        f"(`alive` {at(start, 'merger.alive')})",
        f"is of `way` {at(start, 'merger.way')}, with `coordinate` {at(start, 'merger.coordinate')}",
        f"has coordinate {at(start, 'merger.rival')}, on way {at(start, 'merger.rival_way')}",
        f"stands still for {end - start} cycles, in state `wait:ways_02`",
        f"In cycle {back} the line that way 2 lacks arrives",
        f"`in_flight` falls from {at(start, 'reader.in_flight')} to {at(end, 'reader.in_flight')}",
        f"In cycle {end} the merger continues",
    ):
        assert said in page
    assert (at(start, "merger.fan_in"), at(start, "merger.alive"), at(start, "reader.unasked")) == (4, 4, 1)
    assert at(back - 1, "reader.in_flight") == at(start, "reader.in_flight") == 4
    assert f"`wait:ways_02`, in red, from cycle {start} to {end - 1}" in text("tour.md")


def test_the_marker_stands_where_the_tour_says(element):
    stalls = [
        (start, name.removesuffix(".state"), after)
        for name, signal in element.items()
        if name.endswith(".state")
        for (_, before), (start, after) in pairwise(signal.changes)
        if before == "busy" and after.startswith(("wait:", "full:"))
    ]
    start, name, state = min(stalls)
    page = " ".join(text("tour.md").split())
    assert f"the {name} stalls first: `{state}` in cycle {start // NANOSECOND}" in page


def test_upstream_of_the_stall_is_its_cause_and_downstream_its_effect(element):
    ((start, end),) = periods(element["merger.state"], "wait:ways_02")

    def longest(name, state):
        return max(periods(element[name], state), key=lambda period: period[1] - period[0])

    cause = longest("reader.state", "wait:replies")
    assert cause[0] <= start < cause[1] < end
    for name, state in (("accumulator.state", "wait:products"), ("writer.state", "wait:elements")):
        effect = longest(name, state)
        assert 0 < effect[0] - start < 15
        assert 0 < effect[1] - end < 15
