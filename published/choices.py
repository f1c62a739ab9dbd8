"""Effect of our own choices in Gamma: the tables of docs/accuracy.md, with a run of Gamma per cell.

    python published/choices.py --write docs/accuracy.md
    python published/choices.py controllers --matrix email-Enron

``choices`` (the default) shows cycles with one choice changed, with both memories. ``controllers`` shows
cycles of memory controllers with the DRAM, over the published cycles. Rows are in affinity order, as in the
published runs. A choice that a memory does not support has no cell.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from fiberscope import accelerators
from fiberscope.explore.compare import read_published
from fiberscope.explore.tables import simulate_to_end
from fiberscope.results.report.table import Table, format_percent, replace_between

Settings = dict[str, str]
Columns = Sequence[tuple[str, str]]  # matrix and memory

CHOICES = (
    "reorder=none",
    "scheduler.output_page=1KiB",
    "scheduler.output_page=64KiB",
    "scheduler.output_page=1GiB",
    "memory.address_map=RoBaRaCoCh",
    "memory.address_map=MOP4CLXOR",
    "memory.address_map=RoBaCoBgCh",
    "memory.interleave=256B",
    "memory.interleave=1KiB",
    "memory.scheduler=frfcfs",
    "memory.refresh=all_bank",
    "memory.refresh=per_bank",
    "memory.refresh=off",
    "memory.read_queue=32 memory.write_queue=32",
    "memory.read_queue=64 memory.write_queue=64",
    "memory.read_queue=256 memory.write_queue=256",
    "pe.merger_stages=1 pe.merger_latency=6",
    "pe.task_queue=1",
    "pe.task_queue=4",
    "pe.partial_queue=0",
    "pe.partial_queue=2",
    "pe.buffer_lines=2",
    "pe.buffer_lines=8",
    "network.queue=2",
    "network.queue=16",
    "fibercache.misses=8",
    "fibercache.misses=32",
    "scheduler.stream_lines=64",
    "scheduler.stream_lines=1024",
    "fibercache.line=128B memory.interleave=128B",
    "memory.simple_latency=200ns",
    "pe.count=16",
    "pe.count=64",
    "memory.bandwidth=4GiB/s",
    "memory.bandwidth=16GiB/s",
    "fibercache.size=1536KiB",
    "fibercache.size=6MiB",
    "pe.radix=32",
    "pe.radix=128",
)
OLD_CONTROLLER = "memory.scheduler=frfcfs memory.refresh=all_bank memory.read_queue=64 memory.write_queue=64"
CONTROLLERS = (
    OLD_CONTROLLER,
    f"{OLD_CONTROLLER} memory.scheduler=row_hit_first",
    f"{OLD_CONTROLLER} memory.write_queue=128",
    f"{OLD_CONTROLLER} memory.read_queue=128 memory.write_queue=128",
    f"{OLD_CONTROLLER} memory.write_low=0",
    f"{OLD_CONTROLLER} network.virtual_output_queues=64",
    f"{OLD_CONTROLLER} memory.address_map=MOP4CLXOR",
    f"{OLD_CONTROLLER} memory.address_map=RoBaCoBgCh",
    f"{OLD_CONTROLLER} memory.refresh=per_bank",
    f"{OLD_CONTROLLER} memory.refresh=off",
    "memory.refresh=per_bank",
    "",
    "memory.refresh=off",
)
MATRICES = {  # of each table, by default
    "choices": ("p2p-Gnutella31", "wiki-Vote"),
    "controllers": ("wiki-Vote", "p2p-Gnutella31", "ca-CondMat", "email-Enron"),
}
MEMORIES = {"choices": ("simple", "dram"), "controllers": ("dram",)}
UNSUPPORTED = {  # settings that a memory does not support
    "dram": ("memory.simple",),
    "simple": ("scheduler.output_page", "address_map", "memory.scheduler", "refresh", "read_queue"),
}


@cache
def cycles(matrix: str, memory: str, text: str) -> int:
    """Return the cycles of a run of Gamma with the published options and further settings.

    Args:
        matrix: the operand.
        memory: value of ``memory.model``.
        text: settings, ``key=value`` separated by blanks; they override the published options.
    """
    options = {"reorder": "affinity", "memory.model": memory}
    settings: Settings = dict(setting.split("=", 1) for setting in text.split())
    count = simulate_to_end("gamma", matrix, settings=options | settings).cycles
    print(f"{matrix}, {memory}, {text or 'as shipped'}: {count:,} cycles", file=sys.stderr, flush=True)
    return count


def reported(matrix: str) -> float:
    """Return the published cycles."""
    figures = read_published(accelerators.find("gamma")).figures
    published_cycles = next(
        figure.cycles for figure in figures if figure.matrix == matrix and figure.by == "reported"
    )
    assert published_cycles is not None  # all of Gamma's figures have cycles
    return published_cycles


def choices(columns: Columns) -> Table:
    """Return a table of shipped cycles, and of the relative change of cycles by each choice."""
    heads = [f"{matrix}, {memory}" for matrix, memory in columns]
    table = Table("Cycles over those of the machine as shipped", ("choice", *heads))
    table.add("as shipped", *(f"{cycles(*column, ''):,}" for column in columns))
    for text in CHOICES:
        table.add(
            f"`{text}`",
            *(
                ""
                if any(key in text for key in UNSUPPORTED[column[1]])
                else format_percent(cycles(*column, text) / cycles(*column, "") - 1)
                for column in columns
            ),
        )
    return table


def controllers(columns: Columns) -> Table:
    """Return a table of each controller's error against the reported cycles, and the mean absolute error."""
    table = Table("Cycles over those reported", ("controller", *(matrix for matrix, _ in columns), "mean"))
    for text in CONTROLLERS:
        errors = [cycles(*column, text) / reported(column[0]) - 1 for column in columns]
        mean = sum(map(abs, errors)) / len(errors)
        table.add(
            f"`{text or 'as shipped'}`", *map(format_percent, errors), format_percent(mean, signed=False)
        )
    return table


def main() -> None:
    """Print a table, or write it into a page, between its markers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", nargs="?", choices=("choices", "controllers"), default="choices")
    parser.add_argument("--matrix", action="append", help="a column's; repeatable")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="the page that has the table")
    arguments = parser.parse_args()
    matrices = arguments.matrix or MATRICES[arguments.table]
    columns = [(matrix, memory) for matrix in matrices for memory in MEMORIES[arguments.table]]
    if arguments.write:
        replace_between(arguments.write, arguments.table, "")  # detects errors before the runs
    text = {"choices": choices, "controllers": controllers}[arguments.table](columns).markdown()
    if arguments.write:
        arguments.write.write_text(
            replace_between(arguments.write, arguments.table, f"\n{text}\n"), encoding="utf-8"
        )
    else:
        print(text)


if __name__ == "__main__":
    main()
