"""Simulation speed of ExTensor: on two matrices, by mode, and for growing matrices.

    python benchmarks/extensor.py               all figures
    python benchmarks/extensor.py --quick       without the largest matrices

Figures and matrices are as in ``gamma.py``.
"""

from __future__ import annotations

import argparse

from machine_runs import EXPONENT, ROUNDS, compare_modes, describe, power_law, run

MATRICES = ("wiki-Vote", "p2p-Gnutella31")  # long and very short fibers in the microtiles
GROWTH = (10_000, 30_000, 100_000, 300_000)  # nonzeros


def growth(sizes: tuple[int, ...]) -> None:
    """Print the time for power-law matrices; it should grow linearly with steps and microtile products."""
    print(f"\ngrowth over Chung-Lu matrices, exponent {EXPONENT}, 10 nonzeros a row")
    print("   nonzeros   steps of K0   microtile products   seconds   peak MB")
    for nonzeros in sizes:
        report = run("extensor", power_law(nonzeros), 1)
        host, operations = report["host"], report["operations"]
        steps, products = operations["intersect_k0"], operations["microtile_products"]
        seconds, memory = host["simulation_seconds"], host["peak_memory_bytes"] / 1e6
        print(f"{nonzeros:11,} {steps:13,} {products:20,} {seconds:9.2f} {memory:9.0f}")


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="leave out the largest matrices")
    quick = parser.parse_args().quick
    for matrix in MATRICES[:1] if quick else MATRICES:
        describe(f"ExTensor on {matrix}", run("extensor", matrix, 1 if quick else ROUNDS))
    compare_modes("extensor")
    growth(GROWTH[:2] if quick else GROWTH)


if __name__ == "__main__":
    main()
