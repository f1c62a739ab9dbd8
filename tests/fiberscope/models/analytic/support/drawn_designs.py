"""Random designs, each with a few mappings of a small matrix multiplication on three levels."""

import numpy as np

from fiberscope.models.analytic.architecture import Architecture, Compute, Level
from fiberscope.models.analytic.energies import Energies
from fiberscope.models.analytic.evaluate import Design
from fiberscope.models.analytic.mapping import Mappings
from fiberscope.models.analytic.options import Options
from fiberscope.models.analytic.problem import Problem, Rank, Tensor
from fiberscope.models.analytic.safs import Condition, Format, RankFormat, ReadOmission, SparseFeatures
from fiberscope.models.analytic.uniform import FixedStructured, Uniform
from fiberscope.results.costs.energies import load_default_table

DRAWN = 16
LEVELS, DIMENSIONS = 3, 3
BOUND = 3  # of each dimension, as a power of 2
INNER = ("CP", "B", "RLE", "UOP")


def drawn_design(seed, mode, mappings=6):
    """A design, and mappings of it."""
    rng = np.random.default_rng(seed)
    tensors = tuple(
        Tensor(name, tuple(Rank(((1, d),)) for d in dimensions), name == "Z")
        for name, dimensions in (("A", (0, 2)), ("B", (1, 2)), ("Z", (0, 1)))
    )
    size = 2**BOUND
    densities = tuple(density(rng, name, (size, size)) for name in "ABZ")
    problem = Problem("drawn", ("M", "N", "K"), (size,) * 3, tensors, densities)
    levels = tuple(level(rng, number) for number in range(LEVELS))
    architecture = Architecture(levels, Compute("MAC", "MAC", mesh=(64, 1)))
    options = Options(mode=mode)
    energies = Energies.from_table(architecture, None, load_default_table(), options.timeloop)
    return Design(architecture, problem, features(rng), energies, options), drawn_mappings(rng, mappings)


def density(rng, name, shape):
    share = float(rng.choice([0.02, 0.1, 0.25, 0.5, 0.9, 1.0]))
    if name == "Z":
        share = 1.0
    return FixedStructured(shape, share) if rng.random() < 0.4 or name == "Z" else Uniform(shape, share)


def level(rng, number):
    bandwidth = [None, 1.0, 4.0, 8.0]
    return Level(
        f"L{number}",
        f"L{number}",
        mesh=(64 if number else 1, 1),
        word_bits=8,
        block=int(rng.choice([1, 4])) if number < LEVELS - 1 else 1,
        metadata_width=8,
        decompresses=True,
        read_bandwidth=bandwidth[rng.integers(4)],
        write_bandwidth=bandwidth[rng.integers(4)],
    )


def features(rng):
    """Formats of the operands at all levels or at none, and features where they may be."""
    formats = {}
    for tensor in range(2):
        if rng.random() < 0.6:
            kind = RankFormat(str(rng.choice(INNER)), metadata_bits=8, payload_bits=8)
            for at in range(LEVELS):
                ranks = (kind, *(RankFormat("UOP", payload_bits=0) for _rank in range(3 * (LEVELS - at))))
                formats[at, tensor] = Format(ranks, inner_to_outer=True)
    found = {}
    pairs = [(0, (1,)), (1, (0,)), (2, (0, 1)), (2, (0,))]
    for at in range(LEVELS):
        chosen = [pairs[one] for one in rng.permutation(4)[: rng.integers(0, 3)]]
        skipping = bool(rng.random() < 0.5)
        found[at] = tuple(ReadOmission(skipping, (Condition(*pair),)) for pair in chosen)
    return SparseFeatures(formats, found, bool(rng.random() < 0.3), bool(rng.random() < 0.3))


def drawn_mappings(rng, count):
    temporal = np.ones((count, LEVELS, DIMENSIONS), np.int64)
    spatial = temporal.copy()
    for mapping, dimension, _factor in np.ndindex(count, DIMENSIONS, BOUND):
        where = temporal if rng.random() < 0.7 else spatial
        where[mapping, rng.integers(LEVELS), dimension] *= 2
    order = np.argsort(rng.random((count, LEVELS, DIMENSIONS)), axis=2)
    keep = rng.random((LEVELS, 3)) < 0.8
    keep[0] = True
    return Mappings(temporal, spatial, order, keep)
