"""MatRaptor: the laws of all machines, and its product, counts and traffic against a plain model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fiberscope
from fiberscope.accelerators import ConfigurationError
from fiberscope.accelerators.testing import check_laws, random_operands, run_to_end

from .case import CASE

LINE, ELEMENT = 64, 12  # bytes


@pytest.mark.parametrize("variant", CASE.variants)
def test_the_laws_of_all_machines(variant: str) -> None:
    check_laws(CASE, variant)


def fibers_of(a: Any, b: Any, row: int) -> list[set[int]]:
    """The coordinates of the rows of B that a row of A names, but of empty ones."""
    named = a.indices[a.indptr[row] : a.indptr[row + 1]]
    fibers = [set(b.indices[b.indptr[k] : b.indptr[k + 1]].tolist()) for k in named]
    return [fiber for fiber in fibers if fiber]


def plain_counts(a: Any, b: Any, queues: int, entries: int) -> dict[str, int]:
    """What queues do, as sets: each takes a fiber, with the shortest if all but one are taken."""
    counts = dict.fromkeys(("multiply", "add", "merged", "sorted", "overflows", "popped"), 0)
    for row in range(a.shape[0]):
        full: list[set[int]] = []
        for fiber in fibers_of(a, b, row):
            target = full.pop(full.index(min(full, key=len))) if len(full) == queues - 1 else set()
            counts["multiply"] += len(fiber)
            counts["merged"] += len(target - fiber)
            full.append(fiber | target)
            counts["add"] += len(fiber) + len(target) - len(full[-1])
            counts["overflows"] += max(0, len(full[-1]) - entries)
        of_z = set().union(*full)
        counts["sorted"] += len(of_z)
        counts["popped"] += sum(map(len, full))
        counts["add"] += sum(map(len, full)) - len(of_z)
    return counts


@settings(deadline=None, max_examples=40)
@given(
    st.integers(1, 15),
    st.integers(1, 15),
    st.integers(1, 15),
    st.floats(0, 1),
    st.integers(0, 10**6),
    st.sampled_from(sorted(CASE.variants)),
)
def test_every_run_is_that_of_the_plain_model(
    rows: int, inner: int, columns: int, full: float, seed: int, variant: str
) -> None:
    a, b = random_operands(rows, inner, columns, int(full * min(rows * inner, inner * columns)), seed)
    machine = run_to_end(CASE.build(variant, (a, b)))
    queues = machine.parameters.queues
    assert abs(machine.result() - a @ b).max() == 0
    popped = {"popped": sum(one.popped for one in machine.queues)}
    assert machine.operations() | popped == plain_counts(a, b, queues.count, queues.size // ELEMENT)
    assert machine.operations()["multiply"] == sum(one.pushed for one in machine.queues)
    traffic = machine.traffic()
    for name, moved in (("A", traffic["A"].read_bytes), ("Z", traffic["Z"].write_bytes)):
        entries = a.nnz if name == "A" else machine.operations()["sorted"]
        assert entries * ELEMENT <= moved < entries * ELEMENT + LINE * machine.parameters.pe.count


def test_rows_of_an_element_are_in_one_channel() -> None:
    machine = run_to_end(CASE.build("shipped", CASE.operands()))
    count = machine.parameters.memory.channels
    own = [stripe.start // machine.stripe % count for stripe in machine.layouts()]
    assert own == [*range(8), *range(8), *range(8)]  # of B, of A, of Z


@pytest.mark.parametrize(
    ("interleave", "message"),
    [
        (1 << 38, "is 274877906944 bytes; it should be 137438953472 or less, as 8 stripes of that size"),
        (64, "is 64 bytes; it should be [0-9]+ or more, as a processing element's rows lie in one stripe"),
    ],
)
def test_stripes_that_would_lie_over_one_another_are_refused(interleave: int, message: str) -> None:
    with pytest.raises(ConfigurationError, match=f"memory.interleave {message}"):
        fiberscope.simulate(
            str(Path(__file__).parent), *CASE.operands(), settings={"memory.interleave": interleave}
        )


def test_a_run_is_verified_and_its_requests_are_checked() -> None:
    report = fiberscope.simulate(CASE.accelerator, *CASE.operands(), checked=True)
    assert report.verification is not None
    assert report.verification.passed
