# cython: infer_types=True
"""Blocks that run for many cycles at a time, each in a time of its own, and do in each what they do in step.

What a block does in a cycle follows from the heads that it sees then. Where no channel has a bound nothing
else can hold it back, and a token has its arrival with it: so once those that feed a block have run up to a
cycle, it can run up to there alone. All of its cycles one after the other find it in the host's cache, and
nobody has to be woken.

Source: conservative simulation (Chandy and Misra, IEEE TSE 1979), of graphs without a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.sim import inline
from fiberscope.sim.channel import Channel
from fiberscope.sim.clock import Clock
from fiberscope.sim.connect import Link
from fiberscope.sim.constants import CHUNK, FAR, IDLE, INTERRUPTED, LIMIT, NEVER, QUIET, STOPPED
from fiberscope.sim.errors import refused_wake
from fiberscope.sim.kernel import Kernel

AHEAD = 64  # cycles at a time: what blocks send in them stays in the host's cache


class LogicalProcess:  # C: final
    """A block in a time of its own.

    Args:
        block: not yet run; no channel of it has a bound.
    """

    def __init__(self, block: StreamBlock) -> None:
        self.block = block
        self.clock = Clock(block.name, Fraction(1))  # stands at the last cycle that has been run
        self.clock.size_for(block._index + 1)
        self.clock.words = 0  # who wakes is noted in one place, where nobody looks
        self.alarm = 0  # when to tick in any case
        self.before = IDLE  # what the cycles up to the last tick counted as
        self.ticks = 0
        self.last = -1  # tick
        self.worked = 0  # the last one that ended cycles which were not idle
        self.fault: Exception | None = None  # of the last tick
        self.inputs: list[Channel] = []

    def run(self, until: int) -> None:  # C: cpdef
        """Run up to a cycle to which all that feed the block have run."""
        block, clock = self.block, self.clock
        now = self.due()
        while now < until:
            clock.cycle = clock.time = self.last = now
            self.before = block._state
            if self.before != IDLE:
                self.worked = now
            block._state = IDLE
            wake = block.tick(now)  # C: long
            self.ticks += 1
            if block._state != self.before:
                block._account(self.before, now)
            if wake == now + 1 and block._state != IDLE:
                self.alarm = now = wake
            else:
                self.alarm = self._checked(wake)
                now = self.due()
        clock.cycle = clock.time = until - 1

    def _checked(self, wake: int) -> int:
        """When to tick again, as a tick said; ``FAR`` if it said nothing."""
        if wake > self.last and self.block._state != IDLE:
            return wake
        if wake != NEVER:
            raise refused_wake(self.block.name, self.last, wake)
        return FAR

    def due(self) -> int:  # C: cpdef, noexcept
        """When to tick again: a head that comes wakes the block."""
        due = self.alarm
        for place in range(len(self.inputs)):
            seen = inline.channel(self.inputs[place])._seen_from
            if self.clock.cycle < seen < due:
                due = seen
        return due


class AheadKernel(Kernel):
    """Runs a machine of stream blocks, each ahead of those that read it, to the same outcome.

    As any kernel it runs in step from when a tracer is attached on, and machines with a bounded channel, with
    anything that is no ``StreamBlock``, or whose blocks feed back to each other.
    """

    def __init__(self) -> None:
        super().__init__()
        self.processes: list[LogicalProcess] = []  # each behind those that feed it; none: in step

    def build(self) -> None:  # C: def
        """Check the machine, and see whether its blocks can run ahead."""
        super().build()
        blocks = [component for component in self.components if isinstance(component, StreamBlock)]
        bounded = any(channel.bounded for channel in self.channels())
        if len(blocks) == len(self.components) and not bounded:
            self.processes = _in_order(blocks, self.wiring.connections)

    def _advance(self, until: int, steps: int) -> int:
        """Run at most this many time steps; says why it came back."""
        if self.tracer is not None:
            self._fall_in()
        if not self.processes:
            return Kernel._advance(self, until, steps)
        if self._stop or self._interrupted:
            return STOPPED if self._stop else INTERRUPTED
        if self.time < 0:
            self._attach(apart=True)
        before, self._limit = self.time, -1
        self._run_ahead(min(until, before + 1 + steps))
        if self.time - before == steps:
            return CHUNK
        return LIMIT if min([process.due() for process in self.processes]) < FAR else QUIET

    def _run_ahead(self, until: int) -> None:
        """Run all blocks up to a cycle, or up to the first that goes wrong."""
        failed: LogicalProcess | None = None
        end = self.time + 1
        while end < until and failed is None:
            end = min(until, end + AHEAD)
            for place in range(len(self.processes)):
                process: LogicalProcess = self.processes[place]
                before = failed is not None and process.block._index < failed.block._index
                try:
                    process.run(end + before)
                except Exception as fault:
                    process.fault, failed, end = fault, process, process.last
        self._take_over(max([process.last for process in self.processes]) if failed is None else end)
        if failed is not None and failed.fault is not None:
            self._before = failed.before
            self._end_at(failed.fault, failed.block)
            raise failed.fault

    def _take_over(self, time: int) -> None:
        """Be where the blocks are."""
        self.steps += time - self.time
        self.time = time
        self.clocks[0].advance(time)
        self._worked = max([process.worked for process in self.processes])
        self.ticks = sum([process.ticks for process in self.processes])

    def _fall_in(self) -> None:
        """Go on in step."""
        if self.time >= 0:
            self._attach(apart=False)
            self._wake_all(self.clocks[0], self.time + 1)
        self.processes = []

    def _attach(self, apart: bool) -> None:
        """Have the blocks in times of their own, or all in that of the kernel."""
        clocks = {one.block.name: one.clock if apart else self.clocks[0] for one in self.processes}
        for link in self.wiring.connections:
            writer, reader = link.producer.component, link.consumer.component
            channel = inline.channel(link.channel)
            channel.attach(clocks[writer.name], writer._index, clocks[reader.name], reader._index)
            channel._one_clock = True


def _in_order(blocks: Sequence[StreamBlock], links: Sequence[Link]) -> list[LogicalProcess]:
    """The processes of all blocks, each behind those that feed it; none if some feed back."""
    processes = {block.name: LogicalProcess(block) for block in blocks}
    before: dict[str, list[str]] = {name: [] for name in processes}
    for link in links:
        name = link.consumer.component.name
        processes[name].inputs.append(link.channel)
        before[name].append(link.producer.component.name)
    try:
        return [processes[name] for name in TopologicalSorter(before).static_order()]
    except CycleError:
        return []
