"""Benchmark runs of machines in separate processes, and the speed figures of their reports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 3
SMALL = "rmat:scale=9,nonzeros=3000,seed=1"
EXPONENT = 2.5  # of the power law; products then grow nearly linearly with nonzeros

Report = dict[str, Any]


def run(machine: str, matrix: str, rounds: int = ROUNDS, **environment: str) -> Report:
    """Return the report of the fastest of several runs of a machine on a matrix."""
    reports = [_run_once(machine, matrix, environment) for _ in range(rounds)]
    return min(reports, key=lambda report: report["host"]["simulation_seconds"])


def _run_once(machine: str, matrix: str, environment: dict[str, str]) -> Report:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        command = [sys.executable, "-m", "fiberscope", "sim", machine, matrix, "--json", str(path), "--quiet"]
        quiet = subprocess.DEVNULL
        subprocess.run(command, cwd=ROOT, env=os.environ | environment, check=True, stderr=quiet)
        report: Report = json.loads(path.read_text(encoding="utf-8"))
    return report


def power_law(nonzeros: int) -> str:
    """Return a square matrix with power-law degrees and 10 nonzeros per row."""
    rows = nonzeros // 10
    return f"chung-lu:rows={rows},cols={rows},nonzeros={nonzeros},exponent={EXPONENT},seed=1"


def describe(title: str, report: dict[str, Any]) -> None:
    """Print the figures of one run."""
    host, nonzeros = report["host"], report["workload"]["nonzeros"]
    print(f"{title} ({report['workload']['source']}, {nonzeros:,} nonzeros)")
    print(f"  in all                      {host['seconds']:.2f} s")
    print(f"  of which simulation         {host['simulation_seconds']:.2f} s")
    print(f"  component ticks a second    {host['ticks_per_second']:,.0f}")
    print(f"  cycles a second             {host['cycles_per_second']:,.0f}")
    print(f"  multiplies a second         {host['multiplies_per_second']:,.0f}")
    print(f"  multiplies per host cycle   {host['computes_per_host_cycle']:.6f}")
    print(f"  peak memory                 {host['peak_memory_bytes'] / 1e6:.0f} MB")


def compare_modes(machine: str) -> None:
    """Compare the compiled and uncompiled modes on a small matrix; the simulated cycles must agree."""
    compiled, uncompiled = run(machine, SMALL), run(machine, SMALL, 1, FIBERSCOPE_UNCOMPILED="1")
    if compiled["cycles"] != uncompiled["cycles"]:
        raise SystemExit(f"cycles differ: compiled {compiled['cycles']}, uncompiled {uncompiled['cycles']}")
    ratio = uncompiled["host"]["simulation_seconds"] / compiled["host"]["simulation_seconds"]
    print(f"\ncompiled against uncompiled ({SMALL}, {compiled['cycles']:,} cycles in both)")
    for name, report in (("compiled", compiled), ("uncompiled", uncompiled)):
        host = report["host"]
        print(f"  {name:11s} {host['simulation_seconds']:8.3f} s {host['ticks_per_second']:12,.0f} ticks/s")
    print(f"  ratio       {ratio:8.1f}")
