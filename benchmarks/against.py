"""Comparison of this tree with a commit: ratios of user time, and differences of reports.

    python benchmarks/against.py COMMIT                    all rows except the set-up
    python benchmarks/against.py COMMIT --only gamma,list  selected rows
    python benchmarks/against.py COMMIT --only setup       the first cold ``make sim`` of both, in minutes

The commit is compiled once, in the user's cache folder (``FIBERSCOPE_CACHE``), and runs with the libraries of
this environment. Runs alternate, and each pair reverses the order of the previous pair. A ratio is this
tree's user time over the commit's in one pair. Real matrices are used if they are on FIBERSCOPE_DATA. The
set-up measures the last commit, without uncommitted changes.
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
SETUP_COMMAND = ["make", "sim", "ACC=gamma", "MTX=wiki-Vote"]
ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": ""}  # write bytecode, as for a user
SETUP_ENVIRONMENT = {"CCACHE_DISABLE": "1", "MAKEFLAGS": "", "CC": "gcc"}

SIMULATED = "simulation_seconds"
SHOWN = 10  # printed differences

# Fields of a report that depend on the host, the version or the time.
HOST_FIELDS = {"host", "version", "source", "environment"}


class Run(NamedTuple):
    """User time of all processes of a command in seconds, and its report, if any."""

    user: float
    report: dict[str, Any]


def timed(command: list[str], folder: Path, environment: dict[str, str], report: Path) -> Run:
    """Run a command in a folder; print its output if it fails."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | ENVIRONMENT | environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            raise SystemExit(f"{' '.join(command)}, in {folder}:\n{output.read().decode()}")
    return Run(usage.ru_utime, json.loads(report.read_text()) if report.is_file() else {})


def command_run(row: str, tree: Path) -> Run:
    """Run the command of a row once with a compiled tree."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        arguments = [*ROWS[row], "--json", str(report)]
        return timed([sys.executable, "-m", "fiberscope", *arguments], tree, {}, report)


def first_make(commit: str) -> Run:
    """Run ``make sim`` from the sources to the first report."""
    with tempfile.TemporaryDirectory() as folder:
        extract(commit, Path(folder))
        return timed(SETUP_COMMAND, Path(folder), SETUP_ENVIRONMENT, Path(folder, "out/gamma-wiki-Vote.json"))


def extract(commit: str, folder: Path) -> None:
    """Write the files of a commit into a folder."""
    packed = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed, check=True)


def full_name(commit: str) -> str:
    """Return the full name of a commit."""
    command = ["git", "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"]
    process = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if process.returncode:
        raise SystemExit(f"against.py: there is no commit {commit} here")
    return process.stdout.strip()


def compiled_tree(commit: str) -> Path:
    """Return a folder with the commit, compiled by this Python."""
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
    """Yield the values of a report by path, without the fields of ``APART``."""
    if not isinstance(document, dict | list):
        yield path, document
        return
    for key, value in document.items() if isinstance(document, dict) else enumerate(document):
        if path or key not in HOST_FIELDS:
            yield from leaves(value, f"{path}.{key}" if path else str(key))


def differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Return the differences of two reports, without the fields of ``APART``."""
    first, second = dict(leaves(before)), dict(leaves(now))
    return [
        f"{path}: {first.get(path, 'nothing')} before, {second.get(path, 'nothing')} now"
        for path in dict.fromkeys([*first, *second])
        if path not in first or path not in second or first[path] != second[path]
    ]


def spread(ratios: list[float]) -> str:
    """Format median, minimum and maximum."""
    return f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def run(row: str, commit: str | None) -> Run:
    """Run a row once with a commit, or with this tree."""
    if row == SETUP:
        return first_make(commit or "HEAD")
    return command_run(row, compiled_tree(commit) if commit else ROOT)


def paired_runs(row: str, commit: str, rounds: int) -> Iterator[tuple[Run, Run]]:
    """Yield alternating runs of the commit and of this tree."""
    for turn in range(rounds):
        if turn % 2:
            now = run(row, None)
            yield run(row, commit), now
        else:
            before = run(row, commit)
            yield before, run(row, None)


def measure(row: str, commit: str, rounds: int) -> None:
    """Print the ratios of a row, and the differences between the reports of the last pair."""
    pairs = list(paired_runs(row, commit, rounds))
    before, now = (median(run.user for run in runs) for runs in zip(*pairs, strict=True))
    texts = [f"{row:<18} {spread([new.user / old.user for old, new in pairs])}"]
    texts.append(f"{before:.2f} s before, {now:.2f} s now")
    hosts = [(old.report.get("host"), new.report.get("host")) for old, new in pairs]
    simulated = [new[SIMULATED] / old[SIMULATED] for old, new in hosts if old and new]
    changed = differences(*(run.report for run in pairs[-1]))
    if simulated:
        texts += [f"simulation {spread(simulated)}", f"{len(changed)} values of the report differ"]
    print("; ".join(texts), *changed[:SHOWN], sep="\n    ", flush=True)


def main() -> None:
    """Print the selected rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commit", help="what to measure against")
    parser.add_argument("--only", default=",".join(ROWS), help=f"of {', '.join([*ROWS, SETUP])}")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of each")
    arguments = parser.parse_args()
    selected = arguments.only.split(",")
    if unknown := [row for row in selected if row not in (*ROWS, SETUP)]:
        parser.error(f"{unknown[0]} is not one of {', '.join([*ROWS, SETUP])}")
    commit = full_name(arguments.commit)
    print("user time, this tree over the commit: median of the pairs (least to largest)")
    for row in selected:
        measure(row, commit, arguments.rounds)


if __name__ == "__main__":
    main()
