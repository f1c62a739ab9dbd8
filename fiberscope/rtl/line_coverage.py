"""Line, branch and toggle coverage of Verilog, as Verilator has counted it in a run.

A *point* is what Verilator counts: a block of lines or a branch that runs, or a bit that rises or falls.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fiberscope.hw.rtl.tools.verilated import VerilatedModule
from fiberscope.results.report.files import STANDARD_OUTPUT, write_text

DATA = "coverage.dat"  # Verilator's counts, in the folder of a run
LINE, BRANCH, TOGGLE = "line", "branch", "toggle"  # kinds of points
HEADER = "# SystemC::Coverage-3\n"
MAX_SHOWN = 10  # maximum of printed lines that are not covered

_RECORD = re.compile(r"^C '(?P<key>[^']*)' (?P<count>\d+)$", re.MULTILINE)
_TRANSITION = re.compile(r"(\[\d+\])?:(0->1|1->0)$")  # of a bit, behind the name of its signal


@dataclass(frozen=True, order=True)
class Point:
    """A point of the source.

    Args:
        file: path of the Verilog file.
        line: number of its line.
        column: column of the line.
        kind: ``LINE``, ``BRANCH`` or ``TOGGLE``.
        module: name of the module.
        name: name of the branch, such as ``cond_else``, or bit and transition, such as ``full[0]:0->1``.
        lines: numbers of the lines that run with a line or branch; empty for a toggle.
    """

    file: str
    line: int
    column: int
    kind: str
    module: str
    name: str
    lines: tuple[int, ...]

    @classmethod
    def parse(cls, key: str) -> Point:
        """Parse the key of Verilator's record: pairs of name and text, in any order.

        The character 1 begins a pair, the character 2 ends its name.

        Raises:
            KeyError, ValueError: the key lacks a pair, or has another form.
        """
        fields = dict(pair.split("\2", 1) for pair in key.split("\1") if pair)
        page, _, module = fields["page"].partition("/")
        kind = page.removeprefix("v_")  # the page is ``v_line/MODULE``; ``S`` are the lines of a block
        lines = tuple(_parse_ranges(fields.get("S", fields["l"]))) if kind != TOGGLE else ()
        return cls(fields["f"], int(fields["l"]), int(fields["n"]), kind, module, fields["o"], lines)


def _parse_ranges(ranges: str) -> Iterator[int]:
    """Yield the numbers of ranges such as ``7,9-12``."""
    for text in filter(None, ranges.split(",")):
        first, _, last = text.partition("-")
        yield from range(int(first), int(last or first) + 1)


class LineCoverage:
    """The counts of all points in a run, added up over the instances of a module.

    Args:
        text: records of Verilator, of any number of instances.
    """

    def __init__(self, text: str) -> None:
        self.counts: Counter[Point] = Counter()
        for record in _RECORD.finditer(text):
            self.counts[Point.parse(record["key"])] += int(record["count"])

    def modules(self) -> list[str]:
        """Return the names of the modules that have a point."""
        return sorted({point.module for point in self.counts})

    def lines(self, module: str | None = None, file: str | None = None) -> dict[tuple[str, int], int]:
        """Return how often each line with a line or branch point ran, by file and number.

        A line with several points has the maximum of their counts. Lines without a point are left out.

        Args:
            module: only lines of this module; None for all.
            file: only lines of this file; None for all.
        """
        runs: dict[tuple[str, int], int] = {}
        for point, count in sorted(self.counts.items()):
            if module in (None, point.module) and file in (None, point.file):
                for number in point.lines:
                    runs[point.file, number] = max(count, runs.get((point.file, number), 0))
        return dict(sorted(runs.items()))

    def summary(self, module: str) -> str:
        """Return how many lines, branches and toggles of a module are covered."""
        lines = self.lines(module).values()
        branches, toggles = (list(self._points(module, kind).values()) for kind in (BRANCH, TOGGLE))
        counts_by_kind = [("lines", lines), ("branches", branches), ("toggles", toggles)]
        shares = (f"{sum(map(bool, counts)):,} of {len(counts):,} {name}" for name, counts in counts_by_kind)
        return f"line coverage of {module}: {', '.join(shares)}"

    def _points(self, module: str, kind: str) -> dict[Point, int]:
        """Return the counts of the points of a kind in a module, in the order of the source."""
        counts = self.counts.items()
        return dict(sorted((point, n) for point, n in counts if (point.module, point.kind) == (module, kind)))

    def uncovered(self, module: str) -> Iterator[str]:
        """Yield each line of a module that never ran, or whose branch was never taken, with its text."""
        untaken: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
        for point, taken_count in self._points(module, BRANCH).items():
            if not taken_count:
                untaken[point.file, point.line].append(point.name)
        texts = {file: _read_lines(file) for file, _number in self.lines(module)}
        for (file, number), count in self.lines(module).items():
            if (file, number) in untaken or not count:
                reason = ", ".join(untaken[file, number]) if count else "never"
                text = texts[file][number - 1].strip() if number <= len(texts[file]) else ""
                yield f"{Path(file).name}:{number}: {reason}: {text}"

    def untoggled_signals(self, module: str) -> Iterator[str]:
        """Yield each signal of a module with the number of its toggles that did not occur."""
        missing_toggles, all_toggles = Counter[str](), Counter[str]()
        for point, count in self._points(module, TOGGLE).items():
            signal = _TRANSITION.sub("", point.name)
            all_toggles[signal] += 1
            missing_toggles[signal] += not count
        for signal, count in sorted(missing_toggles.items()):
            if count:
                yield f"{signal}: {count:,} of {all_toggles[signal]:,} toggles missing"

    def lcov(self) -> str:
        """Return lines and branches in the format of lcov; it has no records for toggles.

        The number of a branch within its line (third field of ``BRDA``) is its column.
        """
        records = []
        for file in sorted({point.file for point in self.counts}):
            lines = {number: count for (_, number), count in self.lines(file=file).items()}
            branches = [
                (point.line, point.column, count)
                for point, count in sorted(self.counts.items())
                if (point.file, point.kind) == (file, BRANCH)
            ]
            records += ["TN:", f"SF:{file}", *(f"DA:{number},{count}" for number, count in lines.items())]
            records += [f"LF:{len(lines)}", f"LH:{sum(map(bool, lines.values()))}"]
            records += [f"BRDA:{number},0,{column},{count}" for number, column, count in branches]
            records += [f"BRF:{len(branches)}", f"BRH:{sum(count > 0 for *_, count in branches)}"]
            records.append("end_of_record")
        return "".join(f"{record}\n" for record in records)

    def report(self) -> str:
        """Return the summary of each module, what is not covered, and the signals that did not toggle."""
        sections = []
        for module in self.modules():
            sections += [self.summary(module), *self.uncovered(module), *self.untoggled_signals(module), ""]
        return "\n".join(sections)


def _read_lines(file: str) -> list[str]:
    """Return the lines of a file; none if the file is gone."""
    path = Path(file)
    return path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []


def keep_counts(modules: Iterable[VerilatedModule], folder: Path) -> None:
    """Write the counts of all instances of modules, added up by point, to the file ``DATA`` of a folder.

    Verilator writes the counts of one instance, and replaces the file each time.

    Args:
        modules: modules that were compiled for coverage.
        folder: the existing folder.
    """
    counts: Counter[str] = Counter()
    for module in modules:
        for instance in module.instances:
            instance.write_coverage(folder / DATA)
            for record in _RECORD.finditer((folder / DATA).read_text(encoding="utf-8")):
                counts[record["key"]] += int(record["count"])
    records = (f"C '{key}' {count}\n" for key, count in counts.items())
    (folder / DATA).write_text(HEADER + "".join(records), encoding="utf-8")


def write_line_coverage(folder: Path, file: Path) -> Iterator[str]:
    """Write the coverage of a run, and yield lines for the terminal.

    The files are written when the first line is requested.

    Args:
        folder: folder of the run, with Verilator's counts.
        file: the lcov file; a report in text is beside it; ``-`` writes neither.

    Raises:
        InputError: a file cannot be written.
    """
    coverage = LineCoverage((folder / DATA).read_text(encoding="utf-8"))
    location = ""
    if file != STANDARD_OUTPUT:
        lcov, report = outputs(file).values()
        write_text(lcov, coverage.lcov())
        write_text(report, coverage.report())
        location = f" in {report}"
    for module in coverage.modules():
        yield coverage.summary(module)
        lines = list(coverage.uncovered(module))
        yield from (f"  {line}"[:100] for line in lines[:MAX_SHOWN])
        if len(lines) > MAX_SHOWN:
            yield f"  and {len(lines) - MAX_SHOWN:,} more lines{location}"


def outputs(file: Path) -> dict[str, Path]:
    """Return the lcov file and the report in text beside it, by their names in messages.

    For a ``file`` that ends in ``.txt`` both are the same path, which ``check_outputs`` refuses.
    """
    return {"--line-coverage": file, "its report": file.with_suffix(".txt")}
