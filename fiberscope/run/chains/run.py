"""Execution of a chain of products on one machine."""

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
from fiberscope.results.provenance.source_digest import build_source_entry
from fiberscope.results.report.document import Report
from fiberscope.run.chains.chain import Chain, Product
from fiberscope.run.chains.expected import compare_results
from fiberscope.run.chains.total import ChainRun, build_chain_report
from fiberscope.run.configure import DENSE, ResolvedRun, convert_operand, execute_converted
from fiberscope.run.execute import RunOptions
from fiberscope.workloads import Workload, WorkloadError, from_scipy
from fiberscope.workloads.canonical import CsrArray
from fiberscope.workloads.errors import suggest
from fiberscope.workloads.verification import Comparison


def execute_chain(resolved: ResolvedRun, operands: Mapping[str, object], options: RunOptions) -> Report:
    """Run every product of a chain, and compare each product and the final results with scipy's.

    After an interrupted product or conversion, no further product runs, and the report is incomplete.
    Products have no provenance of their own: the report of the chain has the sources of the run.

    Args:
        resolved: the machine with its chain; its formats are those of the chain's matrices in memory.
        operands: operands by name, as for ``fiberscope.simulate``.
        options: the options of each product.

    Raises:
        InputError, ConfigurationError, WorkloadError: operands are missing or do not match.
        FailedRunError: a product failed, or a result differs from the reference.
        KeyboardInterrupt: the run was interrupted before the end of a product, or while it verified a result;
            there is no report.
    """
    chain = resolved.chain
    assert chain is not None
    _check_chain(resolved, chain, operands)
    _refuse_recordings(options)
    start = time.perf_counter()  # host time includes loading and verification
    request, provenance = options.request, None
    if request is not None:
        provenance = build_source_entry(resolved.roots(request.machine, options.parts.values()), request)
    loaded = load_operands(chain, operands, request is not None and request.exact, options.report_progress)
    # A copy of ``loaded``: ``run.tensors`` grows by the results, the comparison needs the operands alone.
    run = ChainRun(resolved, chain, replace(options, request=None), dict(loaded))
    for number, product in enumerate(chain.products):
        try:
            if not _execute_product(run, number, product):
                break
        except KeyboardInterrupt:  # within a conversion, which has no report of its own
            if not run.reports:
                raise
            run.is_interrupted = True
            break
    comparison = _compare_chain(run, loaded)
    report = build_chain_report(run, loaded, comparison, time.perf_counter() - start, provenance)
    if comparison is not None and not comparison.passed:
        raise VerificationError(f"{chain}: the results differ from the products of the operands", report)
    return report


def load_operands(
    chain: Chain, operands: Mapping[str, object], exact: bool, report_progress: Progress
) -> dict[str, Workload]:
    """Load the operands of a chain by name, in the order of their first use.

    Args:
        chain: the chain.
        operands: all operands of the chain by name, as for ``fiberscope.simulate``.
        exact: whether surrogates are refused.
        report_progress: a callback with stage, work done and total work.

    Raises:
        WorkloadError: an operand is not available.
        KeyError: an operand is missing; ``execute_chain`` checks this before.
    """

    def progress(done: int, total: int) -> None:
        report_progress("loading", done, total)

    return {name: load_operand(operands[name], name, exact, progress) for name in chain.operands}


def _check_chain(resolved: ResolvedRun, chain: Chain, operands: Mapping[str, object]) -> None:
    """Check that the machine multiplies, and that all names and formats fit the chain, before any is loaded.

    Raises:
        InputError, WorkloadError: they do not.
    """
    accelerator = resolved.accelerator
    if len(resolved.maker.kind.tensors) < 2:
        raise InputError(
            f"{accelerator.name} solves {resolved.maker.kind.kind}, not a product of two matrices"
        )
    for name in operands:
        if name not in chain.operands:
            raise InputError(f"the chain {chain} reads no {name}; {suggest(name, chain.operands)}")
    for name in chain.operands:
        if name not in operands:
            raise InputError(f"the chain {chain} reads {name}; give {name}=MATRIX")
    for name in (product.name for product in chain.products if product.name in resolved.formats):
        from fiberscope.converters.recipes import find_recipe  # noqa: PLC0415  (needed for conversions only)

        # The recipe from the machine's format; ``resolve_run`` has checked the way back.
        find_recipe(accelerator.reads["A"], resolved.formats[name])


def _refuse_recordings(options: RunOptions) -> None:
    """Refuse recordings, which cover a single product.

    Raises:
        InputError: a waveform, memory trace or timeline is requested.
    """
    recorders = options.recorders
    recorded = {
        "waveform": recorders.waveform,
        "memory trace": recorders.memory_trace,
        "timeline": recorders.states,
    }
    for kind in (kind for kind, path in recorded.items() if path is not None):
        raise InputError(
            f"a {kind} records one product; run this product alone, on the product before it (--product)"
        )


def _execute_product(run: ChainRun, number: int, product: Product) -> bool:
    """Run a product, store its report and result in ``run``, and return whether the product is complete.

    An incomplete product has a report, but no result. A result with a configured format is then converted to
    this format. A later product converts it back.

    Raises:
        FailedRunError, InputError, KeyboardInterrupt: see ``execute_chain``; messages begin with the product.
    """
    resolved, options = run.resolved, run.options
    left, right = run.tensors[product.left], run.tensors[product.right]
    options.report_progress(f"{product}", number, len(run.chain.products))
    try:
        # None as right factor: A is multiplied by itself, and is in memory once.
        problem = resolved.maker.load(
            left, None if right is left else right, exact=False, progress=options.report_progress
        )
        configured = compress_operands(resolved.configured, _list_written_factors(run, product))
        step_run = resolved._replace(formats=_find_source_formats(run, product), configured=configured)
        report = execute_converted(step_run, problem, options)
    except FailedRunError as error:
        raise type(error)(f"{product}: {error}", error.report) from error
    except (InputError, WorkloadError) as error:
        raise InputError(f"{product}: {error}") from error
    run.reports[product.name] = report
    if not report.complete:
        return False
    tensor = run.tensors[product.name] = from_scipy(report.result, product.name)
    target = resolved.formats.get(product.name)
    if target is not None:
        formats = resolved.accelerator.reads["A"], target
        run.conversions[product.name] = convert_operand(resolved.configured, tensor, formats, options)
    return True


def _find_source_formats(run: ChainRun, product: Product) -> dict[str, str]:
    """Return the source formats of a product's factors, by the machine's operand names."""
    formats = run.resolved.formats
    names = {"A": formats.get(product.left), "B": formats.get(product.right)}
    if product.left == product.right:  # a square: the machine has one operand, A
        del names["B"]
    return {operand: name for operand, name in names.items() if name is not None}


def _list_written_factors(run: ChainRun, product: Product) -> dict[str, CsrArray]:
    """Return the factors that earlier products wrote with coordinates.

    The machine reads such a factor with its coordinates, even if it has a value at every position.
    """
    formats = run.resolved.formats
    factors = {"A": product.left, "B": product.right}
    return {
        operand: run.tensors[name].matrix
        for operand, name in factors.items()
        if name in run.reports and formats.get(name, "").lower() != DENSE
    }


def _compare_chain(run: ChainRun, operands: Mapping[str, Workload]) -> Comparison | None:
    """Compare the results with scipy's products of the operands; None for an incomplete chain."""
    # The last product is a result, as no product follows it: an incomplete chain always lacks a result.
    if run.is_interrupted or any(name not in run.tensors for name in run.chain.results):
        return None
    run.options.report_progress("verifying", 0, 0)
    results: dict[str, Any] = {name: run.reports[name].result for name in run.chain.results}
    return compare_results(run.chain, {name: workload.matrix for name, workload in operands.items()}, results)
