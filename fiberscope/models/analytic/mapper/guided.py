"""A search that learns from what it has seen: Optuna's estimator of good and bad regions.

Optuna rather than pymoo: it takes bounds of whole numbers and choices as they are, is seeded, asked and told
in batches, and a sweep over designs can go on with the same study.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fiberscope.errors import InputError
from fiberscope.models.analytic.evaluate import Design
from fiberscope.models.analytic.mapper.chunk import Outcome, evaluate
from fiberscope.models.analytic.mapper.space import Space, Whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from optuna.trial import Trial

__all__ = ["guided"]

BATCH = 64  # mappings between two looks at what was found


def guided(design: Design, space: Space, metrics: Sequence[str], seed: int) -> Iterator[Outcome]:
    """Outcomes of batches that become better, without end.

    Raises:
        InputError: Optuna is not there.
    """
    try:
        import optuna  # noqa: PLC0415 - an extra, and slow to import
    except ImportError:
        raise InputError("the search optuna needs its library: pip install 'fiberscope[search]'") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)
    study = optuna.create_study(sampler=sampler)
    while True:
        trials = [study.ask() for _ in range(BATCH)]
        asked = [_suggested(space, trial) for trial in trials]
        for keep in sorted({one[2] for one in asked}):
            alike = [at for at, one in enumerate(asked) if one[2] == keep]
            places, orders = (np.stack([asked[at][part] for at in alike]) for part in (0, 1))
            outcome = evaluate(design, space.mappings(places, orders, keep), metrics)
            for at, value in zip(alike, outcome.values.tolist(), strict=True):
                study.tell(trials[at], value)
            yield outcome


def _suggested(space: Space, trial: Trial) -> tuple[Whole, Whole, int]:
    """A mapping: cuts by their place, and loops in the order of numbers that are chosen for them."""
    places = [trial.suggest_int(f"cut {at}", 0, len(cuts) - 1) for at, cuts in enumerate(space.cuts)]
    orders = [_order(space, trial, level) for level in range(space.levels)]
    return np.array(places), np.array(orders), trial.suggest_int("keep", 0, len(space.keeps) - 1)


def _order(space: Space, trial: Trial, level: int) -> list[int]:
    inner = space.constraints.inner[level]
    free = [one for one in range(space.dimensions) if one not in inner]
    return [*inner, *sorted(free, key=lambda one: trial.suggest_float(f"order {level} {one}", 0.0, 1.0))]
