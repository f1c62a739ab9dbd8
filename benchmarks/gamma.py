"""How fast Gamma is simulated: on wiki-Vote, compiled against uncompiled, and over growing matrices.

    python benchmarks/gamma.py               all of it
    python benchmarks/gamma.py --quick       without the largest matrices

Every figure comes from the report of a run in a process of its own (wiki-Vote is the surrogate unless the
real matrix is on FIBERSCOPE_DATA). Times are the fastest of the rounds: what the machine can do when nothing
else disturbs it.
"""

from __future__ import annotations

import argparse
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
GROWTH = (10_000, 30_000, 100_000, 300_000, 1_000_000)  # nonzeros
EXPONENT = 2.5  # of the power law: steep enough that the products grow about linearly with the nonzeros


def run(matrix: str, rounds: int = ROUNDS, **environment: str) -> dict[str, Any]:
    """The report of the fastest of some runs of Gamma on a matrix."""
    reports = [_run_once(matrix, environment) for _ in range(rounds)]
    return min(reports, key=lambda report: report["host"]["simulation_seconds"])


def _run_once(matrix: str, environment: dict[str, str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        command = [sys.executable, "-m", "fiberscope", "sim", "gamma", matrix, "--json", str(path), "--quiet"]
        quiet = subprocess.DEVNULL
        subprocess.run(command, cwd=ROOT, env=os.environ | environment, check=True, stderr=quiet)
        report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return report


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


def compare_modes() -> None:
    """Compiled against uncompiled on one small matrix; the simulated cycles must agree."""
    compiled, uncompiled = run(SMALL), run(SMALL, 1, FIBERSCOPE_UNCOMPILED="1")
    if compiled["cycles"] != uncompiled["cycles"]:
        raise SystemExit(f"cycles differ: compiled {compiled['cycles']}, uncompiled {uncompiled['cycles']}")
    ratio = uncompiled["host"]["simulation_seconds"] / compiled["host"]["simulation_seconds"]
    print(f"\ncompiled against uncompiled ({SMALL}, {compiled['cycles']:,} cycles in both)")
    for name, report in (("compiled", compiled), ("uncompiled", uncompiled)):
        host = report["host"]
        print(f"  {name:11s} {host['simulation_seconds']:8.3f} s {host['ticks_per_second']:12,.0f} ticks/s")
    print(f"  ratio       {ratio:8.1f}")


def growth(sizes: tuple[int, ...]) -> None:
    """Time and memory over power-law matrices; they should grow with products and nonzeros, not faster."""
    print(f"\ngrowth over Chung-Lu matrices, exponent {EXPONENT}, 10 nonzeros a row")
    print("   nonzeros    products   seconds   ns a product   peak MB   B a nonzero above the smallest")
    base: tuple[int, int] | None = None
    for nonzeros in sizes:
        rows = nonzeros // 10
        spec = f"chung-lu:rows={rows},cols={rows},nonzeros={nonzeros},exponent={EXPONENT},seed=1"
        report = run(spec, 1)
        host, products = report["host"], report["operations"]["multiply"]
        memory = host["peak_memory_bytes"]
        base = base or (nonzeros, memory)
        above = (memory - base[1]) / (nonzeros - base[0]) if nonzeros > base[0] else 0.0
        seconds = host["simulation_seconds"]
        each = seconds / products * 1e9
        print(f"{nonzeros:11,} {products:11,} {seconds:9.2f} {each:14.0f} {memory / 1e6:9.0f} {above:12.0f}")


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="leave out the largest matrices")
    quick = parser.parse_args().quick
    describe("Gamma on wiki-Vote", run("wiki-Vote", 1 if quick else ROUNDS))
    compare_modes()
    growth(GROWTH[:3] if quick else GROWTH)


if __name__ == "__main__":
    main()
