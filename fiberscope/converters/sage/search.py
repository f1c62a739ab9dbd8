"""The search: every pair of formats of both operands, ranked by the energy-delay product.

Delay is max(DRAM, streaming conversion) + second pass + compute, where DRAM is operands and output;
``overlap=full`` takes the greatest of all.
Source: the paper's Section VI; where it is silent, docs/sage.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product

from fiberscope.converters.cost import conversion_cost
from fiberscope.converters.sage.compute import Compute, compute
from fiberscope.converters.sage.configuration import SageParameters
from fiberscope.converters.sage.kernels import Problem
from fiberscope.converters.sage.statistics import Statistics
from fiberscope.workloads.errors import WorkloadError

MINT, HOST, NOTHING = "mint", "host", "none"  # what converts
WORD = 32  # bits, of what DRAM's energy is told


@dataclass(frozen=True)
class Choice:
    """Formats of both operands, in memory (MCF) and to compute in (ACF)."""

    mcf_a: str
    mcf_b: str
    acf_a: str
    acf_b: str

    def __str__(self) -> str:
        """Return the formats as in the tables: ``rlc-csc / dense-csc``."""
        return f"{self.mcf_a}-{self.mcf_b} / {self.acf_a}-{self.acf_b}"


@dataclass(frozen=True)
class Prediction:
    """Predicted costs of a choice: cycles, and energy in pJ.

    Args:
        choice: the choice of formats.
        dram_cycles: in which the operands come.
        streaming_cycles, two_pass_cycles: the streaming cycles and two pass cycles of their conversion.
        compute_cycles: cycles of the array.
        output_cycles: in which the output leaves.
        cycles: the delay.
        dram_picojoules, conversion_picojoules, compute_picojoules: of each part.
    """

    choice: Choice
    dram_cycles: float
    streaming_cycles: float
    two_pass_cycles: float
    compute_cycles: float
    output_cycles: float
    cycles: float
    dram_picojoules: float
    conversion_picojoules: float
    compute_picojoules: float

    @property
    def picojoules(self) -> float:
        """Return the energy of all parts, in pJ."""
        return self.dram_picojoules + self.conversion_picojoules + self.compute_picojoules

    @property
    def product(self) -> float:
        """Energy times delay, pJ x cycles."""
        return self.picojoules * self.cycles

    def document(self) -> dict[str, object]:
        """Return plain data."""
        parts = {name: value for name, value in asdict(self).items() if name != "choice"}
        return {**asdict(self.choice), **parts, "picojoules": self.picojoules, "product": self.product}


@dataclass(frozen=True)
class Stored:
    """An operand in memory, and on its way into the array.

    Args:
        bits: that it takes.
        streaming, two_pass: cycles of its conversion.
        picojoules: the picojoules of its conversion.
    """

    bits: float
    streaming: float = 0.0
    two_pass: float = 0.0
    picojoules: float = 0.0


def rank(
    problem: Problem,
    parameters: SageParameters,
    allowed: Iterable[Choice] | None = None,
    converter: str = MINT,
) -> list[Prediction]:
    """Return all choices by energy-delay product, then by energy, then by name.

    Args:
        problem: what is to be computed.
        parameters: the parameters of the array, memory and energies.
        allowed: choices to look at; all by default.
        converter: ``mint``, ``host`` or ``none``, which leaves only formats that stay as they are.

    Raises:
        WorkloadError: nothing is left to choose from.
    """
    chosen = list(all_choices(problem) if allowed is None else allowed)
    search = _Search(problem, parameters, converter)
    predictions = [search.predict(choice) for choice in chosen if search.is_possible(choice)]
    if not predictions:
        raise WorkloadError("no pair of formats is left", fix="allow more of them")
    return sorted(
        predictions,
        key=lambda prediction: (prediction.product, prediction.picojoules, str(prediction.choice)),
    )


def all_choices(problem: Problem) -> Iterator[Choice]:
    """Every pair of formats that the paper searches."""
    (mcfs_a, mcfs_b), (acfs_a, acfs_b) = problem.mcfs, problem.acfs
    return (Choice(*names) for names in product(mcfs_a, mcfs_b, acfs_a, acfs_b))


class _Search:
    """Cost of a choice of formats, from the costs of its parts; each part is computed once."""

    def __init__(self, problem: Problem, parameters: SageParameters, converter: str) -> None:
        self.problem, self.parameters, self.converter = problem, parameters, converter
        self.operands: dict[str, Statistics] = {"a": problem.streamed, "b": problem.held}
        self.sizes: dict[tuple[str, str], float] = {}
        self.stored: dict[tuple[str, str, str], Stored | None] = {}
        self.computed: dict[tuple[str, str], Compute] = {}
        self.other_bits = problem.other.places * parameters.bits if problem.other else 0
        self.output = problem.output_places * parameters.bits if parameters.output != "none" else 0

    def is_possible(self, choice: Choice) -> bool:
        """Return whether both operands can be converted as it asks for."""
        return self._ways(choice)[0] is not None and self._ways(choice)[1] is not None

    def _ways(self, choice: Choice) -> Sequence[Stored | None]:
        return self._way("a", choice.mcf_a, choice.acf_a), self._way("b", choice.mcf_b, choice.acf_b)

    def predict(self, choice: Choice) -> Prediction:
        """The costs of a choice that is possible."""
        ways = [way for way in self._ways(choice) if way is not None]
        energy, computed = self.parameters.energy, self._compute(choice.acf_a, choice.acf_b)
        bits = sum(way.bits for way in ways) + self.other_bits
        dram, output = (each / (8 * self.parameters.dram.bytes) for each in (bits, self.output))
        streaming, two_pass = sum(way.streaming for way in ways), sum(way.two_pass for way in ways)
        return Prediction(
            choice,
            dram,
            streaming,
            two_pass,
            computed.cycles,
            output,
            self._delay((dram, output), streaming, two_pass, computed.cycles),
            (bits + self.output) / WORD * energy.dram,
            sum(way.picojoules for way in ways),
            computed.picojoules,
        )

    def _delay(
        self, moved: tuple[float, float], streaming: float, two_pass: float, computing: float
    ) -> float:
        """The delay, given the cycles of DRAM for the operands and for the output."""
        dram, output = moved
        if self.parameters.output == "with_compute":
            computing = max(computing, output)
        else:
            dram += output
        if self.parameters.overlap == "full":
            return max(dram, streaming, two_pass, computing)
        return max(dram, streaming) + two_pass + computing

    def _compute(self, a: str, b: str) -> Compute:
        if (a, b) not in self.computed:
            self.computed[a, b] = compute(self.problem, a, b, self.parameters)
        return self.computed[a, b]

    def _way(self, operand: str, mcf: str, acf: str) -> Stored | None:
        """An operand's way from one format to the other; None if there is none."""
        key = (operand, mcf, acf)
        if key not in self.stored:
            self.stored[key] = self._converted(self.operands[operand], self._bits(operand, mcf), mcf, acf)
        return self.stored[key]

    def _bits(self, operand: str, mcf: str) -> float:
        if (operand, mcf) not in self.sizes:
            form = self.parameters.format(mcf)
            self.sizes[operand, mcf] = self.operands[operand].bits(form, self.parameters.bits)
        return self.sizes[operand, mcf]

    def _converted(self, what: Statistics, bits: float, mcf: str, acf: str) -> Stored | None:
        if mcf == acf:
            return Stored(bits)
        if self.converter == NOTHING:
            return None
        source, target = self.parameters.format(mcf), self.parameters.format(acf)
        if self.converter == HOST:
            return self._by_host(bits, bits + what.bits(target, self.parameters.bits))
        try:
            counts = {**what.counts(source), **what.counts(target)}
            cost = conversion_cost(
                source, target, what.shape, what.nonzeros, self.parameters.bits, counts=counts
            )
        except WorkloadError:  # there is no recipe
            return None
        energy = self.parameters.energy.total(cost.operations)
        return Stored(bits, cost.streaming, cost.two_pass, energy)

    def _by_host(self, bits: float, moved: float) -> Stored:
        """Return the cost of a conversion in software, before all else, at the host's full bandwidth."""
        host = self.parameters.host
        seconds = moved / 8 / host.bandwidth
        return Stored(bits, 0.0, seconds * host.clock, host.watts * seconds * 1e12)
