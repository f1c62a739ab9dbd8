"""Coverage of sampled runs: estimates by many seeds against one full run of each case.

    python benchmarks/sampling.py [--seeds 20] [CASE ...]

Each case has a row: cycles of the full run (the mean of several), the simulated share, mean and root mean
square error, mean half-width, how many of the 95 % intervals contain the cycles of the full run, and the
speed-up.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

import numpy as np

import fiberscope

# Machines and matrices, with settings that make their runs long enough to sample. docs/sampling.md lists the
# cases of Gamma on which choices were based; the last two were not used. A matrix with {seed} differs by
# seed, for machines whose windows do not depend on the seed.
PAGERANK = {"problem.algorithm": "pagerank", "problem.iterations": 24}
CASES: dict[str, tuple[str, str, Mapping[str, object]]] = {
    "wiki-Vote, 8 PEs": ("gamma", "wiki-Vote", {"pe.count": 8}),
    "p2p-Gnutella31, 2 channels": ("gamma", "p2p-Gnutella31", {"memory.channels": 2}),
    "uniform, 8 a row": ("gamma", "uniform:rows=50000,cols=50000,nonzeros=400000", {}),
    "uniform, 3 a row": ("gamma", "uniform:rows=300000,cols=300000,nonzeros=900000", {}),
    "Chung-Lu 2.5, 8 PEs": (
        "gamma",
        "chung-lu:rows=40000,cols=40000,nonzeros=300000,exponent=2.5",
        {"pe.count": 8},
    ),
    "Chung-Lu 2.1 (hub rows), 4 PEs": (
        "gamma",
        "chung-lu:rows=30000,cols=30000,nonzeros=300000",
        {"pe.count": 4},
    ),
    "R-MAT (hub rows), 8 PEs": ("gamma", "rmat:scale=14,nonzeros=60000", {"pe.count": 8}),
    "email-Enron stand-in (hub rows)": ("gamma", "email-Enron", {}),
    "ca-CondMat stand-in, 8 PEs": ("gamma", "ca-CondMat", {"pe.count": 8}),
    "banded, 8 PEs": ("gamma", "banded:rows=40000,cols=40000,nonzeros=400000,bandwidth=200", {"pe.count": 8}),
    "Chung-Lu 3, 4 PEs": (
        "gamma",
        "chung-lu:rows=60000,cols=60000,nonzeros=300000,exponent=3",
        {"pe.count": 4},
    ),
    "Graphicionado, wiki-Vote": ("graphicionado", "graph:order=random,seed={seed},of=wiki-Vote", PAGERANK),
    "Graphicionado, R-MAT": ("graphicionado", "rmat:scale=12,nonzeros=40000,seed={seed}", PAGERANK),
    "Graphicionado, uniform": (
        "graphicionado",
        "uniform:rows=13000,cols=13000,nonzeros=65000,seed={seed}",
        PAGERANK,
    ),
    "GraphDynS, Chung-Lu 2.5": (
        "graphicionado",
        "chung-lu:rows=12000,cols=12000,nonzeros=90000,exponent=2.5,seed={seed}",
        {**PAGERANK, "design": "graphdyns"},
    ),
    "ExTensor, p2p-Gnutella31": ("extensor", "p2p-Gnutella31", {}),
    "ExTensor, uniform": ("extensor", "uniform:rows=50000,cols=50000,nonzeros=150000", {}),
    "SIGMA, GEMM": ("sigma", "gemm:m=512,n=4096,k=4096,a=0.2,b=0.5", {}),
    "SIGMA, GEMM, 2 channels": ("sigma", "gemm:m=512,n=4096,k=4096,a=0.2,b=0.5", {"memory.channels": 2}),
    "SIGMA, uniform, 4 channels": (
        "sigma",
        "uniform:rows=4000,cols=4000,nonzeros=40000",
        {"memory.channels": 4},
    ),
    "SIGMA, wiki-Vote": ("sigma", "wiki-Vote", {}),
    **{
        f"{name}, {matrix.partition(':')[0]}": (machine, matrix, settings)
        for name, machine, settings in (
            ("spec:gamma", "spec:gamma", {"pe.count": 8}),
            ("template", "fiberscope/template/row_wise", {}),
        )
        for matrix in (
            "uniform:rows=50000,cols=50000,nonzeros=400000",
            "chung-lu:rows=40000,cols=40000,nonzeros=300000,exponent=2.5",
            "ca-CondMat",
        )
    },
}
HEAD = "| run | cycles | simulated | mean, rms error | half-width | covered | speed-up |"
RULE = "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"


def row(name: str, machine: str, matrix: str, settings: Mapping[str, object], seeds: int) -> str:
    """Return the row of a case, as Markdown."""
    full = {}
    runs = []
    for seed in range(seeds):
        seeded = matrix.format(seed=seed)
        if seeded not in full:
            full[seeded] = fiberscope.simulate(machine, seeded, settings=settings)
        sample = fiberscope.Sample(seed=seed)
        run = fiberscope.simulate(machine, seeded, settings=settings, sample=sample)
        runs.append((run, full[seeded], run.sampling, run.cycles_interval))
    cycles = f"{np.mean([full_run.cycles for full_run in full.values()]):,.0f}"
    sampled = [
        (run, full_run, sampling, interval)
        for run, full_run, sampling, interval in runs
        if sampling is not None and interval is not None
    ]
    if not sampled:
        return f"| {name} | {cycles} | simulated in full | | | | |"
    errors = np.array([run.cycles / full_run.cycles - 1 for run, full_run, _, _ in sampled])
    covered = sum(low <= full_run.cycles <= high for _, full_run, _, (low, high) in sampled)
    fraction = np.mean([sampling.fraction for _, _, sampling, _ in sampled])
    half_width = np.mean([sampling.half_width for _, _, sampling, _ in sampled])
    gains = [full_run.host.seconds / run.host.seconds for run, full_run, _, _ in sampled]
    columns = (
        name,
        cycles,
        f"{fraction:.1%}",
        f"{errors.mean():+.2%}, {(errors**2).mean() ** 0.5:.2%}",
        f"{half_width:.2%}",
        f"{covered}/{len(sampled)}",
        f"{np.mean(gains):.1f}",
    )
    return f"| {' | '.join(columns)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="the begin of a name; all by default")
    parser.add_argument("--seeds", type=int, default=2)
    arguments = parser.parse_args()
    print(HEAD, RULE, sep="\n")
    for name, (machine, matrix, settings) in CASES.items():
        if not arguments.cases or name.startswith(tuple(arguments.cases)):
            print(row(name, machine, matrix, settings, arguments.seeds), flush=True)


if __name__ == "__main__":
    main()
