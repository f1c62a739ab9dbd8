"""Runs a chain's products one after another on one machine, and tells of all of them in one report."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fiberscope.accelerators.full_operands import compress_operands
from fiberscope.accelerators.problem_settings import load_operand
from fiberscope.base.errors import InputError
from fiberscope.base.progress import Progress
from fiberscope.results.errors import FailedRunError, VerificationError
from fiberscope.results.provenance.source_digest import source_entry
from fiberscope.results.report.document import Report
from fiberscope.run.chains.chain import Chain, Product
from fiberscope.run.chains.expected import compare_results
from fiberscope.run.chains.total import ChainRun, total_report
from fiberscope.run.configure import DENSE, ResolvedRun, convert_operand, execute_converted
from fiberscope.run.execute import RunOptions
from fiberscope.workloads import Workload, WorkloadError, from_scipy
from fiberscope.workloads.canonical import CsrArray
from fiberscope.workloads.errors import nearest
from fiberscope.workloads.verification import Comparison

__all__ = ["execute_chain", "load_operands"]


def execute_chain(
    ready: ResolvedRun,
    operands: Mapping[str, object],
    options: RunOptions,
) -> Report:
    """Run every product of a chain, compare each with scipy's, and what comes out with the whole chain.

    Args:
        ready: the machine with its chain; its formats are those in which the chain's matrices lie in memory.
        operands: by name, as ``fiberscope.simulate`` takes them.
        options: how each product is run.

    Raises:
        InputError, ConfigurationError, WorkloadError: operands that are missing, or do not go together.
        FailedRunError: a product went wrong, or what comes out is not the chain's.
    """
    chain = ready.chain
    assert chain is not None  # else there is one product
    _check(ready, chain, operands)
    _check_outputs(options)
    start = time.perf_counter()
    asked, provenance = options.asked, None
    if asked is not None:
        provenance = source_entry(ready.roots(asked.machine, options.parts.values()), asked)
    loaded = load_operands(chain, operands, asked is not None and asked.exact, options.tell)
    run = ChainRun(ready, chain, replace(options, asked=None), dict(loaded))
    for number, product in enumerate(chain.products):
        if not _step(run, number, product):
            break
    comparison = _comparison(run, loaded)
    report = total_report(run, loaded, comparison, time.perf_counter() - start, provenance)
    if comparison is not None and not comparison.passed:
        raise VerificationError(f"{chain}: what came out is not the product of the operands", report)
    return report


def load_operands(
    chain: Chain, operands: Mapping[str, object], exact: bool, tell: Progress
) -> dict[str, Workload]:
    """The operands of a chain by name, in the order of their first use.

    Raises:
        WorkloadError: one cannot be had.
    """

    def progress(done: int, in_all: int) -> None:
        tell("loading", done, in_all)

    return {name: load_operand(operands[name], name, exact, progress) for name in chain.operands}


def _check(ready: ResolvedRun, chain: Chain, operands: Mapping[str, object]) -> None:
    """Refuse a machine that does not multiply, names that do not fit, and formats that nothing converts."""
    accelerator = ready.accelerator
    if len(ready.maker.kind.tensors) < 2:
        raise InputError(f"{accelerator.name} solves {ready.maker.kind.kind}, and no product of two matrices")
    for name in operands:
        if name not in chain.operands:
            raise InputError(f"the chain {chain} reads no {name}; {nearest(name, chain.operands)}")
    for name in chain.operands:
        if name not in operands:
            raise InputError(f"the chain {chain} reads {name}; give {name}=MATRIX")
    for name in (product.name for product in chain.products if product.name in ready.formats):
        from fiberscope.converters.recipes import recipe  # noqa: PLC0415  (most chains convert nothing)

        recipe(accelerator.reads["A"], ready.formats[name])


def _check_outputs(options: RunOptions) -> None:
    """Refuse what is recorded of one run alone."""
    recorders = options.recorders
    recorded = {
        "waveform": recorders.waveform,
        "memory trace": recorders.memory_trace,
        "timeline": recorders.states,
    }
    for what in (what for what, path in recorded.items() if path is not None):
        raise InputError(
            f"a {what} is of one product; run it by itself, on the product before it (--product)"
        )


def _step(run: ChainRun, number: int, product: Product) -> bool:
    """Run a product; returns whether it came to its end."""
    ready, options = run.ready, run.options
    left, right = run.tensors[product.left], run.tensors[product.right]
    options.tell(f"{product}", number, len(run.chain.products))
    try:
        problem = ready.maker.load(left, None if right is left else right, exact=False, progress=options.tell)
        configured = compress_operands(ready.configured, _as_written(run, product))
        own = ready._replace(formats=_formats(run, product), configured=configured)
        report = execute_converted(own, problem, options)
    except FailedRunError as error:
        raise type(error)(f"{product}: {error}", error.report) from error
    except (InputError, WorkloadError) as error:
        raise InputError(f"{product}: {error}") from error
    run.steps[product.name] = report
    if not report.complete:
        return False
    tensor = run.tensors[product.name] = from_scipy(report.result, product.name)
    kept = ready.formats.get(product.name)
    if kept is not None:
        formats = ready.accelerator.reads["A"], kept
        run.written[product.name] = convert_operand(ready.configured, tensor, formats, options)
    return True


def _formats(run: ChainRun, product: Product) -> dict[str, str]:
    """The formats that a product's factors are converted from, by the machine's names of them."""
    kept = run.ready.formats
    names = {"A": kept.get(product.left), "B": kept.get(product.right)}
    if product.left == product.right:
        del names["B"]
    return {letter: name for letter, name in names.items() if name is not None}


def _as_written(run: ChainRun, product: Product) -> dict[str, CsrArray]:
    """The factors that lie with coordinates, be they full, as products of this chain are written so."""
    kept = run.ready.formats
    factors = {"A": product.left, "B": product.right}
    return {
        letter: run.tensors[name].matrix
        for letter, name in factors.items()
        if name in run.steps and kept.get(name, "").lower() != DENSE
    }


def _comparison(run: ChainRun, operands: Mapping[str, Workload]) -> Comparison | None:
    """Compare the results with scipy's products of the operands; None if the chain was not completed."""
    if any(name not in run.tensors for name in run.chain.results):
        return None
    run.options.tell("verifying", 0, 0)
    results: dict[str, Any] = {name: run.steps[name].result for name in run.chain.results}
    return compare_results(run.chain, {name: workload.matrix for name, workload in operands.items()}, results)
