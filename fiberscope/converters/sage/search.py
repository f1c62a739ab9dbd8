"""The search: every combination of formats of both operands, ranked by the energy-delay product.

Each operand has an MCF (format in memory) and an ACF (format with which the array computes). If they differ,
a converter lies between memory and array. The delay is max(DRAM, streaming conversion) + second pass +
compute, where DRAM is the time to transfer operands and output. With ``overlap=full``, the delay is the
maximum of these four. With ``output=with_compute``, the output's transfer overlaps with the computation
instead. Source: the paper's Section VI; ``docs/sage.md`` has the choices where the paper is silent.
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

MINT, HOST, NOTHING = "mint", "host", "none"  # converters
WORD = 32  # bits of the word to which the energy of DRAM refers


@dataclass(frozen=True)
class Choice:
    """A choice of formats: the MCF and the ACF of both operands."""

    mcf_a: str
    mcf_b: str
    acf_a: str
    acf_b: str

    def __str__(self) -> str:
        """Return the MCFs and the ACFs as in the paper's tables: ``rlc-csc / dense-csc``."""
        return f"{self.mcf_a}-{self.mcf_b} / {self.acf_a}-{self.acf_b}"


@dataclass(frozen=True)
class Prediction:
    """Predicted costs of a choice: cycles of the array's clock, and energy in pJ.

    Args:
        choice: the choice of formats.
        dram_cycles: cycles to read all operands from DRAM, including the third operand of MTTKRP.
        streaming_cycles: cycles of the part of the conversions that runs while the operands arrive.
        two_pass_cycles: cycles of the part of the conversions that follows.
        compute_cycles: cycles of the array.
        output_cycles: cycles to write the output to DRAM; 0 if the parameter ``output`` is ``none``.
        cycles: the delay; it is not the sum of the parts, since some parts overlap.
        dram_picojoules, conversion_picojoules, compute_picojoules: energy of each part.
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
        """Return the energy-delay product in pJ x cycles."""
        return self.picojoules * self.cycles

    def document(self) -> dict[str, object]:
        """Return formats, costs, ``picojoules`` and ``product`` as plain data for JSON."""
        parts = {name: value for name, value in asdict(self).items() if name != "choice"}
        return {**asdict(self.choice), **parts, "picojoules": self.picojoules, "product": self.product}


@dataclass(frozen=True)
class Stored:
    """Costs of an operand with a given MCF and ACF, before the array computes.

    Args:
        bits: size of the operand in memory, in bits.
        streaming, two_pass: cycles of its conversion, as in ``Prediction``; 0 without a conversion.
        picojoules: energy of its conversion.
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
    """Rank choices of formats by energy-delay product, then by energy, then by name; the best is first.

    Args:
        problem: kernel and operands.
        parameters: parameters of array, memory and energies.
        allowed: choices to consider; all choices by default.
        converter: ``mint``, ``host`` (software), or ``none``. With ``mint``, choices that need a conversion
            without a recipe are left out. With ``none``, only choices with equal MCF and ACF are possible.

    Raises:
        WorkloadError: if no choice is possible.
    """
    chosen = list(list_choices(problem) if allowed is None else allowed)
    search = _Search(problem, parameters, converter)
    predictions = [search.predict(choice) for choice in chosen if search.is_possible(choice)]
    if not predictions:
        raise WorkloadError("no pair of formats is left", fix="allow more of them")
    return sorted(
        predictions,
        key=lambda prediction: (prediction.product, prediction.picojoules, str(prediction.choice)),
    )


def list_choices(problem: Problem) -> Iterator[Choice]:
    """Return every choice with the MCFs and ACFs of the problem."""
    (mcfs_a, mcfs_b), (acfs_a, acfs_b) = problem.mcfs, problem.acfs
    return (Choice(*names) for names in product(mcfs_a, mcfs_b, acfs_a, acfs_b))


class _Search:
    """The computation of predictions; each cost of an operand or of a pair of ACFs is computed once."""

    def __init__(self, problem: Problem, parameters: SageParameters, converter: str) -> None:
        self.problem, self.parameters, self.converter = problem, parameters, converter
        self.operands: dict[str, Statistics] = {"a": problem.streamed, "b": problem.held}
        self.sizes: dict[tuple[str, str], float] = {}
        self.stored: dict[tuple[str, str, str], Stored | None] = {}
        self.computed: dict[tuple[str, str], Compute] = {}
        # The third operand of MTTKRP has every coordinate, and no choice of formats
        self.other_bits = problem.other.places * parameters.bits if problem.other else 0
        # Bits of the output; 0 leaves its transfer out
        self.output = problem.output_places * parameters.bits if parameters.output != "none" else 0

    def is_possible(self, choice: Choice) -> bool:
        """Return whether both operands can be converted from their MCF to their ACF."""
        return self._ways(choice)[0] is not None and self._ways(choice)[1] is not None

    def _ways(self, choice: Choice) -> Sequence[Stored | None]:
        return self._way("a", choice.mcf_a, choice.acf_a), self._way("b", choice.mcf_b, choice.acf_b)

    def predict(self, choice: Choice) -> Prediction:
        """Return the prediction for a choice that is possible."""
        ways = [way for way in self._ways(choice) if way is not None]  # both, as the choice is possible
        energy, computed = self.parameters.energy, self._compute(choice.acf_a, choice.acf_b)
        bits = sum(way.bits for way in ways) + self.other_bits
        # ``dram.bytes`` is in bytes per cycle of the array
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
        """Return the delay from the cycles of the parts.

        Args:
            moved: cycles of DRAM for the operands, and for the output.
            streaming, two_pass: cycles of the conversions.
            computing: cycles of the array.
        """
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
        """Return the costs of an operand (``a`` or ``b``); None if it cannot be converted."""
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
        """Return the costs of an operand of ``bits`` bits; None if the converter has no such conversion."""
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
        """Return a lower bound of the cost of a conversion in software: the transfers at full bandwidth.

        The conversion takes place before all other parts, so that all its cycles are ``two_pass``.

        Args:
            bits: size of the operand in memory.
            moved: bits that the host reads and writes.
        """
        host = self.parameters.host
        seconds = moved / 8 / host.bandwidth
        # watts x seconds are joules; 1e12 pJ are a joule
        return Stored(bits, 0.0, seconds * host.clock, host.watts * seconds * 1e12)
