# cython: infer_types=True
"""A kernel for machines of stream blocks that runs each block for many cycles at a time."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.process import LogicalProcess
from fiberscope.sim import inline
from fiberscope.sim.constants import DRAINED, INTERRUPTED, LIMIT, MAX_TIME, SLICE_END, STOPPED
from fiberscope.sim.kernel import Kernel
from fiberscope.sim.wiring import Link

AHEAD = 64  # cycles that a block runs at a time; their tokens fit in the host's cache


class AheadKernel(Kernel):
    """Runs a machine of stream blocks, each ahead of those that read it, to the same outcome.

    Every cycle counts as a time step, including a cycle in which all blocks wait for tokens in flight. In
    three cases the blocks run in step, as in any kernel: a tracer is attached (from then on); a channel is
    bounded or a component is not a ``StreamBlock``; or blocks feed back to each other. The machine must have
    one clock domain, which is not checked.
    """

    def __init__(self) -> None:
        super().__init__()
        self.processes: list[LogicalProcess] = []  # producers first; empty if the blocks run in step

    def build(self) -> None:  # C: def
        """Check the machine, and determine whether its blocks can run ahead."""
        super().build()
        blocks = [component for component in self.components if isinstance(component, StreamBlock)]
        has_bounded_channel = any(channel.bounded for channel in self.channels())
        if len(blocks) == len(self.components) and not has_bounded_channel:
            self.processes = _sort_processes(blocks, self.wiring.connections)

    def _advance(self, until: int, steps: int) -> int:
        """Run at most this many time steps; return the reason for which the run paused or ended."""
        if self.tracer is not None:
            self._return_to_lockstep()
        if not self.processes:
            return Kernel._advance(self, until, steps)
        if self._stop or self._interrupted:
            return STOPPED if self._stop else INTERRUPTED
        # Before the first cycle, each block gets a clock of its own
        if self.time < 0:
            self._attach(on_own_clocks=True)
        start, self._limit = self.time, -1
        self._run_ahead(min(until, start + 1 + steps))
        if self.time - start == steps:
            return SLICE_END
        # If no tick is due, no token is in flight and the run has drained
        due = min([process.due() for process in self.processes])
        if due >= until:
            return LIMIT if due < MAX_TIME else DRAINED
        self._adopt_progress(start + steps)  # the last of these cycles had no tick
        return SLICE_END

    def _run_ahead(self, until: int) -> None:
        """Run all blocks up to a cycle, or up to the cycle of the first exception.

        After an exception, blocks that ran before the failed block can be up to ``AHEAD`` cycles further.
        """
        failed: LogicalProcess | None = None
        end_cycle = self.time + 1
        while end_cycle < until and failed is None:
            end_cycle = min(until, end_cycle + AHEAD)
            for index in range(len(self.processes)):
                process: LogicalProcess = self.processes[index]
                # In the cycle of the exception, the blocks that tick before the failed block still run
                ticks_before_failed = failed is not None and process.block._index < failed.block._index
                try:
                    process.run(end_cycle + ticks_before_failed)
                except Exception as fault:
                    # A later process can fail in an earlier cycle; then its exception is the first. The cycle
                    # of the failure becomes the end for all processes after it
                    process.fault, failed, end_cycle = fault, process, process.last_cycle
        self._adopt_progress(
            max([process.last_cycle for process in self.processes]) if failed is None else end_cycle
        )
        if failed is not None and failed.fault is not None:
            self._state_before = failed.state_before
            self._end_at(failed.fault, failed.block)
            raise failed.fault

    def _adopt_progress(self, time: int) -> None:
        """Set the kernel's time and counters to those of the blocks."""
        self.steps += time - self.time
        self.time = time
        self.clocks[0].advance(time)
        self._worked = max([process.worked for process in self.processes])
        self.ticks = sum([process.ticks for process in self.processes])

    def _return_to_lockstep(self) -> None:
        """Return to running all blocks in step."""
        if self.time >= 0 and self.processes:
            self._attach(on_own_clocks=False)
            # The clock of the kernel does not know the alarms of the processes, so that it wakes all blocks
            self._wake_all(self.clocks[0], self.time + 1)
        self.processes = []

    def _attach(self, on_own_clocks: bool) -> None:
        """Attach the channels to the separate clocks of the blocks, or to the clock of the kernel."""
        clocks = {
            process.block.name: process.clock if on_own_clocks else self.clocks[0]
            for process in self.processes
        }
        for link in self.wiring.connections:
            writer, reader = link.producer.component, link.consumer.component
            channel = inline.channel(link.channel)
            channel.attach(clocks[writer.name], writer._index, clocks[reader.name], reader._index)
            # The channels have no bound, so that a second call, from ``_return_to_lockstep``, changes nothing
            channel.let_reader_ahead()


def _sort_processes(blocks: Sequence[StreamBlock], links: Sequence[Link]) -> list[LogicalProcess]:
    """Return the processes of all blocks, producers before consumers; an empty list if there is feedback."""
    processes = {block.name: LogicalProcess(block) for block in blocks}
    producers: dict[str, list[str]] = {name: [] for name in processes}
    for link in links:
        writer, reader = link.producer.component.name, link.consumer.component.name
        processes[reader].add_input(link.channel, processes[writer].progress)
        processes[writer].add_output(link.channel, processes[reader].progress)
        producers[reader].append(writer)
    try:
        return [processes[name] for name in TopologicalSorter(producers).static_order()]
    except CycleError:
        return []
