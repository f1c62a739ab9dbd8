"""How much our own choices of Gamma matter: cycles with one of them changed, for docs/accuracy.md.

    python benchmarks/choices.py wiki-Vote simple
    python benchmarks/choices.py p2p-Gnutella31 dram controllers

Which matrix, which memory, and which table: ``choices`` (by default) or ``controllers``. Rows are in affinity
order, as in the published runs. A choice that a memory does not have has no row there.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

import accelerators
import fiberscope
from fiberscope.study.compare import published

Settings = dict[str, str]

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
OLD = "memory.scheduler=frfcfs memory.refresh=all_bank memory.read_queue=64 memory.write_queue=64"
CONTROLLERS = (
    OLD,
    f"{OLD} memory.scheduler=row_hit_first",
    f"{OLD} memory.write_queue=128",
    f"{OLD} memory.read_queue=128 memory.write_queue=128",
    f"{OLD} memory.write_low=0",
    f"{OLD} network.virtual_output_queues=64",
    f"{OLD} memory.address_map=MOP4CLXOR",
    f"{OLD} memory.address_map=RoBaCoBgCh",
    f"{OLD} memory.refresh=per_bank",
    f"{OLD} memory.refresh=off",
    "memory.refresh=per_bank",
    "",
    "memory.refresh=off",
)
ONLY = {  # parts of a setting that one memory alone has
    "simple": ("memory.simple",),
    "dram": ("scheduler.output_page", "address_map", "memory.scheduler", "refresh", "read_queue"),
}


def settings_of(text: str) -> Settings:
    """A row's settings, the later ones over the earlier."""
    return dict(part.split("=", 1) for part in text.split())


def cycles(matrix: str, memory: str, settings: Settings) -> int:
    """Of a run in the setting of the published ones, with these settings over it."""
    shipped = {"reorder": "affinity", "memory.model": memory}
    return fiberscope.simulate("gamma", matrix, settings=shipped | settings).cycles


def rows(matrix: str, memory: str, texts: Iterable[str], base: float) -> None:
    """Print the cycles of each setting beside ``base``."""
    other = ONLY["simple" if memory == "dram" else "dram"]
    for text in texts:
        if not any(part in text for part in other):
            count = cycles(matrix, memory, settings_of(text))
            print(f"| `{text or 'as shipped'}` | {count:,} | {count / base - 1:+.1%} |", flush=True)


def reported(matrix: str) -> float:
    """Cycles that were published."""
    figures = published(accelerators.find("gamma")).figures
    return next(one.cycles for one in figures if one.matrix == matrix and one.by == "reported")


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("matrix", nargs="?", default="p2p-Gnutella31")
    parser.add_argument("memory", nargs="?", choices=("simple", "dram"), default="simple")
    parser.add_argument("table", nargs="?", choices=("choices", "controllers"), default="choices")
    given = parser.parse_args()
    if given.table == "controllers":
        print(f"| {given.matrix}, {given.memory} | cycles | over those reported |\n| --- | ---: | ---: |")
        rows(given.matrix, given.memory, CONTROLLERS, reported(given.matrix))
        return
    shipped = cycles(given.matrix, given.memory, {})
    print(f"| {given.matrix}, {given.memory} | cycles | over {shipped:,} as shipped |\n| --- | ---: | ---: |")
    rows(given.matrix, given.memory, CHOICES, shipped)


if __name__ == "__main__":
    main()
