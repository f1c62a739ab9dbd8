"""Sparseloop's published results compared with those of the shipped designs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fiberscope.models.analytic.api import evaluate_case
from fiberscope.models.analytic.distributions import build_density
from fiberscope.models.analytic.inputs import Case, read_case
from fiberscope.models.analytic.lanes import share_of_steps
from fiberscope.models.analytic.uniform import Uniform
from fiberscope.results.report.table import Table
from published.figures import Figure, as_data, figure_table

# Figure 1, by density of both operands: microjoules with bitmasks, whose cycles are constant; cycles and
# microjoules of coordinate lists. From the artifact's fig1_format_comparison_setup/ref_outputs, 7e5cfbac.
BITMASK_CYCLES = 2_113_536
FORMATS = {
    0.01171875: (1.34, 34_056, 0.39),
    0.02: (1.42, 58_124, 0.62),
    0.04: (1.62, 116_247, 1.18),
    0.08: (2.04, 232_490, 2.31),
    0.1015625: (2.27, 295_152, 2.92),
    0.19921875: (3.38, 578_952, 5.77),
    0.3984375: (5.93, 1_157_904, 11.87),
    0.80078125: (12.29, 3_698_200, 25.41),
}

# Figure 12, by layer of MobileNet 0.5: outputs, inputs and side of a picture; densities of inputs and
# weights; cycles of Sparseloop with uniform densities, and of the baseline, which counts the actual data.
# From the artifact's fig12_eyerissv2_pe_setup, commit 7a7a6f0e: results-summary/num-cycles; 7: ref_outputs.
POINTWISE: dict[int, tuple[int, int, int, float, float, int, int]] = {
    7: (64, 64, 32, 0.73, 0.52, 1_592_245, 1_702_140),
    9: (128, 64, 16, 0.86, 0.82, 1_478_912, 1_499_682),
    13: (256, 128, 8, 0.83, 0.64, 1_114_008, 1_144_158),
    19: (256, 256, 8, 0.61, 0.55, 1_407_190, 1_457_458),
    21: (256, 256, 8, 0.64, 0.60, 1_610_614, 1_677_684),
    23: (256, 256, 8, 0.61, 0.70, 1_790_969, 1_821_557),
    25: (512, 256, 4, 0.68, 0.65, 926_942, 948_572),
    27: (512, 512, 4, 0.58, 0.30, 729_810, 775_316),
}

# Figure 13: densities of A and B, and the artifact's time over that of dense operands.
TENSOR_CORE = {
    (0.9, 1.0): 0.9034,
    (0.9, 0.4): 0.4827,
    (0.7, 1.0): 0.7203,
    (0.7, 0.4): 0.3849,
    (0.5, 1.0): 0.5428,
    (0.5, 0.4): 0.2900,
    (0.3, 1.0): 0.3649,
    (0.3, 0.4): 0.1950,
}
TILE, LANES_A, LANES_B = 32, 8, 16  # elements of a tile, and elements of each operand per step
DENSE_BOUND = 128 / 116  # products per accumulated sum, a limit for dense operands

# Table VII, by convolution of AlexNet: compression of DRAM's traffic by Eyeriss' chip and by Sparseloop; and
# from the artifact's runs (table7_eyeriss_setup/ref_outputs, commit 7e5cfbac), data words of DRAM, and
# cycles.
COMPRESSION = {
    1: (1.2, 1.2, 2_346_493, 2_838_528),
    2: (1.4, 1.4, 2_426_160, 4_128_768),
    3: (1.7, 1.7, 1_343_551, 1_916_929),
    4: (1.8, 1.9, 957_084, 1_437_697),
    5: (1.9, 1.9, 618_650, 958_464),
}
FIRST_FILL = "the option first_fill=charge: the first fill of an output at an inner level is counted"
LANES = "the formula for the mean use of the multiplier lanes, taken from the artifact"
OVERLAPPING = "how often the metadata of overlapping tiles is read, chosen after a run gave 1.337"
WINDOWS = "only the new words of a sliding window are loaded, chosen after a run gave 4,315,136"
DESIGNS = Path(__file__).parent / "designs"


def study(_cases: Sequence[str], _options: Mapping[str, Any]) -> tuple[object, list[Table]]:
    """Return the analytical model compared with Sparseloop's publications, as data and as tables."""
    figures = sparseloop()
    unused = ("Model", "Settings", "TeAAL's error", "Source")
    return as_data(figures), [figure_table("Sparseloop", figures, *unused)]


def sparseloop() -> list[Figure]:
    """Return all figures."""
    return [*_formats(), *_pointwise(), *_compression(), *_tensor_core(), *_structured()]


def _figure(
    source: str, case: str, quantity: str, published: float, ours: float, settled: str = ""
) -> Figure:
    return Figure("sparseloop", quantity, f"{source}, {case}", published, ours, settled=settled)


def _formats() -> Iterator[Figure]:
    designs = [read_case([name], {"first_fill": "charge"}) for name in ("bitmask", "coordinate_list")]
    for share, (bitmask_energy, cycles, energy) in FORMATS.items():
        published = (BITMASK_CYCLES, bitmask_energy), (cycles, energy)
        for design, name, numbers in zip(designs, ("bitmasks", "coordinate lists"), published, strict=True):
            evaluation = evaluate_case(_with_densities(design, [share, share]))
            case = f"{name}, density {share:.2g}"
            ours = float(evaluation.cycles[0]), float(evaluation.energy_pj[0]) * 1e-6
            for quantity, published_value, value in zip(
                ("cycles by format", "energy, uJ"), numbers, ours, strict=True
            ):
                yield _figure("Fig. 1", case, quantity, published_value, value, FIRST_FILL)


def _with_densities(case: Case, shares: Sequence[float]) -> Case:
    """Set a fixed density of the first tensors, and make the others dense."""
    problem = case.design.problem
    full = [1.0] * (len(problem.tensors) - len(shares))
    models = tuple(
        build_density(share, problem.shape(number)) for number, share in enumerate([*shares, *full])
    )
    return replace(case, design=replace(case.design, problem=replace(problem, densities=models)))


def _pointwise() -> Iterator[Figure]:
    design = read_case(["eyeriss_v2_pe"])
    for layer, (outputs, inputs, side, *shares, published, baseline) in POINTWISE.items():
        run = _layer(design, (outputs, inputs, side, side), shares)
        ours, case = _cycles(run), f"layer {layer} of MobileNet 0.5, uniform"
        yield _figure("Fig. 12", case, "cycles", published, ours)
        yield _figure("Fig. 12", case, "cycles, baseline on the data", baseline, ours)


def _layer(case: Case, bounds: Sequence[int], shares: Sequence[float]) -> Case:
    """Return another layer of a nest with one level per dimension; shares are densities."""
    problem, loops = replace(case.design.problem, bounds=tuple(bounds)), case.loops
    densities = (Uniform(problem.shape(number), share) for number, share in enumerate(shares))
    dense_problem = replace(problem, densities=(*densities, build_density(1.0, problem.shape(len(shares)))))
    mapping = replace(loops, temporal=np.where(loops.temporal > 1, bounds, 1))
    return replace(case, design=replace(case.design, problem=dense_problem), mapping=mapping)


def _compression() -> Iterator[Figure]:
    for layer, (chip, published, data, cycles) in COMPRESSION.items():
        files = DESIGNS / "eyeriss.yaml", DESIGNS / f"alexnet_conv{layer}.yaml"
        dense, stored, ours = _memory_words(read_case(files))
        timeloop_cycles = _cycles(read_case(files, {"mode": "timeloop"}))
        case = f"AlexNet, convolution {layer}"
        settled, cycle_choice = (OVERLAPPING, WINDOWS) if layer == 2 else ("", "")
        yield _figure("Table VII", case, "compression of DRAM's traffic", published, dense / stored, settled)
        yield _figure("Table VII", case, "compression of DRAM's traffic, chip", chip, dense / stored, settled)
        yield _figure("Table VII", case, "data words of DRAM", data, ours)
        yield _figure("Table VII", case, "cycles, mode=timeloop", cycles, timeloop_cycles, cycle_choice)


def _memory_words(case: Case) -> tuple[float, float, float]:
    """Return the words of the outermost level: with dense data, as stored, and data only."""
    evaluation = evaluate_case(case)
    cost = evaluation.cost.levels[0]
    tables = [traffic for (level, _tensor), traffic in evaluation.traffic.dense.items() if level == 0]
    dense = sum(float((traffic.reads + traffic.updates)[0]) for traffic in tables)
    stored_words, metadata = (
        sum(float(numbers[0]) for counts in directions for numbers in counts.values())
        for directions in (
            (cost.read_words, cost.write_words),
            (cost.format_read_words, cost.format_write_words),
        )
    )
    return dense, stored_words, stored_words - metadata


def _tensor_core() -> Iterator[Figure]:
    for (a, b), published in TENSOR_CORE.items():
        steps = share_of_steps(TILE, a, LANES_A, "artifact") * share_of_steps(TILE, b, LANES_B, "artifact")
        ours, case = steps / DENSE_BOUND, f"densities {a} and {b}"
        yield _figure("Fig. 13", case, "time over dense", published, ours, LANES)


def _structured() -> Iterator[Figure]:
    sparse = read_case(["stc"])
    speedup = _cycles(_with_densities(sparse, [])) / _cycles(sparse)
    yield _figure("Sec. VI", "STC, two of four", "speedup over dense", 2.0, speedup)


def _cycles(case: Case) -> float:
    return float(evaluate_case(case).cycles[0])
