"""Simulation speed of Gamma: on wiki-Vote, by mode, and for growing matrices.

    python benchmarks/gamma.py               all figures
    python benchmarks/gamma.py --quick       without the largest matrices

Every figure comes from the report of a run in a separate process (wiki-Vote is the surrogate unless the real
matrix is on FIBERSCOPE_DATA). Times are the minimum of the rounds, to exclude disturbances.
"""

from __future__ import annotations

import argparse

from machine_runs import EXPONENT, ROUNDS, compare_modes, describe, power_law, run

GROWTH = (10_000, 30_000, 100_000, 300_000, 1_000_000)  # nonzeros


def growth(sizes: tuple[int, ...]) -> None:
    """Print time and memory for power-law matrices; they should grow linearly with products and nonzeros."""
    print(f"\ngrowth over Chung-Lu matrices, exponent {EXPONENT}, 10 nonzeros a row")
    print("   nonzeros    products   seconds   ns a product   peak MB   B a nonzero above the smallest")
    base: tuple[int, int] | None = None
    for nonzeros in sizes:
        report = run("gamma", power_law(nonzeros), 1)
        host, products = report["host"], report["operations"]["multiply"]
        memory = host["peak_memory_bytes"]
        base = base or (nonzeros, memory)
        above = (memory - base[1]) / (nonzeros - base[0]) if nonzeros > base[0] else 0.0
        seconds = host["simulation_seconds"]
        period = seconds / products * 1e9
        print(
            f"{nonzeros:11,} {products:11,} {seconds:9.2f} {period:14.0f} {memory / 1e6:9.0f} {above:12.0f}"
        )


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="leave out the largest matrices")
    quick = parser.parse_args().quick
    describe("Gamma on wiki-Vote", run("gamma", "wiki-Vote", 1 if quick else ROUNDS))
    compare_modes("gamma")
    growth(GROWTH[:3] if quick else GROWTH)


if __name__ == "__main__":
    main()
