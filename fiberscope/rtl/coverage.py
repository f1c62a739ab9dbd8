"""Functional coverage of modules in a run: a table of the events at their ports, and a JSON file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from fiberscope.hw.rtl.kit.port_coverage import BACK_TO_BACK, TOKENS, WAITS
from fiberscope.results.report.files import write_text

__all__ = ["Coverage", "PortBins", "write_coverage"]

PortBins: TypeAlias = "Mapping[str, Mapping[str, int]]"  # by stream: counts by kind of event
COLUMNS = (TOKENS, BACK_TO_BACK, WAITS)
WIDTH = 80  # columns of a terminal
NAME = 34  # of these for the name of a port


@dataclass(frozen=True)
class Coverage:
    """Coverage of one module in a run.

    Args:
        ports: counts of events at each stream, by kind.
        counters: the counters of the block, where a run reports them.
    """

    ports: PortBins
    counters: Mapping[str, int] = field(default_factory=dict)

    def bins(self) -> dict[str, int]:
        """All bins, by the names of port and kind, or of the counter."""
        at_ports = {f"{label} {kind}": n for label, kinds in self.ports.items() for kind, n in kinds.items()}
        return at_ports | {f"counter {name}": count for name, count in self.counters.items()}

    def empty(self) -> list[str]:
        """The bins without an event."""
        return [name for name, count in self.bins().items() if not count]

    def rows(self) -> Iterator[str]:
        """Lines of a table: one for each port, of an array one for all members."""
        for port, members in _arrays(self.ports).items():
            name = port if len(members) == 1 else f"{port} ({len(members)})"
            counts = "".join(f"{sum(member[kind] for member in members):>14,}" for kind in COLUMNS)
            yield f"  {name[: NAME - 2]:<{NAME - 2}}{counts}"


def _arrays(ports: PortBins) -> dict[str, list[Mapping[str, int]]]:
    """The streams by port, without index."""
    arrays: dict[str, list[Mapping[str, int]]] = {}
    for label, kinds in ports.items():
        arrays.setdefault(label.partition("[")[0], []).append(kinds)
    return arrays


def write_coverage(modules: Mapping[str, Coverage], file: Path) -> Iterator[str]:
    """Write the coverage of modules as JSON, and return lines for the terminal.

    Args:
        modules: the coverage by the name of an instance or device.
        file: what is written; nothing for ``-``.

    Raises:
        OSError: the file cannot be written.
    """
    if str(file) != "-":
        document = {
            name: {"ports": each.ports, "counters": dict(each.counters), "empty": each.empty()}
            for name, each in modules.items()
        }
        write_text(file, json.dumps(document, indent=1) + "\n")
    for name, each in modules.items():
        bins, empty = each.bins(), each.empty()
        yield f"coverage of {name}: {len(bins) - len(empty)} of {len(bins)} bins"
        yield f"  {'port':<{NAME - 2}}" + "".join(f"{kind:>14}" for kind in COLUMNS)
        yield from each.rows()
