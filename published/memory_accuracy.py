"""Accuracy of the DRAM channel: comparison with Ramulator 2.1 on the same traces.

Run: ``python published/memory_accuracy.py``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fiberscope.hw.dram import DramSpecification, replay

ORACLES = Path(__file__).parent.parent / "tests" / "oracles" / "hbm2"
MAPS = {"base": "RoBaRaCoCh", "mop": "MOP4CLXOR"}


def rows() -> Iterator[tuple[str, ...]]:
    """Yield a row per trace and address map; each cell is the reference's figure, a slash and ours."""
    for configuration, address_map in MAPS.items():
        reference = json.loads((ORACLES / f"reference_{configuration}.json").read_text(encoding="utf-8"))
        for result in reference["results"]:
            yield _row(address_map, result)


def _row(address_map: str, reference: dict[str, Any]) -> tuple[str, ...]:
    """Replay a trace, and return a row with the results of the reference and ours."""
    specification = DramSpecification(
        address_map=address_map, refresh="off", request_bytes=32, interleave_bytes=32
    )
    trace = ORACLES / f"{reference['trace']}.gz"
    result = replay(trace, specification, reference["issue_per_cycle"])
    pairs = [
        (reference["last_completion_cycle"], result.last_completion_cycle),
        (reference["avg_read_latency"], round(result.mean_read_latency, 4)),
        (reference["stats"]["row_hits"], result.counters["row_hits"]),
        (reference["stats"]["row_misses"], result.counters["row_misses"]),
        (reference["stats"]["row_conflicts"], result.counters["row_conflicts"]),
    ]
    name = reference["trace"].removesuffix(".trace")
    return (name, address_map, *(f"{expected} / {measured}" for expected, measured in pairs))


def main() -> None:
    """Print the table."""
    titles = ("trace", "address map", "last completion", "mean latency", "hits", "misses", "conflicts")
    print(f"| {' | '.join(titles)} |")
    print(f"|{' --- |' * len(titles)}")
    for row in rows():
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
