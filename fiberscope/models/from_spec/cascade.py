"""The problem that a machine from a specification solves: a cascade of Einsums on named tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from fiberscope.accelerators.problem_settings import SECTION
from fiberscope.models.from_spec.plain_einsums import plain_einsums
from fiberscope.models.from_spec.rounds import round_begins, unrolled
from fiberscope.models.trace.api import Prepared, prepare
from fiberscope.models.trace.evaluate import CascadeRun, run, select_next_inputs
from fiberscope.models.trace.operands import convert_tree
from fiberscope.models.trace.plan import rank_shapes
from fiberscope.models.trace.reference import Computation
from fiberscope.models.trace.specification import Einsum, Specification
from fiberscope.models.trace.verify import verify
from fiberscope.workloads import Problem
from fiberscope.workloads.expressions.expression import accesses
from fiberscope.workloads.fibertree import FiberTree
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.verification import TOLERANCE, Comparison, Rounding


@dataclass(frozen=True)
class CascadeOutputs:
    """The outputs that a machine has written.

    Args:
        specification: the specification, with the Einsums of all rounds.
        outputs: for each Einsum, by name, the fibertree that the machine wrote.
    """

    specification: Specification
    outputs: Mapping[str, FiberTree]


class Cascade(Problem):
    """The cascade of a specification; the class attribute ``specification`` holds the specification's name.

    The operands are the input tensors of the specification, by name. Operands that are given in order,
    without names, are the factors of a product. Their partitioning and rank order are known only when
    the machine's parameters are known.

    ``prepared`` is called first. The properties ``unrolled`` and ``written``, and ``check``, use its result.
    """

    kind = "cascade"
    answer = "result"
    reference = "an evaluation of each Einsum"
    tolerance = TOLERANCE
    of_any_order = True
    specification: ClassVar[str]
    title: ClassVar[str]  # the Einsums as text

    def check_operands(self) -> None:
        """Check nothing: the shapes are compared when the specification is read with its symbols."""

    def machine_inputs(self) -> tuple[Cascade]:
        """Return the problem itself."""
        return (self,)

    def prepared(self, settings: Mapping[str, object]) -> Prepared:
        """Return the specification with its operands, and keep it for ``written`` and ``check``.

        Args:
            settings: parameters of the machine that the specification refers to, and symbols, by key.

        Raises:
            ConfigurationError, WorkloadError, InputError: for the reasons of ``fiberscope.model``.
        """
        parameters = {f"{SECTION}{name}": value for name, value in self.parameters.model_dump().items()}
        # Operands by name are those of the specification itself, to which no problem applies
        if self.in_order:
            prepared = prepare(
                self.specification, *self.operands.values(), settings={**settings, **parameters}
            )
        else:
            prepared = prepare(self.specification, tensors=self.operands, settings=settings)
            self.operands = {name: prepared.operands[name].workload for name in self.operands}
        self._prepared = replace(prepared, specification=plain_einsums(prepared.specification))
        self._trees = self._prepared.trees
        return self._prepared

    @property
    def unrolled(self) -> Specification:
        """Return the specification with the Einsums of all rounds; for an iteration, this runs the trace."""
        specification = self._prepared.specification
        return specification if specification.iteration is None else unrolled(specification, self._run.rounds)

    @cached_property
    def _run(self) -> CascadeRun:
        return run(self._prepared.specification, self._trees)

    @cached_property
    def written(self) -> dict[str, FiberTree]:
        """Return the output of each Einsum in the trace, by name of the Einsum.

        The stages of a machine of several stages are built with these outputs as inputs. The first access
        runs the trace.
        """
        names = [einsum.name for einsum in self.unrolled.einsums]
        return {name: einsum_run.stored for name, einsum_run in zip(names, self._run.runs, strict=True)}

    def _evaluate(
        self, specification: Specification, einsum: Einsum, tensors: Mapping[str, FiberTree]
    ) -> FiberTree:
        """Return the output of an Einsum in the trace, which runs this Einsum alone if it has not run yet."""
        # The property ``written`` would run the whole trace for the sake of one Einsum
        if "written" in self.__dict__:
            return self.written[einsum.name]
        alone = replace(specification, einsums=(einsum,), iteration=None)
        return run(alone, tensors).runs[0].stored

    def check(self, answer: CascadeOutputs) -> Comparison:
        """Compare each output with an evaluation of its Einsum on the tensors written so far.

        An output that a merger hands over is not written. The trace evaluates its Einsum. If the
        specification solves a problem of another machine, the answer is also compared with the reference of
        that problem.

        Args:
            answer: the outputs of the machine.

        Returns:
            The first comparison that failed, else the comparison of the Einsums. If the answer was compared
            with a problem's reference, too, ``reference`` then names both references.
        """
        specification = answer.specification
        tensors, begins = dict(self._trees), round_begins(specification)
        error, overflows, terms, reads = 0.0, 0, 0, 0
        for einsum in specification.einsums:
            if einsum.name in begins:  # the first Einsum of a round reads results of the round before
                tensors |= select_next_inputs(specification, tensors)
            output = answer.outputs.get(einsum.name)
            if output is None:
                tensors[einsum.output] = self._evaluate(specification, einsum, tensors)
                continue
            work = Computation(specification, einsum, tensors, rank_shapes(specification, einsum, tensors))
            # The next Einsums are evaluated on what the machine wrote, so that errors do not add up
            tensors = {**tensors, einsum.output: output}
            output_comparison = verify(work, output, Rounding.estimate(self.precision, 1, 1))
            error = max(error, output_comparison.max_relative_error)
            overflows += output_comparison.overflows
            # Summed over all Einsums: one tolerance, below, is compared with the largest error
            summed_ranks = set(einsum.ranks) - set(work.equation.output.ranks)
            terms += math.prod(work.shapes[rank] for rank in summed_ranks)
            reads += len(list(accesses(work.equation.expression)))
        tolerance = Rounding.estimate(self.precision, terms, reads).tolerance
        comparison = Comparison(error, 0, 0, tolerance, overflows)
        if self._prepared.problem is None or not comparison.passed:
            return comparison
        reference, solved = self._prepared.check_answer(tensors)
        self.reference = f"{reference} and {type(self).reference}"
        return comparison if solved.passed else solved

    def solution(self, answer: CascadeOutputs) -> SparseTensor:
        """Return the output of the last Einsum, with its ranks in the declared order."""
        last_einsum = answer.specification.einsums[-1]
        return convert_tree(
            answer.outputs[last_einsum.name], answer.specification.tensors[last_einsum.output].ranks
        )

    def outline(self, answer: CascadeOutputs) -> tuple[tuple[int, ...], int] | None:
        """Return the shape and the number of nonzeros of the last output that the machine wrote."""
        last_einsum: Any = list(answer.outputs.values())[-1]
        return tuple(rank.shape for rank in last_einsum.ranks), last_einsum.nonzeros
