"""The sentence that gives the reason for a choice of tiles."""

from __future__ import annotations

import numpy as np
import pytest

from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.options import Options
from fiberscope.models.tiles.plan import Plan, plan
from fiberscope.models.tiles.report import explain_choice
from fiberscope.workloads.tensor import SparseTensor


def plan_of(capacity: int, search: str) -> Plan:
    """The tiles of a product of random matrices."""
    drawn = np.random.default_rng(1).random
    tensors = {name: SparseTensor.from_array((drawn((40, 40)) < 0.3) * 1.0, name) for name in "AB"}
    kernel = Kernel.read("C[i,j] = A[i,k] * B[k,j]", "ikj")
    return plan(kernel, tensors, capacity, Options.model_validate({"model": "counted", "search": search}))


@pytest.mark.parametrize("search", ["rf", "grid"])
def test_the_reason_names_the_tiles_that_the_choice_is_compared_with(search: str) -> None:
    reason = explain_choice(plan_of(40, search))
    assert reason.startswith("B is fetched ")
    assert ("with the smallest tiles of the grid, i 1 x k 1 x j 1;" in reason) == (search == "grid")


@pytest.mark.parametrize("capacity", [40, 60, 200])
def test_shapes_of_a_grid_that_do_not_fit_are_no_alternative(capacity: int) -> None:
    planned = plan_of(capacity, "grid")
    smallest = min(planned.chosen.candidates, key=lambda candidate: candidate.prediction.total)
    assert not smallest.fits
    assert "i 40 x k 40 x j 40" not in explain_choice(planned)
