"""The law of waveforms: the same bytes in any tick order, asleep or awake, compiled or not."""

import os
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from networks import Node
from watched import SMALL, WatchedSource, funnel, make_watched, watched

from fiberscope.sim import DeadlockError, Signal, import_mode
from fiberscope.sim.trace import write_vcd

WAYS_OF_RUNNING = (
    {},
    {"sleep": False},
    {"order_seed": 1},
    {"order_seed": 2},
    {"order_seed": 3, "sleep": False},
)
FREQUENCIES = [Fraction(10**9), Fraction(1_500_000_000), Fraction(10**9, 3)]

pauses = st.lists(st.sampled_from([0, 0, 1, 3, 300]), max_size=4).map(tuple)


@st.composite
def funnels(draw):
    """Two or three sources into a join, which deadlocks where their counts differ, or an arbiter."""
    frequencies = tuple(draw(st.lists(st.sampled_from(FREQUENCIES), min_size=1, max_size=2, unique=True)))
    domains = st.integers(0, len(frequencies) - 1)
    sources = st.builds(Node, st.just("source"), domains, st.integers(0, 6), stalls=pauses)
    return funnel(
        tuple(draw(st.lists(sources, min_size=2, max_size=3))),
        draw(st.sampled_from(["join", "arbiter"])),
        frequencies=frequencies,
        hold=draw(st.integers(1, 4)),
        capacity=draw(st.integers(1, 3)),
        latency=draw(st.integers(1, 3)),
        pauses=draw(pauses),
    )


def waveforms(network, *, make=make_watched, **options):
    """The bytes of the waveform and its save file, for every way of running the same network."""
    with tempfile.TemporaryDirectory() as folder:
        for way in WAYS_OF_RUNNING:
            kernel = watched(network, make=make, **way)
            path = Path(folder) / "run.vcd"
            try:
                with write_vcd(kernel, path, **options):
                    kernel.run()
            except DeadlockError:
                pass
            yield path.read_bytes() + path.with_suffix(".gtkw").read_bytes()


@given(funnels())
def test_the_waveform_is_the_same_however_the_network_runs(network):
    first, *others = waveforms(network)
    assert [other == first for other in others] == [True] * 4


@pytest.mark.filterwarnings("ignore:the waveform:UserWarning")  # a short run does not reach its window
@given(funnels(), st.integers(0, 30), st.integers(1, 30))
def test_so_is_every_window_and_scope_of_it(network, start, length):
    try:
        watched(network).run()
    except DeadlockError:
        return  # a run that fails before its window leaves no file
    scopes = ("source[12]", "delay*")
    first, *others = waveforms(network, window=(start, start + length), scopes=scopes)
    assert [other == first for other in others] == [True] * 4


class Gossip(WatchedSource):
    """Against the law: shows how many others ticked before it in this cycle."""

    ticked: list[int] = []  # noqa: RUF012  (shared by all on purpose)

    def tick(self, now):
        self.ticked.append(now)
        self.before = self.ticked.count(now)
        return super().tick(now)

    def signals(self):
        return (Signal("before"),)

    def sample(self):
        return (self.before,)


class Restless(WatchedSource):
    """Against the law: shows how often it ticked."""

    ticks = 0

    def tick(self, now):
        self.ticks += 1
        return super().tick(now)

    def signals(self):
        return (Signal("ticks"),)

    def sample(self):
        return (self.ticks,)


@pytest.mark.parametrize(("fault", "agree"), [(Gossip, {0, 2}), (Restless, {0, 2, 3})])
def test_the_check_sees_a_signal_that_depends_on_order_or_sleep(fault, agree):
    """Seed 1 leaves the two sources in their order."""

    def make(number, node):
        plain = make_watched(number, node)
        return fault(plain.name, plain.tokens, (0, 3)) if node.kind == "source" else plain

    found = []
    for wave in waveforms(SMALL, make=make):
        Gossip.ticked.clear()
        found.append(wave)
    assert {way for way, wave in enumerate(found) if wave == found[0]} == agree


TRACED_RUN = """
import sys
from watched import funnel, watched
from networks import Node
from fiberscope.sim.trace import write_vcd
from fractions import Fraction

sources = (Node("source", 0, 40, stalls=(0, 3)), Node("source", 1, 30))
kernel = watched(funnel(sources, frequencies=(Fraction(10**9), Fraction(10**9, 3)), pauses=(0, 300)))
with write_vcd(kernel, sys.argv[1], window=(5, 2000)):
    kernel.run()
"""


@pytest.mark.skipif(not import_mode.compiled(), reason="compares the compiled engine with its sources")
def test_the_uncompiled_engine_writes_the_same_waveform(tmp_path):
    root = Path(__file__).parents[2]
    search = os.pathsep.join((str(root), str(root / "tests" / "support")))
    for uncompiled in ("0", "1"):
        environment = {**os.environ, "PYTHONPATH": search, import_mode.VARIABLE: uncompiled}
        path = tmp_path / uncompiled / "run.vcd"
        path.parent.mkdir()
        subprocess.run([sys.executable, "-c", TRACED_RUN, path], env=environment, check=True)
    for name in ("run.vcd", "run.gtkw"):
        assert (tmp_path / "0" / name).read_bytes() == (tmp_path / "1" / name).read_bytes()
