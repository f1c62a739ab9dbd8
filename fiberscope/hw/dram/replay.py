"""Simulation of a DRAM channel with a trace of requests.

Requests are issued in order, at most ``issue_per_cycle`` in a cycle, and each in or after its earliest
cycle. A request that the channel cannot accept blocks all later requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fiberscope.hw.dram.channel import DramChannel
from fiberscope.hw.dram.commands import Command
from fiberscope.hw.dram.specification import DramSpecification
from fiberscope.hw.dram.trace import ReplySink, Request, TraceSource, reads_of
from fiberscope.hw.dram.trace_file import read_trace
from fiberscope.hw.memory.protocol import TENSORS
from fiberscope.sim.kernel import Kernel
from fiberscope.sim.statistics import ComponentStatistics


@dataclass(frozen=True)
class ReplayResult:
    """The result of the replay of a trace on a channel. Cycles are those of the memory clock.

    Args:
        requests: number of requests.
        reads: number of reads.
        last_completion_cycle: cycle of the last WR or of the last reply, whichever is later; 0 without both.
        mean_read_latency: mean number of cycles from the cycle before the channel accepted a read to its
            reply; 0.0 without reads.
        bytes_per_second: bandwidth of reads and writes together until the last completion; 0.0 if it is in
            cycle 0.
        counters: event counts of the channel, as ``DramChannel.counters`` returns them.
        statistics: statistics of the channel.
        completions: (tag, cycle) of every reply, in the order of arrival; a tag is an index in the trace.
        commands: commands issued, if ``log`` was set; else empty.
    """

    requests: int
    reads: int
    last_completion_cycle: int
    mean_read_latency: float
    bytes_per_second: float
    counters: dict[str, int]
    statistics: ComponentStatistics
    completions: tuple[tuple[int, int], ...]
    commands: tuple[Command, ...]


def by_channel(requests: Iterable[Request], specification: DramSpecification) -> list[list[Request]]:
    """Return the requests of each of the channels over which the addresses are interleaved, in order.

    The addresses are not changed, as the channel itself removes the part that selects it.
    """
    requests_by_channel: list[list[Request]] = [[] for _ in range(specification.channels)]
    for request in requests:
        requests_by_channel[request[2] // specification.interleave_bytes % specification.channels].append(
            request
        )
    return requests_by_channel


def replay(
    trace: str | Path | Iterable[Request],
    specification: DramSpecification,
    issue_per_cycle: int = 1,
    *,
    log: bool = False,
    sleep: bool = True,
) -> ReplayResult:
    """Simulate one channel with the requests of a trace, and return the result.

    All requests go to this channel, whatever channel their addresses select. Divide the requests of several
    channels by ``by_channel`` first.

    Args:
        trace: path of a trace file, or requests as (earliest cycle, operation, byte address).
        specification: the channel; its ``requests_per_cycle`` is set to ``issue_per_cycle``.
        issue_per_cycle: maximum number of requests issued in a cycle.
        log: whether to keep the issued commands.
        sleep: as of ``Kernel``.

    Raises:
        OSError, EOFError, zlib.error, ValueError: if the trace file cannot be read, as for ``read_trace``.
        ValueError: also if ``issue_per_cycle`` is below 1, or as for ``DramChannel``.
        SimulationError: as for ``DramChannel``.
        KeyboardInterrupt: if Ctrl-C, or a signal with the same effect, interrupts the run.
    """
    requests = read_trace(trace) if isinstance(trace, str | Path) else list(trace)
    kernel = Kernel(sleep=sleep)
    kernel.clock("memory", specification.clock_hertz)
    source = kernel.add(TraceSource("source", requests, issue_per_cycle))
    dram = kernel.add(
        DramChannel("dram", replace(specification, requests_per_cycle=issue_per_cycle), log=log)
    )
    sink = kernel.add(ReplySink("sink", reads_of(requests)))
    kernel.connect(source, "requests", dram, "requests", capacity=4 * issue_per_cycle)
    kernel.connect(dram, "replies", sink, "replies", capacity=64)
    if not kernel.run().complete:  # a partial result would not be that of the trace
        raise KeyboardInterrupt
    statistics = kernel.statistics()["dram"]
    return _result(
        requests, specification, statistics, sink.completions(), dram.commands, dram.last_write_cycle
    )


def _result(
    requests: Sequence[Request],
    specification: DramSpecification,
    statistics: ComponentStatistics,
    completions: tuple[tuple[int, int], ...],
    commands: list[Command],
    last_write: int,
) -> ReplayResult:
    """Return the result from the channel's statistics, the replies and the cycle of the last write."""
    counters = statistics.counters
    reads = counters["reads"]
    last_cycle = max(completions[-1][1] if completions else 0, last_write)
    seconds = last_cycle / specification.clock_hertz
    # Of all requests: bytes of forwarded reads and coalesced writes count, although they use no data bus
    transferred_bytes = sum(
        counters[f"{kind}_bytes_{tensor}"] for kind in ("read", "write") for tensor in range(TENSORS)
    )
    return ReplayResult(
        requests=len(requests),
        reads=reads,
        last_completion_cycle=last_cycle,
        mean_read_latency=counters["read_latency"] / reads if reads else 0.0,
        bytes_per_second=float(transferred_bytes / seconds) if seconds else 0.0,
        counters=counters,
        statistics=statistics,
        completions=completions,
        commands=tuple(commands),
    )
