"""Computes per host cycle of the analytical model, over the layers of four networks.

    python benchmarks/analytic.py

Sparseloop (MICRO 2022, Table V) states computes per host cycle: multiply-adds of the modelled layers over the
host cycles of the evaluation. The timer covers the three steps of the evaluation only, in processor time
after warm-up, without start-up, input parsing and mapping search. Each layer is evaluated with one mapping,
and with a thousand mappings at once as in a search, whose computes count a thousand times. Repeated shapes of
a network are evaluated once.

The layers' shapes are public knowledge, batch 1: convolutions as products of their im2col (M filters, N
positions, K inputs of a filter), fully connected layers as they are, BERT-base for 384 tokens.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from fiberscope.models.analytic.density import Density
from fiberscope.models.analytic.evaluate import Design, evaluate_many
from fiberscope.models.analytic.inputs import read_case
from fiberscope.models.analytic.mapper.constraints import Constraints
from fiberscope.models.analytic.mapper.space import Space
from fiberscope.models.analytic.mapping import Mappings
from fiberscope.models.analytic.uniform import Uniform

Layer = tuple[int, int, int]  # M, N, K

ALEXNET = [
    (96, 3025, 363),
    (256, 729, 1200),
    (384, 169, 2304),
    (384, 169, 1728),
    (256, 169, 1728),
    (4096, 1, 9216),
    (4096, 1, 4096),
    (1000, 1, 4096),
]
VGG16 = [
    *[(64, 224**2, 27), (64, 224**2, 576), (128, 112**2, 576), (128, 112**2, 1152)],
    *[(256, 56**2, 1152), (256, 56**2, 2304), (256, 56**2, 2304), (512, 28**2, 2304)],
    *[(512, 28**2, 4608)] * 2,
    *[(512, 14**2, 4608)] * 3,
    *[(4096, 1, 25088), (4096, 1, 4096), (1000, 1, 4096)],
]


def _stage(blocks: int, side: int, inputs: int, width: int) -> list[Layer]:
    """Return the bottleneck blocks of a residual network; the first block has a projection."""
    first = [(width, side**2, inputs), (width, side**2, 9 * width), (4 * width, side**2, width)]
    later = [(width, side**2, 4 * width), *first[1:]]
    return [*first, (4 * width, side**2, inputs), *later * (blocks - 1)]


RESNET50 = [
    (64, 112**2, 147),
    *_stage(3, 56, 64, 64),
    *_stage(4, 28, 256, 128),
    *_stage(6, 14, 512, 256),
    *_stage(3, 7, 1024, 512),
    (1000, 1, 2048),
]
TOKENS = 384
BERT = [
    *[(768, TOKENS, 768)] * 4,
    *[(TOKENS, TOKENS, 64), (64, TOKENS, TOKENS)] * 12,
    *[(3072, TOKENS, 768), (768, TOKENS, 3072)],
] * 12
NETWORKS = {"ResNet50": RESNET50, "BERT-base": BERT, "VGG16": VGG16, "AlexNet": ALEXNET}
DENSITIES = (0.4, 0.5, 1.0)


def main() -> None:
    """Print a table."""
    case = read_case([Path(__file__).parent / "analytic.yaml"], with_mapping=False)
    hertz = _hertz()
    print(f"one core at {hertz / 1e9:.2f} GHz; computes per host cycle")
    print(f"{'network':<12}{'layers':>8}{'computes':>18}{'one mapping':>14}{'of 1,000':>12}")
    for name, layers in NETWORKS.items():
        designs = [_with_shape(case.design, layer) for layer in dict.fromkeys(layers)]
        computes = sum(float(np.prod(layer)) for layer in layers)
        single, batch = (_seconds(designs, count) / count for count in (1, 1000))
        cells = f"{computes / single / hertz:>14,.0f}{computes / batch / hertz:>12,.0f}"
        print(f"{name:<12}{len(layers):>8}{computes:>18,.0f}{cells}")


def _hertz() -> float:
    match = re.search(r"cpu MHz\s*:\s*([\d.]+)", Path("/proc/cpuinfo").read_text())
    return float(match[1]) * 1e6 if match else 1e9


def _with_shape(design: Design, layer: Layer) -> Design:
    problem = replace(design.problem, bounds=layer)
    models: tuple[Density, ...] = tuple(
        Uniform(problem.shape(number), share) for number, share in enumerate(DENSITIES)
    )
    return replace(design, problem=replace(problem, densities=models))


def _draw_mappings(design: Design, count: int) -> Mappings:
    """Draw random mappings that keep every tensor at every level."""
    machine, problem = design.architecture, design.problem
    constraints = Constraints.none(machine, problem)
    space = Space(machine, problem, replace(constraints, keep=np.ones_like(constraints.keep)))
    places, orders, _keeps = space.draw(np.random.default_rng(0), count)
    return space.mappings(places, orders, 0)


def _seconds(designs: Sequence[Design], count: int) -> float:
    """Return the processor seconds to evaluate ``count`` mappings of each design."""
    mappings = [_draw_mappings(design, count) for design in designs]
    seconds = 0.0
    for design, mapping in zip(designs, mappings, strict=True):
        evaluate_many(design, mapping)
        start = time.process_time()
        evaluate_many(design, mapping)
        seconds += time.process_time() - start
    return seconds


if __name__ == "__main__":
    main()
