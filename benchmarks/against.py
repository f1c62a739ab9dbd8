"""This tree against a commit: ratios of user time, and where reports differ.

    python benchmarks/against.py COMMIT                    all but the set-up
    python benchmarks/against.py COMMIT --only gamma,list  these
    python benchmarks/against.py COMMIT --only setup       the first ``make sim`` of both, cold: minutes

The commit is compiled once, in the user's cache folder (``FIBERSCOPE_CACHE``), and runs with the libraries of
this environment. Runs of both are taken in turn, each pair in the other order than the one before; a ratio is
this tree's user time over the commit's in one pair. Real matrices are used where they are on FIBERSCOPE_DATA.
The set-up is that of the last commit here, without what is not committed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from graphs import graph

from fiberscope.workloads.cache import cache_folder

ROOT = Path(__file__).resolve().parents[1]
SEARCHED = graph(3_000_000)
DRAWN = "sam-random:shape=250x250,sparsity=0.95"
SPMSPM = "examples/graphs/fig12_ikj.gv"

ROWS = {
    "gamma": ["sim", "gamma", "wiki-Vote"],
    "extensor": ["sim", "extensor", "wiki-Vote"],
    "extensor-gnutella": ["sim", "extensor", "p2p-Gnutella31"],
    "outerspace": ["sim", "outerspace", "wiki-Vote"],
    "graphicionado": ["sim", "graphicionado", SEARCHED, "--set", "problem.algorithm=bfs"],
    "graph": ["graph", "run", SPMSPM, f"B={DRAWN}", f"C={DRAWN},seed=1", "--set", "timing=sam"],
    "tiny": ["sim", "gamma", "uniform:rows=20,cols=20,nonzeros=60"],
    "list": ["list"],
}
SETUP = "setup"
MADE = ["make", "sim", "ACC=gamma", "MTX=wiki-Vote"]
KEPT = {"PYTHONDONTWRITEBYTECODE": ""}  # bytecode, as a user has it
MAKER = {"CCACHE_DISABLE": "1", "MAKEFLAGS": "", "CC": "gcc"}

SIMULATED = "simulation_seconds"
SHOWN = 10  # differences

# Of a report, what tells who ran it and when.
APART = {"host", "version", "source", "environment"}


class Run(NamedTuple):
    """Seconds of the processor spent for the user, of all processes of a command, and its report, if any."""

    user: float
    report: dict[str, Any]


def timed(command: list[str], folder: Path, environment: dict[str, str], report: Path) -> Run:
    """Run a command in a folder; what it says is shown if it fails."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command, cwd=folder, env=os.environ | KEPT | environment, stdout=said, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            raise SystemExit(f"{' '.join(command)}, in {folder}:\n{said.read().decode()}")
    return Run(usage.ru_utime, json.loads(report.read_text()) if report.is_file() else {})


def command_run(row: str, tree: Path) -> Run:
    """One run of a row's command by a compiled tree."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        given = [*ROWS[row], "--json", str(report)]
        return timed([sys.executable, "-m", "fiberscope", *given], tree, {}, report)


def first_make(commit: str) -> Run:
    """From the sources alone to the report of the first simulation."""
    with tempfile.TemporaryDirectory() as folder:
        extract(commit, Path(folder))
        return timed(MADE, Path(folder), MAKER, Path(folder, "out/gamma-wiki-Vote.json"))


def extract(commit: str, folder: Path) -> None:
    """Write the files of a commit into a folder."""
    packed = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed, check=True)


def named(commit: str) -> str:
    """A commit's full name."""
    command = ["git", "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"]
    found = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if found.returncode:
        raise SystemExit(f"against.py: there is no commit {commit} here")
    return found.stdout.strip()


def compiled(commit: str) -> Path:
    """A folder with the commit, compiled by the Python that runs this."""
    tree = cache_folder() / "commits" / f"{commit}-{sys.implementation.cache_tag}"
    if not tree.is_dir():
        print(f"compiling {commit[:9]} in {tree}, once: minutes ...", flush=True)
        tree.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=tree.parent) as folder:
            whole = Path(folder, "whole")
            whole.mkdir()
            extract(commit, whole)
            timed([sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"], whole, {}, whole)
            whole.rename(tree)
    return tree


def leaves(document: object, path: str = "") -> Iterator[tuple[str, object]]:
    """The values of a report by their path, but for those of ``APART``."""
    if not isinstance(document, dict | list):
        yield path, document
        return
    for key, value in document.items() if isinstance(document, dict) else enumerate(document):
        if path or key not in APART:
            yield from leaves(value, f"{path}.{key}" if path else str(key))


def differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Where two reports differ, but for who ran them and when."""
    first, second = dict(leaves(before)), dict(leaves(now))
    return [
        f"{path}: {first.get(path, 'nothing')} before, {second.get(path, 'nothing')} now"
        for path in dict.fromkeys([*first, *second])
        if path not in first or path not in second or first[path] != second[path]
    ]


def spread(ratios: list[float]) -> str:
    """Median, least and largest."""
    return f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def run(row: str, commit: str | None) -> Run:
    """One run of a row by a commit, or by this tree."""
    if row == SETUP:
        return first_make(commit or "HEAD")
    return command_run(row, compiled(commit) if commit else ROOT)


def paired(row: str, commit: str, rounds: int) -> Iterator[tuple[Run, Run]]:
    """Runs by the commit and by this tree, taken in turn."""
    for turn in range(rounds):
        if turn % 2:
            now = run(row, None)
            yield run(row, commit), now
        else:
            before = run(row, commit)
            yield before, run(row, None)


def measure(row: str, commit: str, rounds: int) -> None:
    """Print a row: its ratios, and where the reports of the last pair differ."""
    pairs = list(paired(row, commit, rounds))
    before, now = (median(run.user for run in runs) for runs in zip(*pairs, strict=True))
    told = [f"{row:<18} {spread([new.user / old.user for old, new in pairs])}"]
    told.append(f"{before:.2f} s before, {now:.2f} s now")
    hosts = [(old.report.get("host"), new.report.get("host")) for old, new in pairs]
    simulated = [new[SIMULATED] / old[SIMULATED] for old, new in hosts if old and new]
    found = differences(*(run.report for run in pairs[-1]))
    if simulated:
        told += [f"simulation {spread(simulated)}", f"{len(found)} values of the report differ"]
    print("; ".join(told), *found[:SHOWN], sep="\n    ", flush=True)


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commit", help="what to measure against")
    parser.add_argument("--only", default=",".join(ROWS), help=f"of {', '.join([*ROWS, SETUP])}")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of each")
    given = parser.parse_args()
    wanted = given.only.split(",")
    if unknown := [row for row in wanted if row not in (*ROWS, SETUP)]:
        parser.error(f"{unknown[0]} is not one of {', '.join([*ROWS, SETUP])}")
    commit = named(given.commit)
    print("user time, this tree over the commit: median of the pairs (least to largest)")
    for row in wanted:
        measure(row, commit, given.rounds)


if __name__ == "__main__":
    main()
