"""How a run ends: done, deadlock, cycle limit, stop, Ctrl-C, an exception; and what is reported then."""

import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from scripted import Scripted, Stuck, machine

import fiberscope.sim.kernel
from fiberscope.sim import Component, SimulationError
from fiberscope.sim.interrupt import interrupt_elsewhere
from fiberscope.sim.testing import StreamSink, StreamSource, check_accounting, data_tokens

ROOT = Path(__file__).parents[2]


# Done


def test_a_run_ends_when_the_last_component_has_become_idle():
    source, sink = StreamSource("source", data_tokens(range(3))), StreamSink("sink", (4,))
    kernel = machine(source, sink)
    kernel.connect(source, "out", sink, "in", capacity=2)
    run = kernel.run()
    # Popped at 1, 6, 11; the last pause lasts through cycle 15.
    assert (run.complete, run.reason, run.cycles) == (True, "done", 16)
    assert (run.time, run.seconds) == (16, 16e-9)


def test_a_late_wake_of_an_idle_component_does_not_lengthen_the_run():
    sleeper = Scripted("sleeper", lambda self, now: (now == 0 and self.wake_at(500)) or self.idle())
    worker = Scripted("worker", lambda self, now: self.busy(now + 1) if now < 7 else self.idle())
    kernel = machine(sleeper, worker)
    assert kernel.run().cycles == 7
    assert sleeper.ticked == [0, 500]
    assert kernel.statistics()["sleeper"].idle == 7
    check_accounting(kernel.statistics())


def test_running_again_after_the_end_changes_nothing():
    kernel = machine(Scripted("worker", lambda self, now: self.busy(now + 1) if now < 7 else self.idle()))
    assert kernel.run() == kernel.run()


def test_an_empty_machine_is_done_at_once():
    run = machine().run()
    assert (run.complete, run.cycles) == (True, 0)


@pytest.mark.parametrize("sleep", [True, False])
def test_a_slow_clock_that_works_on_alone_keeps_the_run_alive(sleep):
    kernel = machine(Scripted("fast", lambda self, _now: self.idle()), sleep=sleep)
    worker = Scripted("slow", lambda self, now: self.busy(now + 1) if now < 9 else self.idle())
    kernel.add(worker, kernel.clock("slow", 300_000_000))
    assert kernel.run().cycles == 30
    assert kernel.statistics()["slow"].busy == 9


@pytest.mark.parametrize("sleep", [True, False])
def test_an_idle_component_with_a_wake_of_its_own_pending_gets_it(sleep):
    def script(self, now):
        return self.busy(300) if now < 300 else self.busy(now + 1) if now < 305 else self.idle()

    kernel = machine(Scripted("alarm", script), sleep=sleep)
    assert kernel.run().cycles == 305


# Wakes that a component asks for and wakes that channels bring


def test_a_sleeper_gets_its_channels_wakes_and_its_own_near_and_far():
    class Sleeper(Stuck):
        ticked = ()

        def tick(self, now):
            self.ticked += (now,)
            if self.channel("in").can_pop():
                self.channel("in").pop()
            return self.busy(700) if now < 700 else self.idle()

    sleeper, source = Sleeper("sleeper"), StreamSource("source", data_tokens(range(3)), (9, 330))
    kernel = machine(sleeper, source)
    kernel.connect(source, "out", sleeper, "in", capacity=1, latency=2)
    assert kernel.run().cycles == 700
    assert sleeper.ticked == (0, 2, 12, 343, 700)


# Faults in tick


@pytest.mark.parametrize("back", [0, 1, 100])
def test_asking_for_a_cycle_that_is_not_in_the_future_is_refused(back):
    kernel = machine(Scripted("worker", lambda self, now: self.busy(now + 1 if now < 200 else now - back)))
    with pytest.raises(SimulationError) as caught:
        kernel.run()
    asked = 200 - back
    assert str(caught.value) == (
        f"worker: tick at cycle 200 asked for cycle {asked}, which is not in the future"
    )


def test_an_exception_in_tick_keeps_its_type_and_says_where():
    def script(self, now):
        return self.busy(now + 1) if now < 17 else {}["x"]

    kernel = machine(Scripted("gamma.pe07", script))
    with pytest.raises(KeyError) as caught:
        kernel.run()
    assert caught.value.__notes__ == ["at cycle 17 in gamma.pe07"]
    check_accounting(kernel.statistics())


def test_a_component_without_tick_says_so():
    with pytest.raises(NotImplementedError, match=r"^Component does not define tick"):
        machine(Component("blank")).run()


# Cycle limit


def endless(self, now):
    return self.busy(now + 1)


@pytest.mark.parametrize("sleep", [True, False])
@pytest.mark.parametrize("limit", [0, 1, 100, 1000])
def test_a_cycle_limit_stops_before_that_cycle_and_adds_up(limit, sleep):
    worker, sleeper = Scripted("worker", endless), Scripted("sleeper", lambda self, _now: self.busy(2000))
    kernel = machine(worker, sleeper, sleep=sleep)
    slow = kernel.add(Scripted("slow", endless), kernel.clock("slow", 300_000_000))
    run = kernel.run(cycle_limit=limit)
    assert (run.complete, run.reason, run.cycles) == (False, "cycle limit", limit)
    assert worker.ticked == list(range(limit))
    assert slow.ticked == list(range(-(-limit * 3 // 10)))
    check_accounting(kernel.statistics())
    assert kernel.statistics()["sleeper"].busy == limit


def test_a_limit_that_is_passed_already_leaves_the_run_as_it_is():
    kernel = machine(Scripted("worker", endless))
    kernel.run(cycle_limit=10)
    assert kernel.run(cycle_limit=5).cycles == 10
    check_accounting(kernel.statistics())


def test_a_machine_that_ends_before_the_limit_is_done():
    kernel = machine(Scripted("worker", lambda self, now: self.busy(now + 1) if now < 7 else self.idle()))
    assert kernel.run(cycle_limit=10**30).reason == "done"


# Stop


@pytest.mark.parametrize("sleep", [True, False])
def test_stop_ends_the_run_complete_after_the_cycle(sleep):
    kernel = machine(Scripted("sleeper", lambda self, _now: self.busy(2000)), sleep=sleep)
    kernel.add(
        Scripted(
            "clerk", lambda self, now: (self.wake_at(now + 1) if now < 40 else kernel.stop()) or self.idle()
        )
    )
    run = kernel.run()
    assert (run.complete, run.reason, run.cycles) == (True, "done", 41)
    assert kernel.statistics()["sleeper"].busy == 41
    assert kernel.run() == run
    assert not kernel.step()


# Ctrl-C

INTERRUPTED = """
    import os, signal, sys, threading
    sys.path[:0] = [{root!r}, {support!r}]
    from fiberscope.sim import Component, Kernel
    from fiberscope.sim.testing import StreamSource, check_accounting, data_tokens
    from fiberscope.hw.networks.crossbar import Crossbar
    from fiberscope.hw.networks.routes import PortRoute

    class Endless(Component):
        def tick(self, now):
            return self.busy(now + 1)

    def ring(kernel):  # a token that goes round without a single bytecode
        source = kernel.add(StreamSource("source", data_tokens([0])))
        ends = [kernel.add(Crossbar(name, PortRoute())) for name in ("there", "back")]
        kernel.connect(source, "out", ends[0], "inputs[0]", capacity=1)
        kernel.connect(ends[0], "outputs[0]", ends[1], "inputs[0]", capacity=1)
        kernel.connect(ends[1], "outputs[0]", ends[0], "inputs[1]", capacity=1)

    kernel = Kernel()
    kernel.clock("core", 10**9)
    {build}
    signal.signal(signal.SIGINT, signal.default_int_handler)  # may be ignored in the background
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    run = kernel.run()
    assert (run.complete, run.reason) == (False, "interrupted"), run
    assert kernel.cycle > 0
    check_accounting(kernel.statistics())
    before = kernel.cycle
    assert kernel.run(cycle_limit=before + 10).reason == "cycle limit"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    print(run.reason)
"""


@pytest.mark.parametrize("build", ['kernel.add(Endless("worker"))', "ring(kernel)"])
def test_ctrl_c_stops_cleanly_and_the_run_can_go_on(build):
    script = INTERRUPTED.format(root=str(ROOT), support=str(ROOT / "tests" / "support"), build=build)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


def test_a_run_in_another_thread_is_interrupted_as_the_main_thread_says():
    def script(self, now):
        if now == 10:
            interrupt_elsewhere()  # any thread may; the run is known by then
        return self.busy(now + 1)

    kernel = machine(Scripted("worker", script))
    interrupt_elsewhere()  # there is no run yet: nobody hears of it
    with ThreadPoolExecutor(1) as threads:
        run = threads.submit(kernel.run, cycle_limit=1000).result()
    assert (run.reason, run.cycles) == ("interrupted", 11)
    interrupt_elsewhere()
    assert kernel.run(cycle_limit=20).reason == "cycle limit"


@pytest.mark.parametrize("limit", [5, None])
def test_ctrl_c_that_is_heard_as_a_run_ends_is_not_lost(limit, monkeypatch):
    def script(self, now):
        return self.busy(now + 1) if now < 10 else self.idle()

    kernel = machine(Scripted("worker", script))
    monkeypatch.setattr(
        fiberscope.sim.kernel, "give_way", kernel.interrupt
    )  # compiled code hears of it there alone
    run = kernel.run(cycle_limit=limit)
    assert (run.complete, run.reason) == (False, "interrupted")
    monkeypatch.undo()
    assert kernel.run().reason == "done"


@pytest.mark.usefixtures("heeding")
def test_a_second_ctrl_c_is_not_held_back():
    def script(self, now):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        return self.busy(now + 1)

    with pytest.raises(KeyboardInterrupt):
        machine(Scripted("worker", script)).run()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_progress_is_told_the_cycle_now_and_then():
    told = []
    machine(Scripted("worker", endless)).run(cycle_limit=40_000, progress=told.append)
    assert len(told) > 1
    assert told == sorted(told)
    assert told[-1] == 39_999


# Planted faults: an accounting that skips a state.


def test_planted_an_accounting_that_skips_a_state_is_found():
    source, stuck = StreamSource("source", data_tokens(range(9)), (2,)), StreamSink("sink", (5,))
    kernel = machine(source, stuck)
    kernel.connect(source, "out", stuck, "in", capacity=1)
    kernel.run()
    statistics = kernel.statistics()
    check_accounting(statistics)
    assert statistics["source"].output_stall
    statistics["source"].output_stall.clear()
    with pytest.raises(AssertionError, match="source counts"):
        check_accounting(statistics)


def refused(script):
    with pytest.raises(SimulationError) as caught:
        machine(Scripted("gamma.worker", script)).run()
    return str(caught.value)


def test_a_cycle_without_saying_what_it_counts_as_is_refused():
    assert refused(lambda _self, now: now + 1) == (
        "gamma.worker: tick at cycle 0 asked for cycle 1, but does not say what the cycles until then count "
        "as: return self.busy(cycle), or call wake_at and idle"
    )


@pytest.mark.parametrize("result", [None, "soon"])
def test_a_tick_that_gives_no_cycle_is_refused_by_name_and_cycle(result):
    def script(self, now):
        return self.busy(now + 1) if now < 7 else result

    assert refused(script) == (
        "gamma.worker: tick at cycle 7 gave no cycle; end it by return self.busy(cycle), "
        "wait_input(channel), wait_output(channel) or idle()"
    )


def test_a_type_error_of_a_tick_itself_stays_one():
    with pytest.raises(TypeError) as caught:
        machine(Scripted("gamma.worker", lambda _self, now: now + "1")).run()
    assert caught.value.__notes__ == ["at cycle 0 in gamma.worker"]
