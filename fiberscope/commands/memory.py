"""``fiberscope memory``: simulation of an accelerator's memory alone."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fiberscope.base.errors import InputError
from fiberscope.commands.group import Group
from fiberscope.commands.options import Accelerator, Config, Settings
from fiberscope.commands.output import show
from fiberscope.results.report.table import Table

if TYPE_CHECKING:
    from fiberscope.hw.dram import DramSpecification
    from fiberscope.hw.dram.replay import ReplayResult
    from fiberscope.hw.dram.trace import Request

memory = Group()

GIB = 1 << 30

_Trace = Annotated[
    Path,
    typer.Argument(
        metavar="TRACE", help="Trace file: lines of 'cycle R|W address' or 'LD|ST address'; may be .gz."
    ),
]
_RequestBytes = Annotated[int, typer.Option(min=1, metavar="N", help="Size of each request, in bytes.")]


@memory.callback()
def _memory() -> None:
    """Simulate only the memory of an accelerator.

    \b
    Examples:
      fiberscope sim gamma wiki-Vote --memory-trace out.trace
      fiberscope memory replay gamma out.trace
    """


@memory.command()
def replay(
    accelerator: Accelerator,
    trace: _Trace,
    settings: Settings = None,
    config: Config = None,
    request_bytes: _RequestBytes = 64,
) -> None:
    """Replay memory requests on the DRAM channels of an accelerator.

    Each request goes to the channel of its address, no earlier than its cycle of the memory clock. A request
    that finds a full queue delays the requests behind it.

    \b
    Examples:
      fiberscope memory replay gamma out.trace
      fiberscope memory replay gamma out.trace --set memory.refresh=off
    """
    from fiberscope.hw.dram.replay import by_channel
    from fiberscope.hw.dram.replay import replay as run

    specification = _dram_specification(accelerator, settings or [], config, request_bytes)
    parts = by_channel(_read_requests(trace), specification)
    results = [run(part, specification, specification.requests_per_cycle) for part in parts]
    show([_table(results)], markdown=False)


def _dram_specification(
    accelerator: str, settings: Sequence[str], config: Path | None, request_bytes: int
) -> DramSpecification:
    """Return the DRAM channels of the accelerator, even if its ``memory.model`` is another.

    Raises:
        InputError: the accelerator has no memory parameters, or they do not fit the size of a request.
    """
    from fiberscope import accelerators
    from fiberscope.accelerators.configuration import parse_settings
    from fiberscope.accelerators.memory import MemoryParameters
    from fiberscope.accelerators.problem_settings import configure

    descriptor = accelerators.find(accelerator)
    configured, _maker = configure(descriptor, config, parse_settings(settings))
    parameters = getattr(configured, "memory", None)
    if not isinstance(parameters, MemoryParameters):
        raise InputError(f"{descriptor.name} has no parameters memory.*, so there is no memory to replay on")
    try:
        dram = parameters.model_copy(update={"model": "dram"})
        dram.check(request_bytes)
        return dram.dram(request_bytes)
    except ValueError as error:
        raise InputError(f"{descriptor.name}: {error}") from error


def _read_requests(trace: Path) -> list[Request]:
    """Return the requests of a trace file.

    Raises:
        InputError: the file cannot be read, has an invalid line, or has no requests.
    """
    from fiberscope.hw.dram.trace_file import read_trace

    try:
        requests = read_trace(trace)
    except OSError as error:  # a damaged .gz is one without ``strerror``
        raise InputError(f"{trace}: cannot be read: {error.strerror or error}") from error
    except (EOFError, zlib.error) as error:
        raise InputError(f"{trace}: cannot be read: {error}") from error
    except ValueError as error:
        raise InputError(str(error)) from error
    if not requests:
        raise InputError(f"{trace}: has no requests; a line is 'cycle R|W hexadecimal-address'")
    return requests


def _table(results: Sequence[ReplayResult]) -> Table:
    """Return a row for each channel and a total; cycles are those of the memory clock."""
    counts, rows = ("requests", "reads", "last cycle"), ("hits", "misses", "conflicts")
    title = f"{sum(result.requests for result in results):,} requests"
    table = Table(title, ("channel", *counts, "read latency", *rows, "GiB/s"))
    for number, result in enumerate(results):
        table.add(str(number), *_cells(result))
    if len(results) > 1:
        table.add("all", *_cells(_total(results)))
    return table


def _cells(result: ReplayResult) -> tuple[str, ...]:
    """Format a row of the table, without its first column."""
    rows = (result.counters[name] for name in ("row_hits", "row_misses", "row_conflicts"))
    counts = (result.requests, result.reads, result.last_completion_cycle)
    return (
        *(f"{count:,}" for count in counts),
        f"{result.mean_read_latency:,.1f}",
        *(f"{count:,}" for count in rows),
        f"{result.bytes_per_second / GIB:,.2f}",
    )


def _total(results: Sequence[ReplayResult]) -> ReplayResult:
    """Return the sums over all channels, with the mean latency of all reads.

    The bandwidth is over the time until the last channel has ended. The statistics, completions and commands
    stay those of the first channel; the table does not show them.
    """
    last = max(result.last_completion_cycle for result in results)
    reads = sum(result.reads for result in results)
    latency = sum(result.counters["read_latency"] for result in results)
    # Bandwidth times cycles is the bytes of a channel, times the cycles of a second.
    scaled_bytes = sum(result.bytes_per_second * result.last_completion_cycle for result in results)
    return replace(
        results[0],
        requests=sum(result.requests for result in results),
        reads=reads,
        last_completion_cycle=last,
        mean_read_latency=latency / reads if reads else 0.0,
        bytes_per_second=scaled_bytes / last if last else 0.0,
        counters={name: sum(result.counters[name] for result in results) for name in results[0].counters},
    )
