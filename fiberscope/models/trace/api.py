"""Model a machine from its specification: ``fiberscope.model("gamma", "wiki-Vote")``."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fiberscope import accelerators
from fiberscope.accelerators.configuration import Configuration, ConfigurationError, validate
from fiberscope.accelerators.machine import Accelerator, CachedTraffic
from fiberscope.accelerators.problem_settings import SECTION, ProblemMaker
from fiberscope.accelerators.yaml_layer import Entry
from fiberscope.base.errors import InputError
from fiberscope.base.notebook import open_progress_callback
from fiberscope.base.progress import Progress, ignore_progress
from fiberscope.models.tiles.machines import set_tiles
from fiberscope.models.trace.energy import compute_energy
from fiberscope.models.trace.evaluate import run
from fiberscope.models.trace.load import Draft, draft
from fiberscope.models.trace.model import Model
from fiberscope.models.trace.operands import (
    MATRIX,
    CascadeOperand,
    add_ranks,
    as_factors,
    build_operand_trees,
    check_names,
    find_matrix_ranks,
    list_operand_names,
    list_problem_inputs,
    load_operands,
)
from fiberscope.models.trace.options import Options
from fiberscope.models.trace.report import ModelledRun, ProblemAnswer, report
from fiberscope.models.trace.source import Source as SpecificationText
from fiberscope.models.trace.spacetime import Stamps, Watcher
from fiberscope.models.trace.specification import Specification
from fiberscope.results.costs.energies import load_default_table, read_table
from fiberscope.results.errors import VerificationError
from fiberscope.results.provenance.source_digest import (
    Roots,
    build_source_entry,
    find_operand_name,
    list_given_settings,
    machine_modules,
)
from fiberscope.results.report.document import Report
from fiberscope.results.report.host import Timing
from fiberscope.results.report.parts import RecordedRequest, Source
from fiberscope.workloads import Problem
from fiberscope.workloads.canonical import CsrArray, canonical
from fiberscope.workloads.fibertree import FiberTree
from fiberscope.workloads.ranked_names import without_ranks
from fiberscope.workloads.verification import Comparison, describe_overflows

LARGEST_SIZE = 2**40  # coordinates: more than a tensor has


def model(
    specification: str,
    *factors: object,
    tensors: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
    exact: bool = False,
    progress: Progress | bool | None = None,
) -> Report:
    """Run a cascade on real tensors, verify its results, and report the counts of its machine.

    Args:
        specification: the name of an accelerator, the name of a variant of its specification
            (``extensor-energy``), or the path of a YAML file.
        factors: the operands A and B of a product; without B, A is both.
        tensors: operands by name, instead of ``factors``; the rows of a matrix are the first declared rank.
        settings: by key: symbols, parameters of the machine, and options of the model as ``semantics``.
        exact: refuse a surrogate for a matrix that is not available.
        progress: a callback with stage, work done and total work; False hides the progress bar of a notebook.

    Raises:
        ConfigurationError, WorkloadError, InputError: specification, operands or settings are invalid.
        VerificationError: a result is wrong; the error has the report.
    """
    request = RecordedRequest(
        command="model",
        machine=specification,
        factors=tuple(map(find_operand_name, factors)),
        tensors={name: find_operand_name(operand) for name, operand in (tensors or {}).items()},
        settings=list_given_settings(settings),
        exact=exact,
    )
    with open_progress_callback(progress) as callback:
        modelled_run = prepare(
            specification, *factors, tensors=tensors, settings=settings, exact=exact, progress=callback
        )
        return modelled_run.run(callback, build_source_entry(modelled_run.roots, request))


@dataclass(frozen=True)
class Prepared:
    """A specification with its operands, ready to run.

    Args:
        specification: the cascade, its mapping and its architecture.
        operands: the tensors by name.
        options: options of the model.
        roots: roots of the sources, for the digest in the report.
        choices: descriptions of the symbols that the machine chose for these operands.
        problem: the problem that the machine solves for these operands; None for a machine that multiplies,
            without a machine, and if the operands have names.
        count_cached: counts the traffic behind the machine's cache; None without ``functional_cache``.
    """

    specification: Specification
    operands: Mapping[str, CascadeOperand]
    options: Options
    roots: Roots
    choices: tuple[str, ...] = ()
    problem: Problem | None = None
    count_cached: Callable[[], CachedTraffic] | None = None

    @property
    def trees(self) -> dict[str, FiberTree]:
        """Return the operands as fibertrees by name, built anew at each access."""
        specification = self.specification
        declared = {name: tensor.ranks for name, tensor in specification.tensors.items()}
        output = declared[specification.einsums[-1].output]
        return build_operand_trees(self.operands.values(), declared, output, specification.shapes)

    def evaluate(self) -> ModelledRun:
        """Run the cascade, and return its counts, energies and verification.

        After Ctrl-C, the counts are those of the Einsums that ended, without an answer and cached traffic.
        """
        counting = Model(self.specification, self.options.effects)
        outcome = run(self.specification, self.trees, counting.observe)
        metrics = counting.metrics(outcome)
        table = read_table(Path(self.options.energies)) if self.options.energies else load_default_table()
        energies = compute_energy(self.specification, metrics, outcome.runs, table)
        solved = None
        if self.problem is not None and not outcome.interrupted:
            solved = ProblemAnswer(self.problem.title, *self.check_answer(outcome.tensors))
        cached = None if self.count_cached is None or outcome.interrupted else self.count_cached()
        inputs = self.specification, self.operands, self.options
        return ModelledRun(*inputs, outcome, metrics, energies, self.choices, solved, cached)

    def check_answer(self, tensors: Mapping[str, FiberTree]) -> tuple[str, Comparison]:
        """Compare a problem's answer with its reference; there must be a ``problem``.

        Args:
            tensors: all tensors at the end of the run, by name.

        Returns:
            The name of the reference, and the comparison.
        """
        assert self.problem is not None
        name = self.problem.inputs[-1]
        iteration = self.specification.iteration
        tensor = tensors[iteration.carry.get(name, name) if iteration else name]
        coordinates, values = tensor.to_coo()
        # the answer does not store vertices that were not reached: their value is infinity
        answer_values = np.full(tensor.ranks[0].shape, np.inf)
        answer_values[next(iter(coordinates.values()))] = values
        return self.problem.reference, self.problem.check(answer_values)

    def stamps(self) -> list[Stamps]:
        """Run the cascade, and return the positions of its bodies in space and time.

        Raises:
            KeyboardInterrupt: the run was interrupted.
        """
        watcher = Watcher()
        if run(self.specification, self.trees, watcher.observe).interrupted:
            raise KeyboardInterrupt
        return watcher.stamps()

    def run(self, progress: Progress = ignore_progress, source: Source | None = None) -> Report:
        """Run the cascade, and return the report.

        Args:
            progress: progress callback.
            source: the entry of the report that names the request and its sources.

        Raises:
            VerificationError: a result is wrong; the error has the report.
        """
        progress("modelling", 0, 0)
        start = time.perf_counter()
        modelled_run = self.evaluate()
        seconds = time.perf_counter() - start
        document = report(modelled_run, Timing(seconds, seconds), source)
        wrong = modelled_run.outcome.wrong
        if wrong is not None:
            overflows = f", {describe_overflows(wrong.overflows)}" if wrong.overflows else ""
            error = f"relative error {wrong.max_relative_error:.3g} against {wrong.reference}{overflows}"
            raise VerificationError(f"{wrong.einsum} is wrong: {error}", document)
        if modelled_run.solved is not None and not modelled_run.solved.comparison.passed:
            raise VerificationError(
                f"the result differs from that of {modelled_run.solved.reference}", document
            )
        return document


def prepare(
    specification: str,
    *factors: object,
    tensors: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
    exact: bool = False,
    progress: Progress = ignore_progress,
) -> Prepared:
    """Return the run of a call of ``model`` without its execution; the arguments are those of ``model``.

    Raises:
        ConfigurationError, WorkloadError, InputError: as ``model``.
    """
    options, remaining_settings = _split_settings(settings or {})
    spec_draft, maker = _read_draft(specification, remaining_settings)
    if options.functional_cache:
        _check_cache(specification, spec_draft)
    prepared = _prepare_operands(
        specification, factors, tensors or {}, spec_draft, maker, options, exact, progress
    )
    if not options.functional_cache:
        return prepared
    return replace(prepared, count_cached=partial(_count_cached, spec_draft, prepared))


def _check_cache(specification: str, outline_draft: Draft) -> None:
    """Refuse a functional cache of a machine without a cache.

    Raises:
        InputError: the machine has no cache; the message lists machines with a cache.
    """
    if outline_draft.machine is None or outline_draft.machine[0].cached is None:
        capable = [name for name in accelerators.names() if accelerators.find(name).cached is not None]
        message = f"{specification} has no cache to count; machines that have: {', '.join(capable)}"
        raise InputError(f"functional_cache: {message}")


def _count_cached(spec_draft: Draft, prepared: Prepared) -> CachedTraffic:
    """Count the traffic behind the machine's cache."""
    assert spec_draft.machine is not None
    kind, configuration = spec_draft.machine
    assert kind.cached is not None
    return kind.cached(configuration, *_orient_factors(spec_draft, prepared.operands))


def _prepare_operands(
    specification: str,
    factors: Sequence[object],
    tensors: Mapping[str, object],
    spec_draft: Draft,
    maker: ProblemMaker | None,
    options: Options,
    exact: bool,
    progress: Progress,
) -> Prepared:
    """Load the operands, and choose the symbols that depend on them."""
    # reports errors of the specification before operands are loaded
    outline = spec_draft.complete(_choose_placeholders(spec_draft))
    declared = {name: tensor.ranks for name, tensor in outline.tensors.items()}
    by_name, ranks = without_ranks(tensors, {name: declared[name] for name in outline.inputs})
    names = list_operand_names(factors, by_name)
    # A times A: the only factor stands for both
    if names == ("A",) and _is_matrix_product(outline):
        factors, by_name, names = (by_name["A"],), {}, ("A", "B")
    if maker is not None and factors and set(maker.kind.inputs) == set(outline.inputs):
        a, b = (*factors, None)[:2]
        return _prepare_problem(spec_draft, maker.load(a, b, exact, progress), options)
    check_names(specification, outline.inputs, names)

    def report_loading(done: int, total: int) -> None:
        progress("loading", done, total)

    operands = load_operands(factors, by_name, exact, report_loading, ranks)
    output = declared[outline.einsums[-1].output]
    operands = as_factors(operands, declared, output)
    operands = add_ranks(operands, declared, output) if by_name else operands
    if not spec_draft.missing:
        return Prepared(outline, operands, options, list_roots(spec_draft.source, options.energies))
    if not all(operand.factor for operand in operands.values()):
        # ``complete`` reports the missing symbols: a machine chooses them only for factors A and B
        return Prepared(
            spec_draft.complete(), operands, options, list_roots(spec_draft.source, options.energies)
        )
    symbols, choices = _choose_symbols(spec_draft, operands)
    roots = list_roots(spec_draft.source, options.energies)
    return Prepared(spec_draft.with_symbols(symbols), operands, options, roots, choices)


def _is_matrix_product(outline: Specification) -> bool:
    """Return whether a cascade reads two matrices A and B, so that A alone stands for both."""
    ranks = {name: len(outline.tensors[name].ranks) for name in outline.inputs}
    return ranks == {"A": MATRIX, "B": MATRIX}


def _prepare_problem(spec_draft: Draft, problem: Problem, options: Options) -> Prepared:
    """Return the run of a machine's specification on the inputs of a problem."""
    assert spec_draft.machine is not None
    kind, configuration = spec_draft.machine
    symbols, choices = (
        _choose_machine_symbols(kind, configuration, problem.machine_inputs())
        if spec_draft.missing
        else ({}, ())
    )
    roots = list_roots(spec_draft.source, options.energies)
    return Prepared(
        spec_draft.with_symbols(symbols), list_problem_inputs(problem), options, roots, choices, problem
    )


def list_roots(specification: SpecificationText, energies: str | None = None) -> Roots:
    """Return the roots of a run's sources: model, machine, specification file, and energy table.

    Args:
        specification: the text of the specification.
        energies: path of the energy table; None for the table of the package.
    """
    modules = (
        machine_modules(accelerators.find(specification.machine)) if specification.machine else frozenset()
    )
    files = (str(specification.path), *filter(None, [energies]))
    return Roots(
        modules | {__name__},
        files,
        specification.name if specification.path == Path(specification.file) else None,
    )


def load_outline(name: str, settings: Mapping[str, object]) -> Specification:
    """Load a specification without operands.

    A symbol that a machine chooses for its operands has the largest value.

    Raises:
        ConfigurationError: as ``model``.
    """
    spec_draft, _maker = _read_draft(name, _split_settings(settings)[1])
    return spec_draft.complete(_choose_placeholders(spec_draft))


def _read_draft(name: str, settings: Mapping[str, object]) -> tuple[Draft, ProblemMaker | None]:
    """Read a specification, and the inputs of its machine's problem (None if the machine multiplies)."""
    entries = {key: Entry.wrap(value) for key, value in settings.items() if key.startswith(SECTION)}
    spec_draft = draft(name, {key: value for key, value in settings.items() if key not in entries})
    if spec_draft.machine is None:
        for key, entry in entries.items():
            raise ConfigurationError(f"{entry.origin}: {name} names no machine, and so takes no {key}")
        return spec_draft, None
    maker = ProblemMaker(spec_draft.machine[0], entries)
    return spec_draft, maker if maker.kind.inputs else None


def _choose_placeholders(spec_draft: Draft) -> dict[str, float]:
    """Return sizes for the symbols that a machine chooses for its operands."""
    return dict.fromkeys(spec_draft.missing, LARGEST_SIZE) if spec_draft.machine else {}


def _split_settings(settings: Mapping[str, object]) -> tuple[Options, dict[str, object]]:
    """Split settings into the options of the model and the other settings."""
    option_values = {key: value for key, value in settings.items() if key in Options.model_fields}
    entries = {key: Entry.wrap(value) for key, value in option_values.items()}
    remaining = {key: value for key, value in settings.items() if key not in option_values}
    return validate(Options, entries, "the model"), remaining


def _choose_symbols(
    spec_draft: Draft, operands: Mapping[str, CascadeOperand]
) -> tuple[Mapping[str, float], tuple[str, ...]]:
    """Return the symbols that the machine chooses for its operands, and descriptions of the choices."""
    assert spec_draft.machine is not None  # else all symbols have values
    kind, configuration = spec_draft.machine
    return _choose_machine_symbols(kind, configuration, _orient_factors(spec_draft, operands))


def _orient_factors(spec_draft: Draft, operands: Mapping[str, CascadeOperand]) -> Sequence[CsrArray]:
    """Return A and B in the orientation of the machine."""
    return [_factor(operands[name], spec_draft, is_left=name == "A") for name in ("A", "B")]


def _choose_machine_symbols(
    accelerator: Accelerator[Any], configuration: Configuration, matrices: Sequence[CsrArray]
) -> tuple[Mapping[str, float], tuple[str, ...]]:
    """Return the symbols that the machine chooses, and descriptions; the machine's tiles are chosen first."""
    return accelerator.symbols(set_tiles(accelerator, configuration, matrices), *matrices)


def _factor(operand: CascadeOperand, spec_draft: Draft, *, is_left: bool) -> CsrArray:
    """Return an operand as a matrix whose rows (of A) or columns (of B) are those of the product."""
    declared = spec_draft.cascade.declared
    output = declared[spec_draft.cascade.last_output]
    rows, _columns = find_matrix_ranks(operand, declared[operand.name], output)
    matrix = operand.workload.matrix
    return matrix if (rows in output) == is_left else canonical(matrix.T, operand.name)
