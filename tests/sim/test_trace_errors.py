"""Waveforms that cannot be written, and what is left behind when a run fails."""

import errno
import warnings

import pytest
from networks import Node
from vcd_reader import read_vcd
from watched import WatchedSource, funnel, make_watched, trace, watched

from fiberscope.sim import DeadlockError, Signal, SimulationError
from fiberscope.sim.lookahead import LookaheadKernel, LookaheadModel
from fiberscope.sim.testing import StreamSink, StreamSource
from fiberscope.sim.trace import write_vcd


@pytest.mark.parametrize("window", [(5, 5), (9, 3), (-1, 4)])
def test_an_empty_window_is_refused(tmp_path, window):
    with pytest.raises(SimulationError, match=f"window {window[0]}:{window[1]} holds no cycle"):
        trace(tmp_path / "run.vcd", window=window)
    assert not list(tmp_path.iterdir())


def test_a_window_that_is_past_is_refused(tmp_path):
    kernel = watched()
    kernel.run()
    with (
        pytest.raises(SimulationError, match="window 1:3 is past: the run is at cycle"),
        write_vcd(kernel, tmp_path / "run.vcd", window=(1, 3)),
    ):
        pass


def test_a_scope_that_matches_nothing_is_refused_with_near_ones(tmp_path):
    with pytest.raises(
        SimulationError, match=r"no component matches the scope sorce0; did you mean .*source0"
    ):
        trace(tmp_path / "run.vcd", scopes=["toy.sink4", "sorce0"])
    with pytest.raises(SimulationError, match=r"matches the scope \?; it has toy, toy\.source0"):
        trace(tmp_path / "run.vcd", scopes=["?"])
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "folder.vcd").mkdir()
    for place, reason in (("missing/run.vcd", "No such file"), ("folder.vcd", "it is a folder")):
        with pytest.raises(SimulationError, match=rf"the waveform .*{place} cannot be written: {reason}"):
            trace(tmp_path / place)
    with pytest.raises(SimulationError, match=r"cannot end in \.gtkw"):
        trace(tmp_path / "run.gtkw")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.vcd"]


def test_two_tracers_on_one_kernel_are_refused(tmp_path):
    kernel = watched()
    with write_vcd(kernel, tmp_path / "a.vcd"):
        with (
            pytest.raises(SimulationError, match=r"b\.vcd: the kernel is traced already"),
            write_vcd(kernel, tmp_path / "b.vcd"),
        ):
            pass
        kernel.run()
    assert read_vcd(tmp_path / "a.vcd").end > 0


class CountedModel(LookaheadModel):
    """Counts how often the kernel replaces its component."""

    replacements = 0

    def engage(self):
        self.replacements += 1

    def settle(self, cycle):
        return 0


def test_lookahead_models_are_engaged_once_and_then_no_file_is_left_of_a_tracer_that_is_refused(tmp_path):
    kernel = LookaheadKernel()
    kernel.clock("core", 10**9)
    source, sink = kernel.add(StreamSource("source", [])), kernel.add(StreamSink("sink"))
    kernel.connect(source, "out", sink, "in", capacity=2)
    model = CountedModel("ahead", [source])
    kernel.add_lookahead(model)
    for _ in range(2):
        kernel.run(cycle_limit=0)
    with (
        pytest.raises(SimulationError, match="has run ahead of its clock"),
        write_vcd(kernel, tmp_path / "run.vcd"),
    ):
        pass
    assert model.replacements == 1
    assert kernel.tracer is None
    assert not list(tmp_path.iterdir())


def with_signals(signals, samples):
    """A make function whose sources have these signals and give these samples."""

    class Odd(WatchedSource):
        def signals(self):
            return signals

        def sample(self):
            return samples(self)

    def make(number, node):
        plain = make_watched(number, node)
        return Odd(plain.name, plain.tokens) if node.kind == "source" else plain

    return make


@pytest.mark.parametrize(
    ("signal", "message"),
    [
        (Signal("state"), "toy.source0: 2 signals of the waveform are named state"),
        (Signal("a b"), "toy.source0: 'a b' cannot name a scope or a signal"),
        (Signal("x", width=65), "toy.source0.x: a signal has 1 to 64 bits, not 65"),
        (
            Signal("x", kind="real"),
            "toy.source0.x: a signal's kind is one of wire, integer, state, mark, not real",
        ),
        (Signal("x", kind="state"), "toy.source0.x: a signal of kind state, and no other, names its states"),
    ],
)
def test_a_signal_that_cannot_be_shown_is_refused_before_the_run(tmp_path, signal, message):
    with pytest.raises(SimulationError, match=message):
        trace(tmp_path / "run.vcd", make=with_signals((signal,), lambda _: (0,)))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("signal", "value", "message"),
    [
        (Signal("x", width=2), 4, "toy.source0.x: 4 is not a number of 2 bits"),
        (Signal("x", width=2), -3, "toy.source0.x: -3 is not a number of 2 bits"),
        (Signal("x", width=1), 2, "toy.source0.x: 2 is not a number of 1 bits"),
        (Signal("x", kind="state", states=("a", "b")), 2, "toy.source0.x: 2 is not one of 2 states"),
        (Signal("x", kind="state", states=("a", "b")), -1, "toy.source0.x: -1 is not one of 2 states"),
        (Signal("x"), 1 << 63, "toy.source0: sample\\(\\) must give 64-bit integers"),
        (Signal("x"), "1", "toy.source0: sample\\(\\) must give 64-bit integers"),
    ],
)
@pytest.mark.parametrize("late", [False, True])
def test_a_value_that_does_not_fit_is_refused(tmp_path, signal, value, message, late):
    make = with_signals((signal,), lambda source: (value if len(source.sent) > late else 0,))
    with pytest.raises(SimulationError, match=message):
        trace(tmp_path / "run.vcd", make=make)
    assert (tmp_path / "run.vcd").exists() == late  # what came before the fault is kept


@pytest.mark.parametrize("length", [0, 1, 3])
def test_a_sample_of_the_wrong_length_is_refused(tmp_path, length):
    make = with_signals((Signal("x"), Signal("y")), lambda _: (1,) * length)
    with pytest.raises(
        SimulationError, match=rf"toy.source0: sample\(\) gives {length} numbers for 2 signals"
    ):
        trace(tmp_path / "run.vcd", make=make)


def test_the_waveform_of_a_deadlock_is_kept(tmp_path):
    network = funnel((Node("source", 0, 3), Node("source", 0, 1)), "join")
    with pytest.raises(DeadlockError):
        trace(tmp_path / "run.vcd", network)
    wave = read_vcd(tmp_path / "run.vcd")
    assert wave.signals["toy.join2.state"].at(wave.end) == "wait:in_1"
    assert wave.signals["toy.join2.in_0"].at(wave.end) == 2
    assert (tmp_path / "run.gtkw").exists()


def test_the_waveform_of_a_crash_is_kept_up_to_the_crash(tmp_path):
    class Crash(WatchedSource):
        def tick(self, now):
            if now == 3:
                raise ZeroDivisionError
            return super().tick(now)

    def make(number, node):
        plain = make_watched(number, node)
        return Crash(plain.name, plain.tokens) if number == 0 else plain

    with pytest.raises(ZeroDivisionError):
        trace(tmp_path / "run.vcd", make=make)
    assert read_vcd(tmp_path / "run.vcd").signals["toy.source0.sent"].changes[-1] == (2, 3)


def test_a_stop_at_the_cycle_limit_ends_the_file_there(tmp_path):
    assert trace(tmp_path / "run.vcd", cycle_limit=6).end == 6


def test_nothing_is_left_of_a_run_that_fails_before_its_window(tmp_path):
    network = funnel((Node("source", 0, 3), Node("source", 0, 1)), "join")
    (tmp_path / "run.vcd").write_text("what was there before")
    with pytest.raises(DeadlockError):
        trace(tmp_path / "run.vcd", network, window=(5000, 6000))
    assert [path.name for path in tmp_path.iterdir()] == ["run.vcd"]
    assert (tmp_path / "run.vcd").read_text() == "what was there before"


def test_nothing_is_left_when_the_disk_is_full(tmp_path):
    class Full:
        def __init__(self, file):
            self.file = file

        def write(self, _text):
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self):
            self.file.close()

    def fill_up(kernel):
        with write_vcd(kernel, tmp_path / "run.vcd") as tracer:
            kernel.step()
            tracer._file._file = Full(tracer._file._file)
            kernel.run()

    with pytest.raises(OSError, match="No space left"):
        fill_up(watched())
    assert not list(tmp_path.iterdir())


def test_a_run_within_its_window_warns_of_nothing(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trace(tmp_path / "run.vcd", window=(2, 5))
