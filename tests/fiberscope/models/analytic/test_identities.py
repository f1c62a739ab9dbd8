"""What holds of every design: nothing is lost, and what is left out is no more than what was there."""

from dataclasses import replace

import numpy as np
import pytest
from drawn_designs import DRAWN, drawn_design

from fiberscope.models.analytic.evaluate import evaluate_many
from fiberscope.models.analytic.safs import ReadOmission, SparseFeatures
from fiberscope.models.analytic.uniform import FixedStructured

SEEDS = range(DRAWN)


@pytest.fixture(scope="module", params=["exact", "timeloop"])
def evaluations(request):
    """Random designs with random mappings, evaluated."""
    return [evaluate_many(*drawn_design(seed, request.param)) for seed in SEEDS]


def test_accesses_add_up_to_the_dense_ones(evaluations):
    for found in evaluations:
        for place, one in found.counts.actions.items():
            dense = found.traffic.dense[place]
            for access, every in (
                (one.reads, dense.reads),
                (one.fills, dense.fills),
                (one.updates, dense.updates),
            ):
                there = access.actual + access.gated + access.skipped
                assert (there <= every + 1e-9).all()
                assert min(part.min() for part in (access.actual, access.gated, access.skipped)) >= 0
                if not found.design.features.formats and not above(found, place):
                    assert there == pytest.approx(every)


def above(found, place):
    """Whether an outer level leaves something of this tensor out."""
    return any(level < place[0] and tensor == place[1] for level, tensor in found.counts.saved)


def test_computes_add_up_to_those_that_no_skipping_took(evaluations):
    for found in evaluations:
        told = found.counts.computes
        there = told.actual + told.gated + told.skipped + told.absent
        assert (there <= found.traffic.computes + 1e-9).all()
        if not found.counts.saved:
            assert there == pytest.approx(found.traffic.computes)


def test_dense_tensors_without_features_are_the_dense_step(evaluations):
    for found in evaluations:
        problem = found.design.problem
        dense = tuple(FixedStructured(problem.shape(number), 1.0) for number in range(len(problem.tensors)))
        design = replace(found.design, problem=replace(problem, densities=dense), features=SparseFeatures())
        again = evaluate_many(design, found.mappings)
        for place, one in again.counts.actions.items():
            wanted = again.traffic.dense[place]
            for access, every in (
                (one.reads, wanted.reads),
                (one.fills, wanted.fills),
                (one.updates, wanted.updates),
            ):
                assert (access.actual == every).all()
        assert (again.counts.computes.actual == again.traffic.computes).all()


def gated(features):
    """The same features, gating what they skip."""
    return SparseFeatures(
        features.formats,
        {
            level: tuple(ReadOmission(False, one.options) for one in several)
            for level, several in features.features.items()
        },
        features.compute_gating or features.compute_skipping,
        False,
    )


def skipped(features):
    return SparseFeatures(
        features.formats,
        {
            level: tuple(ReadOmission(True, one.options) for one in several)
            for level, several in features.features.items()
        },
        False,
        features.compute_gating or features.compute_skipping,
    )


def test_skipping_takes_no_longer_than_gating_and_does_as_much(evaluations):
    for found in evaluations:
        design = found.design
        one, other = (
            evaluate_many(replace(design, features=change(design.features)), found.mappings)
            for change in (skipped, gated)
        )
        assert (one.cycles <= other.cycles).all()
        for place, counted in one.counts.actions.items():
            for way in ("reads", "fills", "updates"):
                first, second = (getattr(x, way).actual for x in (counted, other.counts.actions[place]))
                assert (first == second).all()


def test_formats_never_change_the_computes_that_are_done(evaluations):
    for found in evaluations:
        design = found.design
        plain = SparseFeatures({}, design.features.features, True, False)
        formatted = replace(plain, formats=design.features.formats)
        one, other = (
            evaluate_many(replace(design, features=features), found.mappings)
            for features in (plain, formatted)
        )
        assert np.abs(one.counts.computes.actual - other.counts.computes.actual).max() <= 2


def test_a_batch_is_what_its_mappings_are_one_by_one():
    design, mappings = drawn_design(3, "exact")
    together = evaluate_many(design, mappings)
    for number in range(len(mappings)):
        part = slice(number, number + 1)
        alone = evaluate_many(
            design,
            replace(
                mappings,
                temporal=mappings.temporal[part],
                spatial=mappings.spatial[part],
                order=mappings.order[part],
            ),
        )
        assert alone.cycles[0] == together.cycles[number]
        assert alone.energy_pj[0] == pytest.approx(together.energy_pj[number], rel=1e-12)
        assert alone.explain() == together.explain(number)
