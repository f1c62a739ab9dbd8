"""Coverage of sampled runs: estimates by many seeds against one full run of each case.

    python benchmarks/sampling.py [--seeds 20] [CASE ...]

Prints a row a case: cycles of the full run, the share that is simulated, mean and root mean square error,
mean half-width, how many of the 95 % intervals contain the cycles of the full run, and the speed-up.
"""

from __future__ import annotations

import argparse

import numpy as np

import fiberscope

# Matrices, with settings that make their runs long enough to sample. The length of a window was chosen after
# runs of the first case; the other cases chose nothing.
CASES = {
    "wiki-Vote, 8 PEs": ("wiki-Vote", {"pe.count": 8}),
    "p2p-Gnutella31, 2 channels": ("p2p-Gnutella31", {"memory.channels": 2}),
    "uniform, 8 a row": ("uniform:rows=50000,cols=50000,nonzeros=400000", {}),
    "uniform, 3 a row": ("uniform:rows=300000,cols=300000,nonzeros=900000", {}),
    "Chung-Lu 2.5, 8 PEs": (
        "chung-lu:rows=40000,cols=40000,nonzeros=300000,exponent=2.5",
        {"pe.count": 8},
    ),
    "Chung-Lu 2.1 (hub rows), 4 PEs": (
        "chung-lu:rows=30000,cols=30000,nonzeros=300000",
        {"pe.count": 4},
    ),
    "R-MAT (hub rows), 8 PEs": ("rmat:scale=14,nonzeros=60000", {"pe.count": 8}),
}
HEAD = "| run | cycles | simulated | mean, rms error | half-width | covered | speed-up |"
RULE = "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"


def row(name: str, matrix: str, settings: dict[str, int], seeds: int) -> str:
    """The row of a case, as Markdown."""
    full = fiberscope.simulate("gamma", matrix, settings=settings)
    runs = [
        fiberscope.simulate("gamma", matrix, settings=settings, sample=fiberscope.Sample(seed=seed))
        for seed in range(seeds)
    ]
    told = [(run, run.sampling, run.cycles_interval) for run in runs]
    sampled = [
        (run, how, interval) for run, how, interval in told if how is not None and interval is not None
    ]
    if not sampled:
        return f"| {name} | {full.cycles:,} | simulated in full | | | | |"
    errors = np.array([run.cycles / full.cycles - 1 for run, _, _ in sampled])
    covered = sum(low <= full.cycles <= high for _, _, (low, high) in sampled)
    fraction = np.mean([how.fraction for _, how, _ in sampled])
    half_width = np.mean([how.half_width for _, how, _ in sampled])
    seconds = np.mean([run.host.seconds for run, _, _ in sampled])
    columns = (
        name,
        f"{full.cycles:,}",
        f"{fraction:.1%}",
        f"{errors.mean():+.2%}, {(errors**2).mean() ** 0.5:.2%}",
        f"{half_width:.2%}",
        f"{covered}/{len(sampled)}",
        f"{full.host.seconds / seconds:.1f}",
    )
    return f"| {' | '.join(columns)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="the begin of a name; all by default")
    parser.add_argument("--seeds", type=int, default=2)
    asked = parser.parse_args()
    print(HEAD, RULE, sep="\n")
    for name, (matrix, settings) in CASES.items():
        if not asked.cases or name.startswith(tuple(asked.cases)):
            print(row(name, matrix, settings, asked.seeds), flush=True)


if __name__ == "__main__":
    main()
