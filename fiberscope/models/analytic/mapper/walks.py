"""Walks through a mapspace: exhaustive, random, and guided by results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, islice, product
from typing import TYPE_CHECKING, Final

import numpy as np

from fiberscope.base.errors import InputError
from fiberscope.base.progress import install_commands
from fiberscope.models.analytic.arrays import Integers
from fiberscope.models.analytic.evaluate import Design
from fiberscope.models.analytic.mapper.search import Outcome, evaluate
from fiberscope.models.analytic.mapper.space import Space
from fiberscope.models.analytic.mapping import Mappings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from optuna.trial import Trial

CHUNK = 512  # mappings that are evaluated together
FIRST = 32  # mappings of each choice of kept tensors at the start of a random walk
ORDERS = 16  # loop orders of one factorisation in a pruned walk, as in Timeloop

Walk = Callable[[Space, int], Iterator[Mappings]]  # arguments: mapspace and seed; yields chunks
BATCH = 64  # mappings between two updates of the sampler


def exhaustive(space: Space, _seed: int) -> Iterator[Mappings]:
    """Yield chunks that together have every mapping once."""
    return _walk_in_order(space, None)


def linear_pruned(space: Space, _seed: int) -> Iterator[Mappings]:
    """Yield chunks with every factorisation and choice of kept tensors, and the first ``ORDERS`` orders."""
    return _walk_in_order(space, ORDERS)


def random_pruned(space: Space, seed: int) -> Iterator[Mappings]:
    """Yield chunks of drawn mappings, without end; a chunk has one choice of kept tensors.

    The first chunks have a few mappings of each choice, so that a short walk covers all choices.
    """
    for number in count():
        random = np.random.default_rng((seed, number))  # a chunk does not depend on the chunks before it
        first = number < len(space.keep_choices)
        cut_indices, orders, keep_indices = space.draw(random, FIRST if first else CHUNK)
        yield space.mappings(cut_indices, orders, number if first else int(keep_indices[0]))


def _walk_in_order(space: Space, order_limit: int | None) -> Iterator[Mappings]:
    for keep in range(len(space.keep_choices)):
        mappings = _list_cuts_and_orders(space, order_limit)
        while chunk := list(islice(mappings, CHUNK)):
            cut_indices, orders = (np.stack(arrays) for arrays in zip(*chunk, strict=True))
            yield space.mappings(cut_indices, orders, keep)


def _list_cuts_and_orders(space: Space, order_limit: int | None) -> Iterator[tuple[Integers, Integers]]:
    for cut_index in product(*(range(len(cuts)) for cuts in space.cuts)):
        cut = np.stack([cuts[index] for cuts, index in zip(space.cuts, cut_index, strict=True)], axis=1)
        for order in space.orders(cut[: space.levels], order_limit):
            yield np.array(cut_index, np.int64), order


WALKS: Final[dict[str, Walk]] = {
    "exhaustive": exhaustive,
    "linear_pruned": linear_pruned,
    "random_pruned": random_pruned,
}


def search_guided(design: Design, space: Space, metrics: Sequence[str], seed: int) -> Iterator[Outcome]:
    """Yield the outcomes of batches that a sampler improves, without end.

    A batch has an outcome for each choice of kept tensors among its mappings. The sampler is Optuna's
    tree-structured Parzen estimator (TPE).

    Args:
        design: the machine and the problem, for the evaluation of mappings.
        space: the mapspace.
        metrics: names in ``METRICS``; each further metric breaks ties of those before. The sampler sees only
            the first metric.
        seed: seed of the sampler.

    Raises:
        InputError: Optuna is not installed.
    """
    try:
        import optuna  # noqa: PLC0415 - an extra, and slow to import
    except ImportError:
        raise InputError(f"the search optuna needs its library: {install_commands('search')}") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    # ``constant_liar``: the trials of a batch have no results yet, and should not repeat each other
    sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)
    study = optuna.create_study(sampler=sampler)
    while True:
        trials = [study.ask() for _ in range(BATCH)]
        suggestions = [_suggest(space, trial) for trial in trials]
        # mappings that are evaluated together keep the same tensors
        for keep in sorted({suggestion[2] for suggestion in suggestions}):
            members = [member for member, suggestion in enumerate(suggestions) if suggestion[2] == keep]
            cut_indices, orders = (
                np.stack([suggestions[member][field] for member in members]) for field in (0, 1)
            )
            outcome = evaluate(design, space.mappings(cut_indices, orders, keep), metrics)
            for member, value in zip(members, outcome.values.tolist(), strict=True):
                study.tell(trials[member], value)
            yield outcome


def _suggest(space: Space, trial: Trial) -> tuple[Integers, Integers, int]:
    """Return a suggested mapping: indices of factorisations, and loops sorted by suggested numbers."""
    cut_indices = [
        trial.suggest_int(f"cut {dimension}", 0, len(cuts) - 1) for dimension, cuts in enumerate(space.cuts)
    ]
    orders = [_order(space, trial, level) for level in range(space.levels)]
    return np.array(cut_indices), np.array(orders), trial.suggest_int("keep", 0, len(space.keep_choices) - 1)


def _order(space: Space, trial: Trial, level: int) -> list[int]:
    # a sampler suggests numbers and no permutation; the order of the numbers stands for one
    inner = space.constraints.inner[level]
    free = [dimension for dimension in range(space.dimensions) if dimension not in inner]
    return [
        *inner,
        *sorted(free, key=lambda dimension: trial.suggest_float(f"order {level} {dimension}", 0.0, 1.0)),
    ]
