"""A tiling plan as a document, as tables, and as a sentence that explains the choice."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fiberscope.base.errors import InputError
from fiberscope.models.tiles.base import Candidate, Prediction, Scheme
from fiberscope.models.tiles.baselines.drt import Dynamic
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.measure import MeasuredTraffic
from fiberscope.models.tiles.plan import Plan
from fiberscope.models.tiles.probability import compute_corrs
from fiberscope.models.tiles.statistics import Statistics, from_json, to_document
from fiberscope.results.report.files import read_text
from fiberscope.results.report.table import Table, format_percent

SCHEMA = "fiberscope-tile-1"


def document(plan: Plan, *, measured: bool) -> dict[str, Any]:
    """Return a plan as plain data.

    Args:
        plan: the tilings; measurements are cached in it.
        measured: whether to add the measured traffic of every candidate and every scheme, which measures
            those that are not measured yet.

    Raises:
        InputError: a sum should be measured.
    """
    schemes = {name: _document_scheme(scheme, plan, measured) for name, scheme in plan.schemes.items()}
    if plan.dynamic is not None:
        schemes["drt"] = _document_dynamic(plan.dynamic, plan)
    return {
        "schema": SCHEMA,
        "kernel": str(plan.kernel),
        "order": list(plan.kernel.order),
        "capacity": plan.capacity,
        "options": plan.options.model_dump(),
        "statistics": {
            name: to_document(tensor_statistics) for name, tensor_statistics in plan.statistics.items()
        },
        "candidates": [
            _document_candidate(number, plan, measured) for number in range(len(plan.chosen.candidates))
        ],
        "schemes": schemes,
        "why": explain_choice(plan),
    }


def explain_choice(plan: Plan) -> str:
    """Explain the advantage of the chosen tiles over Conservative's in a sentence, from predictions.

    The first candidate stands for Conservative's tiles. In a grid search, it is the smallest shape instead,
    and the sentence says so.
    """
    chosen, candidates = plan.chosen, plan.chosen.candidates
    if not candidates:
        return "An operand has no nonzeros, so that nothing moves: the whole tensors are one tile."
    if chosen.fallback:
        return f"Conservative's tiles are taken, not what the search chose: {chosen.fallback}."
    best = _find_candidate(candidates, chosen)
    # the operand that saves most gives the reason; others may cost more
    savings = {
        name: word_counts - best.prediction.inputs[name]
        for name, word_counts in candidates[0].prediction.inputs.items()
    }
    name = max(savings, key=savings.__getitem__)
    growth = _describe_growth(plan, best)
    is_grid = plan.options.search == "grid"
    if savings[name] <= 0:
        least = "The smallest tiles of the grid are" if is_grid else "Squares are"
        return f"{least} predicted to move least; {growth}{_describe_rejected(candidates, best)}."
    base_repeats, repeats = (candidate.prediction.repeats[name] for candidate in (candidates[0], best))
    smallest = f" with the smallest tiles of the grid, {_format_shape(candidates[0].shape)}"
    times = f"{repeats:.3g} times instead of {base_repeats:.3g}{smallest if is_grid else ''}"
    return f"{name} is fetched {times}; {growth}{_describe_rejected(candidates, best)}."


def _describe_rejected(candidates: Iterable[Candidate], chosen: Candidate) -> str:
    """Describe the fitting candidate with least predicted traffic; empty if the chosen one has as little."""
    # a grid has shapes that do not fit
    fitting = (candidate for candidate in candidates if candidate.fits is not False)
    smallest = min(fitting, key=lambda candidate: candidate.prediction.total, default=chosen)
    if smallest.prediction.total == chosen.prediction.total:
        return ""
    less = format_percent(1 - smallest.prediction.total / chosen.prediction.total, signed=False)
    return (
        f"; {_format_shape(smallest.shape)} is predicted to move {less} less, "
        "in more iterations of the outer loops"
    )


def _describe_growth(plan: Plan, candidate: Candidate) -> str:
    """Describe the growth of tiles by TileFactor; tiles end at the tensors' extents.

    Indices of the result may grow by different factors, because extents limit them: the largest is named.
    Summed indices are named with their sides.
    """
    shape, contracted = plan.chosen.shape, plan.kernel.contracted
    ratios = (shape[index] / candidate.shape[index] for index in shape if index not in contracted)
    ratio = max(ratios, default=1.0)  # a scalar result has no index of its own
    if ratio > 1:
        growth = f"TileFactor makes tiles {ratio:.3g} times as long"
    else:
        growth = "the tiles are as long as the tensors" if _spans_result(plan) else "no larger tiles fit"
    longer = [index for index in contracted if shape[index] > candidate.shape[index]]
    return ", ".join([growth, *(f"{index} grows to {shape[index]:,}" for index in longer)])


def _spans_result(plan: Plan) -> bool:
    """Return whether the tiles cover the tensors in all indices of the result; in all, if it is a scalar."""
    extents = plan.kernel.determine_extents(
        {name: tensor_statistics.extents for name, tensor_statistics in plan.statistics.items()}
    )
    free = [index for index in extents if index not in plan.kernel.contracted] or extents
    return all(plan.chosen.shape[index] == extents[index] for index in free)


def _find_candidate(candidates: tuple[Candidate, ...], chosen: Scheme) -> Candidate:
    """Return the candidate of a scheme.

    A reorder factor identifies its candidate, whose shape TileFactor has enlarged in the scheme. Candidates
    of a grid search have no factor, and TileFactor does not change their shapes.
    """
    return next(
        candidate
        for candidate in candidates
        if candidate.rf == chosen.rf and (candidate.rf or candidate.shape == chosen.shape)
    )


def tables(plan: Plan, *, measured: bool) -> list[Table]:
    """Return the tables of statistics, candidates (if any) and schemes; arguments as for ``document``."""
    return [
        _build_statistics_table(plan),
        *_build_candidates_table(plan, measured),
        _build_schemes_table(plan, measured),
    ]


def _build_statistics_table(plan: Plan) -> Table:
    """Return the statistics of each operand's base tiling."""
    columns = (
        "Operand",
        "Nonzeros",
        "Tiles",
        "SizeTile",
        "MaxTile",
        "PrTileIdx",
        "P_tile",
        "Pr",
        "Sum of Corrs",
    )
    table = Table(f"{plan.kernel}; buffers of {plan.capacity:,} {plan.metric.unit}", columns)
    for name, tensor_statistics in plan.statistics.items():
        sums = ", ".join(
            f"{index} {compute_corrs(tensor_statistics, index, plan.options.corrs).sum():.4g}"
            for index in tensor_statistics.corrs
        )
        shares = " ".join(f"{share:.4g}" for share in tensor_statistics.pr_tile_index)
        table.add(
            f"{name}, base tiles of "
            f"{_format_shape(dict(zip(tensor_statistics.indices, tensor_statistics.tile, strict=True)))}",
            f"{tensor_statistics.nonzeros:,}",
            f"{tensor_statistics.tiles:,}",
            f"{tensor_statistics.size_tile:,.4g}",
            f"{tensor_statistics.max_tile:,}",
            shares,
            f"{tensor_statistics.p_tile:.4g}",
            f"{tensor_statistics.pr:.4g}",
            sums,
        )
    return table


def _build_candidates_table(plan: Plan, measured: bool) -> Iterator[Table]:
    """Yield the table of candidates; nothing without candidates."""
    if not plan.chosen.candidates:
        return
    inputs = plan.kernel.inputs
    columns = ["RF", "Tile", *(f"{name} predicted" for name in inputs), "O predicted", "Total predicted"]
    table = Table("Candidates, words", [*columns, *(["Measured", "Fullest tile"] if measured else [])], 2)
    for number, candidate in enumerate(plan.chosen.candidates):
        words = _document_prediction(candidate.prediction)
        cells = [
            f"{candidate.rf:g}" if candidate.rf else "",
            _format_shape(candidate.shape),
            *(f"{word_count:,.0f}" for word_count in words.values()),
        ]
        if measured:
            cells += [
                f"{plan.measured_candidates[number].total:,}",
                f"{plan.find_fullest_size(candidate.shape):,}",
            ]
        table.add(*cells)
    yield table


def _build_schemes_table(plan: Plan, measured: bool) -> Table:
    """Return the schemes of all methods, with their traffic if measured, relative to Conservative's."""
    # DRT takes only A x B, whatever the kernel calls its tensors; its words are by these names
    operands = ["A", "B"] if plan.dynamic else list(plan.kernel.inputs)
    columns = (
        "Method",
        "Tile",
        "Fullest tile",
        *(f"{name}, words" for name in operands),
        "O",
        "Total",
        "Saves",
    )
    table = Table("Schemes" + (", measured" if measured else ""), columns if measured else columns[:3], 2)
    conservative_words = plan.measured["conservative"].total if measured else 0
    for name, scheme in plan.schemes.items():
        cells = [name, _format_shape(scheme.shape), f"{scheme.fullest:,}"]
        table.add(
            *cells,
            *(
                _format_traffic(plan.measured[name].count_words_by_operand(), conservative_words)
                if measured
                else ()
            ),
        )
    if plan.dynamic is not None:
        cells = ["drt", f"{len(plan.dynamic.tasks):,} tasks", ""]
        table.add(
            *cells,
            *(_format_traffic(plan.dynamic.count_words_by_operand(), conservative_words) if measured else ()),
        )
    return table


def _format_traffic(words: Mapping[str, int], conservative_words: int) -> list[str]:
    saves = f"{conservative_words / words['total']:.3g} x" if words["total"] else ""
    return [*(f"{word_count:,}" for word_count in words.values()), saves]


def _format_shape(shape: Mapping[str, int]) -> str:
    """Format a shape, as ``i 16 x k 1 x j 16``."""
    return " x ".join(f"{index} {size:,}" for index, size in shape.items())


def _document_prediction(prediction: Prediction) -> dict[str, float]:
    """Return predicted traffic with the keys of ``count_words_by_operand``: the result is ``O``."""
    return {**prediction.inputs, "O": prediction.output, "total": prediction.total}


def _document_scheme(scheme: Scheme, plan: Plan, measured: bool) -> dict[str, Any]:
    """Return a scheme as data; for D2T2, with reorder factor, TileFactor and fallback of its search."""
    scheme_document: dict[str, Any] = {
        "shape": dict(scheme.shape),
        "fullest": scheme.fullest,
        "fits": scheme.fullest <= plan.capacity,
    }
    if scheme.name == "d2t2":
        scheme_document |= {
            "rf": scheme.rf,
            "tf": scheme.tf,
            "verified": scheme.verified,
            "fallback": scheme.fallback,
        }
    return (
        {**scheme_document, "measured": _document_counts(plan.measured[scheme.name])}
        if measured
        else scheme_document
    )


def _document_dynamic(dynamic: Dynamic, plan: Plan) -> dict[str, Any]:
    """Return DRT's scheme: the shape of its microtiles, its tasks, and their traffic."""
    tasks = [
        {"i": task.i, "k": task.k, "j": task.j, "A": task.a_words, "B": task.b_words}
        for task in dynamic.tasks
    ]
    shape = dict.fromkeys(plan.kernel.order, dynamic.microtile)
    return {
        "shape": shape,
        "panel": dynamic.panel,
        "tasks": tasks,
        "measured": dynamic.count_words_by_operand(),
    }


def _document_candidate(number: int, plan: Plan, measured: bool) -> dict[str, Any]:
    """Return a candidate as data: shape and prediction; if asked for, measured traffic and fullest tile."""
    candidate = plan.chosen.candidates[number]
    predicted = {
        **_document_prediction(candidate.prediction),
        "visits": candidate.prediction.visits,
        "repeats": dict(candidate.prediction.repeats),
    }
    candidate_document = {
        "rf": candidate.rf,
        "shape": dict(candidate.shape),
        "predicted": predicted,
        "iterations": candidate.iterations,
    }
    if not measured:
        return candidate_document
    return {
        **candidate_document,
        "measured": _document_counts(plan.measured_candidates[number]),
        "fullest": plan.find_fullest_size(candidate.shape),
    }


def _document_counts(measured: MeasuredTraffic) -> dict[str, Any]:
    """Return words by operand, of the output and in total, and the other counts of a measurement."""
    return {
        **measured.count_words_by_operand(),
        "fetches": {name: input_traffic.fetches for name, input_traffic in measured.inputs.items()},
        "nonzeros": {
            **{name: input_traffic.nonzeros for name, input_traffic in measured.inputs.items()},
            "O": measured.output.nonzeros,
        },
        "visits": measured.output.visits,
        "iterations": measured.iterations,
    }


def read_statistics(path: Path, kernel: Kernel) -> dict[str, Statistics]:
    """Read the statistics of a kernel's inputs from a document.

    Args:
        path: a file that ``tile --json`` wrote; only its ``statistics`` are read.
        kernel: the kernel; statistics of other tensors are ignored.

    Raises:
        InputError: the document cannot be read, is of another kind, lacks an input, or has another order of
            loops for an input.
    """
    text = read_text(path)
    try:
        documents = json.loads(text)["statistics"]
        texts = {name: json.dumps(documents[name]) for name in kernel.inputs}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        inputs = ", ".join(kernel.inputs)
        raise InputError(f"{path}: it has no statistics of {inputs}; give what tile --json wrote") from error
    statistics = {name: from_json(text, f"{path}, {name}") for name, text in texts.items()}
    for name, tensor_statistics in statistics.items():
        # ranks of statistics are in loop order: another order would give other fibers
        if tensor_statistics.indices != kernel.list_stored_indices(name):
            order = ", ".join(tensor_statistics.indices)
            raise InputError(f"{path}: {name} has the order {order}; collect anew for this order")
    return statistics
