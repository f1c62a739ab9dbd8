"""Conversions run in a test: a matrix, two formats, and parameters of MINT."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import sparse

from fiberscope.accelerators.configuration import layers, validate
from fiberscope.converters.configuration import MintParameters
from fiberscope.converters.cost import CONFIGURATION, ConversionCost, conversion_cost
from fiberscope.converters.machine import Mint
from fiberscope.converters.recipes import sources, targets
from fiberscope.workloads.formats import Encoded, Format, format_called
from fiberscope.workloads.tensor import SparseTensor

PAIRS = [
    (source, "bsr2" if target == "bsr" else target)
    for source in sources()
    for target in targets(source)
    if target != source
]
# The matrix of section 7 of the specification that goes with MINT, made up like that of its Figure 8.
EXAMPLE = SparseTensor(
    (4, 4), (np.array([0, 1, 1, 2, 2, 3]), np.array([2, 0, 2, 1, 3, 0])), np.array([1.0, 2, 3, 4, 5, 6])
)


@cache
def parameters(*settings: tuple[str, object]) -> MintParameters:
    """MINT without the time of memory, with these settings."""
    given = {"port.ideal": True, **dict(settings)}
    return validate(MintParameters, layers(CONFIGURATION, name="mint", file=None, settings=given), "mint")


@dataclass
class Converted:
    """A conversion that has run."""

    cycles: int
    wrong: str | None
    machine: Mint
    counts: dict[str, int]

    @property
    def conflicts(self) -> int:
        """Cycles that bank conflicts took."""
        return sum(getattr(stage, "conflicts", 0) for stage in self.machine.stages.values())

    def cost(self) -> ConversionCost:
        """The same in closed form."""
        job = self.machine.job
        return conversion_cost(
            job.source, job.target, job.shape, job.nonzeros, 32, job.parameters, counts=self.counts
        )


def form(name: str | Format) -> Format:
    """A format, or that of a name."""
    return format_called(name) if isinstance(name, str) else name


def machine(
    tensor: SparseTensor, source: str | Format, target: str | Format, bits: int = 32, **options: object
) -> tuple[Mint, Encoded]:
    """The machine, and what it should write."""
    chosen = options.pop("parameters", None) or parameters()
    expected = form(target).encode(tensor, bits)
    encoded = form(source).encode(tensor, bits)
    return Mint(chosen, encoded, form(target), (expected.layout, expected.counts), **options), expected


def convert(
    tensor: SparseTensor,
    source: str | Format,
    target: str | Format,
    bits: int = 32,
    *settings: tuple[str, object],
) -> Converted:
    """Run a conversion."""
    made, expected = machine(tensor, source, target, bits, parameters=parameters(*settings))
    run = made.kernel.run()
    counts = {**form(source).counts(tensor), **form(target).counts(tensor)}
    return Converted(run.cycles, expected.difference(made.result()), made, counts)


def random_matrix(seed: int, shape: tuple[int, int], density: float) -> SparseTensor:
    """A matrix whose nonzeros lie anywhere."""
    rng = np.random.default_rng(seed)
    matrix = sparse.random_array(shape, density=density, rng=rng, format="csr")
    matrix.sort_indices()
    return SparseTensor.from_matrix(matrix)
