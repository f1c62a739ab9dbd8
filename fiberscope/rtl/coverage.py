"""Functional coverage of modules in a run: counts of events at ports, as a table and a JSON file.

A *bin* is the count of one kind of event, such as a token or a wait, at one stream, or a counter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from fiberscope.hw.rtl.kit.port_coverage import BACK_TO_BACK, TOKENS, WAITS
from fiberscope.results.report.files import write_text

PortBins: TypeAlias = "Mapping[str, Mapping[str, int]]"  # by stream: counts by kind of event
COLUMNS = (TOKENS, BACK_TO_BACK, WAITS)  # kinds of events in the table
NAME_WIDTH = 34  # columns for the name of a port


@dataclass(frozen=True)
class Coverage:
    """Coverage of one module in a run.

    Args:
        ports: counts of events at each stream, by kind.
        counters: counters of the block, if a run reports them.
    """

    ports: PortBins
    counters: Mapping[str, int] = field(default_factory=dict)

    def bins(self) -> dict[str, int]:
        """Return all bins by name: ``PORT KIND`` for an event at a port, ``counter NAME`` for a counter."""
        at_ports = {f"{label} {kind}": n for label, kinds in self.ports.items() for kind, n in kinds.items()}
        return at_ports | {f"counter {name}": count for name, count in self.counters.items()}

    def empty(self) -> list[str]:
        """Return the names of the bins that are 0: events that the run did not cover."""
        return [name for name, count in self.bins().items() if not count]

    def rows(self) -> Iterator[str]:
        """Yield the lines of a table: one for each port, or for all members of an array.

        The counts of the members are added up. The table has the kinds of ``COLUMNS`` only, and no counters.
        """
        for port, members in _arrays(self.ports).items():
            name = port if len(members) == 1 else f"{port} ({len(members)})"
            counts = "".join(f"{sum(member[kind] for member in members):>14,}" for kind in COLUMNS)
            yield f"  {name[: NAME_WIDTH - 2]:<{NAME_WIDTH - 2}}{counts}"


def _arrays(ports: PortBins) -> dict[str, list[Mapping[str, int]]]:
    """Return the counts of the streams of each port; ``in[0]`` and ``in[1]`` are streams of ``in``."""
    arrays: dict[str, list[Mapping[str, int]]] = {}
    for label, kinds in ports.items():
        arrays.setdefault(label.partition("[")[0], []).append(kinds)
    return arrays


def write_coverage(modules: Mapping[str, Coverage], file: Path) -> Iterator[str]:
    """Write the coverage of modules as JSON, and yield lines for the terminal.

    The file is written when the first line is requested.

    Args:
        modules: coverage by the name of an instance or device.
        file: the JSON file; ``-`` writes none.

    Raises:
        InputError: the file cannot be written.
    """
    if str(file) != "-":
        document = {
            name: {"ports": coverage.ports, "counters": dict(coverage.counters), "empty": coverage.empty()}
            for name, coverage in modules.items()
        }
        write_text(file, json.dumps(document, indent=1) + "\n")
    for name, coverage in modules.items():
        bins, empty = coverage.bins(), coverage.empty()
        yield f"coverage of {name}: {len(bins) - len(empty)} of {len(bins)} bins"
        yield f"  {'port':<{NAME_WIDTH - 2}}" + "".join(f"{kind:>14}" for kind in COLUMNS)
        yield from coverage.rows()
