"""Waveforms: what is in the file, compared with what the simulation had; time, window, scopes, save file."""

import re
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from networks import Node
from vcd_reader import read_vcd
from watched import SMALL, WatchedSource, funnel, trace, watched

from fiberscope.sim import Kernel
from fiberscope.sim.testing import StreamSink, StreamSource, data_tokens
from fiberscope.sim.trace import write_vcd
from fiberscope.sim.vcd_file import choose_timescale

GOLDEN = Path(__file__).parents[1] / "oracles" / "waveforms"
THIRD = (Fraction(10**9), Fraction(1_500_000_000))


def snapshot(kernel):
    """What the waveform must show now, taken from the simulation by other means than the tracer's."""
    shown = {}
    for component in kernel.components:
        states = ["busy", "idle"]
        for label, _channels, direction in kernel.wiring.stalls(component):
            states.append(("wait:" if direction == "input" else "full:") + signal_name(component, label))
        for label, (channel,), direction in kernel.wiring.links(component):
            if direction == "input":
                shown[f"{component.name}.{signal_name(component, label)}"] = channel.pushes - channel.pops
        shown[f"{component.name}.state"] = states[component.state]
        for signal, value in zip(component.signals(), component.sample(), strict=True):
            shown[f"{component.name}.{signal.name}"] = signal.states[value] if signal.states else value
    return shown


def file_time(kernel, base_tick):
    """A base tick in the file's units: ns with a clock of 1 GHz, fs where no unit is exact."""
    return base_tick if kernel.base_hertz == 10**9 else int(base_tick * 10**15 / kernel.base_hertz)


def signal_name(component, label):
    array, _, rest = label.partition("[")
    more_than_ten = len(component.connected[array]) > 10
    return f"{array}_{rest.rstrip(']').zfill(2 if more_than_ten else 1)}" if rest else label


@pytest.mark.parametrize(
    "network",
    [
        SMALL,
        funnel((Node("source", 0, 9), Node("source", 1, 4, stalls=(5, 0))), frequencies=THIRD, hold=3),
        funnel(tuple(Node("source", 0, 3) for _ in range(11)), "join", pauses=(0, 7)),
    ],
    ids=["one clock", "two clocks", "eleven ways"],
)
def test_every_signal_reads_back_as_it_was_in_every_cycle(tmp_path, network):
    kernel = watched(network, sleep=False)
    seen = {}
    with write_vcd(kernel, tmp_path / "run.vcd", colours=False):
        while kernel.step():
            seen[file_time(kernel, kernel.time)] = snapshot(kernel)
    wave = read_vcd(tmp_path / "run.vcd")
    assert len(seen) > 10
    for time, expected in seen.items():
        assert {name: signal.at(time) for name, signal in wave.signals.items()} == expected


def test_the_file_ends_where_the_run_does(tmp_path):
    kernel = watched()
    with write_vcd(kernel, tmp_path / "run.vcd"):
        run = kernel.run()
    assert read_vcd(tmp_path / "run.vcd").end == run.time


def test_changes_are_counted_and_only_changes_are_written(tmp_path):
    kernel = watched()
    with write_vcd(kernel, tmp_path / "run.vcd", colours=False) as tracer:
        kernel.run()
    changes = [signal.changes for signal in read_vcd(tmp_path / "run.vcd").signals.values()]
    assert tracer.changes == sum(len(of_one) - 1 for of_one in changes) > 20
    assert all(before[1] != after[1] for of_one in changes for before, after in pairwise(of_one))


@pytest.mark.parametrize("name", ["small.vcd", "small.gtkw", "small.sucl"])
def test_the_files_of_a_small_machine_are_the_committed_ones(tmp_path, name):
    trace(tmp_path / "small.vcd")
    assert (tmp_path / name).read_text() == (GOLDEN / name).read_text()


def test_a_tracer_attached_in_the_midst_of_a_run_starts_there(tmp_path):
    kernel = watched()
    for _ in range(4):
        kernel.step()
    now, expected = kernel.time, snapshot(kernel)
    with write_vcd(kernel, tmp_path / "run.vcd", colours=False):
        kernel.run()
    wave = read_vcd(tmp_path / "run.vcd")
    assert wave.start == now > 0
    assert {name: signal.at(now) for name, signal in wave.signals.items()} == expected


# Time.


@pytest.mark.parametrize(
    ("hertz", "expected"),
    [
        (10**9, ("1 ns", 1)),
        (500_000_000, ("1 ns", 2)),
        (100_000_000, ("10 ns", 1)),
        (800_000_000, ("10 ps", 125)),
        (1_600_000_000, ("1 ps", 625)),
        (Fraction(1, 10), ("10 s", 1)),
        (10**15, ("1 fs", 1)),
        (2 * 10**15, None),
        (3 * 10**9, None),
    ],
)
def test_the_timescale_is_exact_or_none(hertz, expected):
    assert choose_timescale(1 / Fraction(hertz)) == expected


def test_times_are_in_the_unit_of_the_header(tmp_path):
    sources = (Node("source", 0, 3),)
    slow = trace(tmp_path / "a.vcd", funnel(sources, frequencies=(Fraction(800_000_000),)))
    plain = trace(tmp_path / "b.vcd", funnel(sources))
    assert slow.header["timescale"] == "10 ps"
    for name, signal in plain.signals.items():
        assert slow.signals[name].changes == [(125 * time, value) for time, value in signal.changes]


def test_a_tick_that_is_no_whole_femtosecond_is_rounded_down_and_that_is_said(tmp_path):
    wave = trace(tmp_path / "run.vcd", funnel((Node("source", 0, 3),), frequencies=THIRD))
    assert wave.header["timescale"] == "1 fs"
    assert "time is rounded down, in units of 1 fs" in wave.header["comment"]
    assert "clock clock0: 1000000000 Hz, a cycle is 3 base ticks" in wave.header["comment"]
    changes = wave.signals["toy.source0.sent"].changes
    assert [time for time, _sent in changes] == [0, 10**6, 2 * 10**6]  # at 1 GHz a cycle is exact
    times = {time % 10**6 for signal in wave.signals.values() for time, _value in signal.changes}
    assert times == {0, 333333, 666666}  # at 1.5 GHz it is not


def test_what_happens_within_a_femtosecond_is_one_change(tmp_path):
    fast = (Fraction(4 * 10**15),)
    wave = trace(tmp_path / "run.vcd", funnel((Node("source", 0, 9),), frequencies=fast))
    assert wave.header["timescale"] == "1 fs"
    assert [time for time, _sent in wave.signals["toy.source0.sent"].changes][:3] == [0, 0, 0]


# Window.


@pytest.mark.parametrize("window", [(0, 5), (3, 9), (4, 1000), (7, 8)])
@pytest.mark.parametrize("frequencies", [(Fraction(10**9),), THIRD], ids=["one clock", "two clocks"])
def test_a_window_shows_what_the_whole_waveform_shows_there(tmp_path, window, frequencies):
    network = funnel((Node("source", 0, 4, stalls=(9, 2)), Node("source", 0, 2)), frequencies=frequencies)
    whole = trace(tmp_path / "whole.vcd", network)
    part = trace(tmp_path / "part.vcd", network, window=window)
    period = 1 if len(frequencies) == 1 else 10**6
    assert part.start == window[0] * period
    assert part.end == min(window[1] * period, whole.end)
    for name, signal in whole.signals.items():
        times = {change[0] for change in signal.changes if part.start < change[0] < part.end}
        for time in (part.start, *times):
            assert part.signals[name].at(time) == signal.at(time), (name, time)
        assert part.signals[name].changes[-1][0] < part.end or part.end == whole.end


def test_a_window_within_a_long_sleep_shows_the_sleep(tmp_path):
    network = funnel((Node("source", 0, 2, stalls=(1000,)),))
    wave = trace(tmp_path / "run.vcd", network, window=(300, 400))
    assert (wave.start, wave.end) == (300, 400)
    assert wave.signals["toy.source0.state"].changes == [(300, "busy")]
    assert wave.signals["toy.source0.sent"].changes == [(300, 1)]


class CountingSource(WatchedSource):
    samples = 0

    def sample(self):
        type(self).samples += 1
        return super().sample()


def test_no_component_is_sampled_outside_the_window(tmp_path, monkeypatch):
    monkeypatch.setattr(CountingSource, "samples", 0)
    kernel = Kernel(sleep=False)
    kernel.clock("core", 10**9)
    source = kernel.add(CountingSource("source", [(0, 0, 0, 0.0)] * 100))
    sink = kernel.add(StreamSink("sink"))
    kernel.connect(source, "out", sink, "in", capacity=2)
    with write_vcd(kernel, tmp_path / "run.vcd", window=(10, 20)):
        kernel.run()
    assert kernel.cycle > 90
    assert CountingSource.samples == 10


def test_a_window_that_the_run_never_reaches_is_said_and_shows_the_end_state(tmp_path):
    with pytest.warns(UserWarning, match=r"run ended at cycle \d+, before its window from 5000"):
        wave = trace(tmp_path / "run.vcd", window=(5000, 6000))
    assert wave.start == wave.end == 18
    assert wave.signals["toy.source0.phase"].at(18) == "all sent"


# Scopes.


@pytest.mark.parametrize(
    ("scopes", "expected"),
    [
        (["toy.source0"], {"source0"}),
        (["source0"], {"source0"}),
        (["source[0-1]"], {"source0", "source1"}),
        (["sink*", "delay3"], {"sink4", "delay3"}),
        (["toy"], {"source0", "source1", "arbiter2", "delay3", "sink4"}),
    ],
)
def test_only_the_chosen_scopes_are_shown_and_those_exactly(tmp_path, scopes, expected):
    whole = trace(tmp_path / "whole.vcd")
    part = trace(tmp_path / "part.vcd", scopes=scopes)
    assert {name.split(".")[1] for name in part.signals} == expected
    for name, signal in part.signals.items():
        assert signal == whole.signals[name]


# The save file.


def shown_in(save_file):
    """Names of the signals that a save file shows, in its order, without their aliases."""
    lines = save_file.read_text().splitlines()
    names = [line.rpartition("} ")[2] for line in lines if line[:1] not in ("[", "*", "@", "-", "#", "^")]
    return [name for name in names if name]


def groups_in(save_file):
    """(Depth, name, whether it is open) of each group of a save file, in its order."""
    depth, groups, flags = 0, [], 0
    for line in save_file.read_text().splitlines():
        if line.startswith("@"):
            flags = int(line[1:], 16)
        elif line.startswith("-") and flags & 0x800000:
            groups.append((depth, line[1:], not flags & 0x400000))
            depth += 1
        elif line.startswith("-") and flags & 0x1000000:
            depth -= 1
    assert depth == 0
    return groups


def test_the_save_file_shows_every_signal_in_the_form_gtkwave_finds_and_the_states_at_the_top_too(tmp_path):
    wave = trace(tmp_path / "run.vcd")
    shown = Counter(shown_in(tmp_path / "run.gtkw"))
    for name, signal in wave.signals.items():
        vector = signal.type in ("wire", "reg") and signal.width > 1
        count = shown.pop(f"{name}[{signal.width - 1}:0]" if vector else name)
        assert count == (2 if name.endswith(".state") else 1), name
    assert not shown
    assert str(tmp_path) not in (tmp_path / "run.gtkw").read_text()


def test_components_of_a_kind_and_arrays_of_ports_are_folded(tmp_path):
    trace(tmp_path / "run.vcd", funnel(tuple(Node("source", 0, 1) for _ in range(11)), "join"))
    groups = groups_in(tmp_path / "run.gtkw")
    assert groups[:2] == [(0, "states", True), (1, "source x11", False)]
    assert (0, "toy.source0", True) in groups
    assert (1, "toy.join11.in x11", False) in groups


def test_what_is_far_down_is_folded(tmp_path):
    trace(tmp_path / "run.vcd", funnel(tuple(Node("source", 0, 1) for _ in range(60)), "join"))
    are_open = [is_open for depth, _name, is_open in groups_in(tmp_path / "run.gtkw") if depth == 0]
    assert are_open[:10] == [True] * 10
    assert are_open[20:] == [False] * (len(are_open) - 20)
    assert are_open == sorted(are_open, reverse=True)


def marker_in(save_file):
    """The time at which the marker of a save file stands; -1 for none."""
    zoom = next(line for line in save_file.read_text().splitlines() if line.startswith("*"))
    return int(zoom.split()[1])


def test_the_marker_stands_at_the_first_stall_after_work_and_its_component_comes_first(tmp_path):
    wave = trace(
        tmp_path / "run.vcd", funnel((Node("source", 0, 9), Node("source", 0, 4)), frequencies=THIRD, hold=5)
    )
    stalls = {
        (time, name.removesuffix(".state"))
        for name, signal in wave.signals.items()
        if name.endswith(".state")
        for (_, before), (time, state) in pairwise(signal.changes)
        if before == "busy" and str(state).startswith(("wait:", "full:"))
    }
    first = min(time for time, _ in stalls)
    assert marker_in(tmp_path / "run.gtkw") == first
    tops = [name for depth, name, _open in groups_in(tmp_path / "run.gtkw") if depth == 0]
    assert tops[0] == "states"
    assert (first, tops[1]) in stalls


def elements(count, *, patience):
    """Elements of a source and a sink each, the last of which stalls first; a front stalls before them."""
    kernel = Kernel()
    kernel.clock("core", 10**9)
    before = {"toy.front_": 1} | {f"toy.pe{number}.": patience - number for number in range(count)}
    for part, tokens in before.items():
        source = kernel.add(StreamSource(f"{part}source", data_tokens(range(20))))
        sink = kernel.add(StreamSink(f"{part}sink", (*(0,) * tokens, 9)))
        kernel.connect(source, "out", sink, "in", capacity=4)
    return kernel


def test_of_elements_alike_the_one_that_stalls_first_comes_first_and_open(tmp_path):
    kernel = elements(12, patience=15)
    with write_vcd(kernel, tmp_path / "run.vcd", colours=False):
        kernel.run()
    states = read_vcd(tmp_path / "run.vcd").signals
    front, first = (
        next(time for time, state in states[f"toy.{part}source.state"].changes if state == "full:out")
        for part in ("front_", "pe11.")
    )
    assert front < first == marker_in(tmp_path / "run.gtkw")
    assert [group for group in groups_in(tmp_path / "run.gtkw") if "." in group[1]][2:5] == [
        (0, "toy.pe11", True),
        (1, "toy.pe11.source", True),
        (1, "toy.pe11.sink", True),
    ]


def test_a_waveform_without_a_stall_has_no_marker(tmp_path):
    trace(tmp_path / "run.vcd", funnel((Node("source", 0, 0),)))
    assert marker_in(tmp_path / "run.gtkw") == -1


def test_an_occupancy_is_labelled_with_the_capacity(tmp_path):
    trace(tmp_path / "run.vcd", funnel((Node("source", 0, 1),), capacity=7))
    assert "+{in_0 of 7} toy.arbiter1.in_0" in (tmp_path / "run.gtkw").read_text().splitlines()


def test_states_are_in_colour_by_a_second_signal_and_a_table_unless_that_is_unwanted(tmp_path):
    plain = trace(tmp_path / "plain.vcd", colours=False)
    coloured = trace(tmp_path / "coloured.vcd", colours=True)
    table = dict(line.split(" ") for line in (tmp_path / "coloured.enum").read_text().splitlines())
    for name, signal in plain.signals.items():
        assert coloured.signals[name].changes == signal.changes
        if name.endswith(".state"):
            rows = coloured.signals.pop(f"{name}_coloured")
            marked = [(time, table[str(row)]) for time, row in rows.changes]
            assert [(time, re.sub(r"^\?\w+\?", "", state)) for time, state in marked] == signal.changes
    assert coloured.signals.keys() == plain.signals.keys()
    assert "?DarkOrchid4?full:out_0" in table.values()


def test_a_plain_waveform_has_variables_and_values_of_ieee_1364_alone(tmp_path):
    trace(tmp_path / "plain.vcd")
    text = (tmp_path / "plain.vcd").read_text()
    kinds = set(re.findall(r"\$var (\w+)", text))
    assert kinds <= {
        "event",
        "integer",
        "parameter",
        "real",
        "reg",
        "time",
        "wire",
    }  # of 21.7.2.1, those that
    body = text.partition("$enddefinitions $end\n")[2].splitlines()  # such a file could have
    line = re.compile(r"#\d+|[01xz]\S+|b[01xz]+ \S+|\$dumpvars|\$end")
    assert [wrong for wrong in body if not line.fullmatch(wrong)] == []


def test_the_table_of_a_plain_waveform_is_in_its_comment_and_beside_its_save_file(tmp_path):
    wave = trace(tmp_path / "plain.vcd")
    table = (tmp_path / "plain.enum").read_text().splitlines()
    rows = re.findall(r"^\s*reg (\d+: .*)$", wave.header["comment"], re.MULTILINE)
    assert [row.replace(":", "", 1) for row in rows] == table
    assert len({row.partition(" ")[2] for row in table}) == len(table)
    shown = [name for name in shown_in(tmp_path / "plain.gtkw") if ".state" in name or ".phase" in name]
    assert shown
    assert all(name.endswith("[15:0]") for name in shown)
    assert "^1 plain.enum\n" in (tmp_path / "plain.gtkw").read_text()


def test_the_save_file_shows_states_in_colour_in_the_place_of_those_in_text(tmp_path):
    trace(tmp_path / "run.vcd", colours=True)
    save_file = (tmp_path / "run.gtkw").read_text()
    shown = Counter(name for name in shown_in(tmp_path / "run.gtkw") if ".state" in name)
    assert set(shown.values()) == {2}
    assert all(name.endswith(".state_coloured[15:0]") for name in shown)
    assert "^1 run.enum\n" in save_file
    assert not re.search(r"\^[2-9]", save_file)


def test_no_save_file_when_none_is_wanted(tmp_path):
    trace(tmp_path / "run.vcd", save_file=False)
    assert [path.name for path in tmp_path.iterdir()] == ["run.vcd"]
