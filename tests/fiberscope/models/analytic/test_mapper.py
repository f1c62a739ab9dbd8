"""The mapper: its space against plain enumeration, its searches against one another, and what ends them."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fiberscope.base.errors import InputError
from fiberscope.models import analytic
from fiberscope.models.analytic.evaluate import Design, evaluate_many
from fiberscope.models.analytic.inputs import read_case
from fiberscope.models.analytic.mapper.api import collect_constraints, find
from fiberscope.models.analytic.mapper.search import Limits, Outcome, evaluate_chunks, judge
from fiberscope.models.analytic.mapper.space import Space, list_factorisations
from fiberscope.models.analytic.mapper.walks import WALKS
from fiberscope.models.analytic.mapping import Mappings

DESIGNS = Path(analytic.__file__).parent / "designs"
MACHINE = """
architecture:
  version: 0.4
  nodes:
    - !Component {name: Memory, class: DRAM, attributes: {datawidth: 8, width: 8}}
    - !Component
      name: Buffer
      class: storage
      attributes: {datawidth: 8, width: 8, depth: 48, read_bandwidth: 4, write_bandwidth: 4}
    - !Component
      name: Register
      class: storage
      spatial: {meshX: 4}
      attributes: {datawidth: 8, width: 8, depth: 6}
    - !Component {name: MAC, class: compute, spatial: {meshX: 4}, attributes: {datawidth: 8}}
"""
PROBLEM = """
problem:
  version: 0.4
  shape:
    name: MatrixMultiply
    dimensions: [M, N, K]
    data_spaces:
      - {name: A, projection: [[[M]], [[K]]]}
      - {name: B, projection: [[[K]], [[N]]]}
      - {name: Z, projection: [[[M]], [[N]]], read_write: true}
  instance: {M: 8, N: 6, K: 4}
"""


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """A machine of three levels with four units, and a small product."""
    paths = [tmp_path / "machine.yaml", tmp_path / "problem.yaml"]
    for path, text in zip(paths, (MACHINE, PROBLEM), strict=True):
        path.write_text(text)
    return paths


@given(st.integers(1, 120), st.integers(1, 3), st.data())
def test_factorisations_by_trying_all(number: int, parts: int, data: st.DataObject) -> None:
    bounds = st.tuples(*[st.integers(1, 8)] * parts)
    least, most = data.draw(bounds), data.draw(bounds)
    ranges = [range(low, min(high, number) + 1) for low, high in zip(least, most, strict=True)]
    expected = {factors for factors in itertools.product(*ranges) if prod(factors) == number}
    found = list_factorisations(number, least, most).tolist()
    assert len(found) == len(expected)
    assert set(map(tuple, found)) == expected


def _everything(space: Space) -> list[Mappings]:
    return list(WALKS["exhaustive"](space, 0))


def _keys(chunks: Sequence[Mappings]) -> list[tuple[object, ...]]:
    """Each mapping as what is different of it: bounds, the order of loops that iterate, what is kept."""
    return [
        (
            chunk.temporal[at].tobytes(),
            chunk.spatial[at].tobytes(),
            tuple(
                tuple(one for one in order if chunk.temporal[at, level, one] > 1)
                for level, order in enumerate(chunk.order[at].tolist())
            ),
            chunk.keep.tobytes(),
        )
        for chunk in chunks
        for at in range(len(chunk))
    ]


def _space(files: Sequence[Path], demanded: str = "", tmp_path: Path | None = None) -> tuple[Design, Space]:
    paths = [*files]
    if tmp_path is not None:
        paths.append(tmp_path / "constraints.yaml")
        paths[-1].write_text(demanded)
    case = read_case(paths)
    constraints = collect_constraints(case)
    return case.design, Space(case.design.architecture, case.design.problem, constraints)


SMALL = """
mapspace_constraints:
  - {target: Memory, type: temporal, factors: [M=1, K=1]}
  - {target: Buffer, type: spatial, factors: [N=1, K=1]}
  - {target: Buffer, type: dataspace, keep: [A, B, Z]}
  - {target: Register, type: dataspace, keep: [Z], bypass: [A]}
"""


def test_every_mapping_is_walked_once(files: list[Path], tmp_path: Path) -> None:
    _design, space = _space(files, SMALL, tmp_path)
    keys = _keys(_everything(space))
    assert len(keys) == len(set(keys))
    assert set(_keys([next(WALKS["random_pruned"](space, 3))])) <= set(keys)
    # M over the spatial loop and two temporal ones, N over three, K over two; two choices of what is kept.
    cuts = sum(1 for _ in itertools.product(*(range(len(one)) for one in space.cuts)))
    assert [len(one) for one in space.cuts] == [9, 9, 3]
    assert len(keys) >= 2 * cuts


def test_the_best_of_all_is_found_by_all_walks(files: list[Path], tmp_path: Path) -> None:
    design, space = _space(files, SMALL, tmp_path)
    chunks = _everything(space)
    costs = [cost for chunk in chunks for cost in _edp(design, chunk)]
    found = judge(evaluate_chunks(design, iter(chunks), ["edp"], Limits()), Limits())
    assert found.costs[0] == min(costs)
    assert found.evaluated == len(costs)
    assert found.valid == np.isfinite(costs).sum()
    limits = Limits(points=20_000)
    drawn = judge(evaluate_chunks(design, WALKS["random_pruned"](space, 0), ["edp"], limits), limits)
    assert drawn.costs == found.costs


def _edp(design: Design, chunk: Mappings) -> list[float]:
    found = evaluate_many(design, chunk)
    return np.where(found.valid, found.edp, np.inf).tolist()


@pytest.mark.parametrize("walk", ["random_pruned", "linear_pruned"])
def test_the_result_does_not_depend_on_the_number_of_workers(files: list[Path], walk: str) -> None:
    limits = Limits(points=3_000, victory=900)
    one, several = (find(files, search=walk, limits=limits, workers=workers) for workers in (1, 3))
    assert one.outcome.improvements == several.outcome.improvements
    assert one.outcome.rejected == several.outcome.rejected
    assert one.outcome.end_reason == several.outcome.end_reason
    assert one.mapping() == several.mapping()


def test_a_short_walk_meets_every_choice_of_what_is_kept() -> None:
    case = read_case(["matmul"], with_mapping=False)
    space = Space(case.design.architecture, case.design.problem, collect_constraints(case))
    walk = WALKS["random_pruned"](space, 0)
    met = {next(walk).keep.tobytes() for _ in space.keep_choices}
    assert len(met) == len(space.keep_choices)
    assert find(["matmul"], limits=Limits(points=300)).outcome.valid > 0


def test_another_seed_draws_others(files: list[Path]) -> None:
    limits = Limits(points=512)
    found = [find(files, limits=limits, seed=seed).outcome for seed in (0, 0, 1)]
    assert found[0].rejected == found[1].rejected != found[2].rejected
    assert found[0].improvements == found[1].improvements


def test_the_mapping_is_read_back_unchanged(files: list[Path], tmp_path: Path) -> None:
    best = find(files, limits=Limits(points=2_000))
    path = tmp_path / "best.yaml"
    path.write_text(best.mapping())
    case = read_case([*files, path])
    assert case.mapping is not None
    again = evaluate_many(case.design, case.mapping.batch())
    assert again.valid.all()
    assert again.edp[0] == best.outcome.costs[0]
    assert case.mapping.as_yaml(case.design.architecture, case.design.problem) == best.mapping()


@pytest.mark.parametrize("name", [path.stem for path in sorted(DESIGNS.glob("*.yaml"))])
@pytest.mark.parametrize("reads_first", [False, True])
def test_every_mapping_is_read_back_unchanged(name: str, reads_first: bool, tmp_path: Path) -> None:
    case = read_case([name])
    assert case.mapping is not None
    machine, problem = case.design.architecture, case.design.problem
    mapping = case.mapping
    if reads_first:
        outputs = np.array([tensor.output for tensor in problem.tensors])
        mapping = replace(mapping, reads_first=mapping.keep & outputs)
    design = re.sub(r"^mapping:.*?(?=^\w|\Z)", "", (DESIGNS / f"{name}.yaml").read_text(), flags=re.S | re.M)
    path = tmp_path / "design.yaml"
    path.write_text(f"{design}\n{mapping.as_yaml(machine, problem)}")
    again = read_case([path])
    assert again.mapping is not None
    batches = [mapping.batch(), again.mapping.batch(), mapping.batch().select(np.array([0]))]
    costs = [evaluate_many(case.design, batch) for batch in batches]
    assert [cost.edp[0] for cost in costs] == [costs[0].edp[0]] * 3
    assert again.mapping.as_yaml(machine, problem) == mapping.as_yaml(machine, problem)


def test_a_search_reads_outputs_before_their_first_update(files: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "constraints.yaml"
    text = "mapspace_constraints:\n  - {target: Register, type: dataspace, keep: [A, Z]%s}\n"
    found = []
    for first in ("", ", rmw_first_update: [A]", ", rmw_first_update: [Z]"):
        path.write_text(text % first)
        best = find([*files, path], limits=Limits(points=500))
        (tmp_path / "best.yaml").write_text(best.mapping())
        case = read_case([*files, tmp_path / "best.yaml"])
        assert case.mapping is not None
        edp = evaluate_many(case.design, case.mapping.batch()).edp[0]
        assert edp == best.outcome.costs[0]
        found.append(edp)
    assert found[0] == found[1] < found[2]


@pytest.mark.parametrize(
    ("limits", "ended", "evaluated"),
    [
        (Limits(points=700), "700 mappings were looked at", 700),
        (Limits(victory=100), "the last 100 valid mappings were no better", None),
    ],
)
def test_what_ends_a_search(files: list[Path], limits: Limits, ended: str, evaluated: int | None) -> None:
    found = find(files, limits=limits).outcome
    assert found.end_reason == ended
    assert found.evaluated == (evaluated or found.evaluated)


_LIMIT = st.none() | st.integers(1, 8)


def expected_end(chunks: list[tuple[int, int, int]], limits: Limits) -> tuple[int, str, float]:
    """Mappings that are looked at, the reason of the end, and the least cost, by a plain walk."""
    for seen in range(1, len(chunks) + 1):
        costs = [cost if valid else np.inf for _wrong, valid, cost in chunks[:seen]]
        best = costs.index(min(costs)) if min(costs) < np.inf else -1
        last_valid = max((place for place in range(seen) if chunks[place][1]), default=-1)
        evaluated = sum(wrong + valid for wrong, valid, _cost in chunks[:seen])
        no_better = sum(valid for _wrong, valid, _cost in chunks[best + 1 : seen])
        invalid = sum(wrong for wrong, _valid, _cost in chunks[last_valid + 1 : seen])
        reached = [
            evaluated >= limits.points and f"{limits.points} mappings were looked at",
            limits.victory
            and no_better >= limits.victory
            and f"the last {limits.victory} valid mappings were no better",
            limits.invalid
            and invalid >= limits.invalid
            and f"none of the last {limits.invalid} mappings is valid",
        ]
        if any(reached) or seen == len(chunks):
            end = next(filter(None, reached), "all mappings were looked at")
            return evaluated, end, min(costs)
    raise AssertionError("a search has a chunk")


@settings(max_examples=50)
@example([(3, 0, 1), (1, 1, 1)], Limits(3, None, 3))  # two limits at once
@example([(0, 1, 1), (0, 2, 2), (9, 0, 1)], Limits(3, 2))
@given(
    st.lists(
        st.integers(0, 3).flatmap(
            lambda valid: st.tuples(st.integers(0, 3), st.just(valid), st.integers(1, 4))
        ),
        min_size=1,
    ),
    st.builds(Limits, st.integers(1, 30), _LIMIT, _LIMIT),
)
def test_a_search_ends_behind_the_first_chunk_that_reaches_a_limit(
    chunks: list[tuple[int, int, int]], limits: Limits
) -> None:
    """Each chunk has a number of invalid mappings, one of valid ones, and the cost of its best one."""
    found = judge(
        (
            Outcome(
                wrong + valid, Counter({"large": wrong}), np.zeros(0), object() if valid else None, (cost,)
            )  # type: ignore[arg-type]
            for wrong, valid, cost in chunks
        ),
        limits,
    )
    assert (found.evaluated, found.end_reason, *found.costs) == expected_end(chunks, limits)


def test_nothing_fits(files: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "whole.yaml"
    path.write_text(
        "mapspace_constraints:\n  - {target: Register, type: temporal, factors: [M=8, N=6, K=4]}\n"
        "  - {target: Register, type: dataspace, keep: [A, B, Z]}\n"
    )
    with pytest.raises(InputError, match=r"none of the .* is valid: .* Register: data does not fit"):
        find([*files, path], limits=Limits(points=2_000))


@pytest.mark.parametrize(
    ("demanded", "fault"),
    [
        ("{target: Bufer, type: temporal}", "there is no level Bufer"),
        ("{target: Buffer, type: temporal, factors: [J=2]}", "there is no dimension J"),
        ("{target: Buffer, type: temporal, factors: [M~2]}", "K<=8"),
        ("{target: Buffer, type: dataspace, keep: [C]}", "there is no data space C"),
        ("{target: Memory, type: dataspace, bypass: [A]}", "keeps everything"),
        ("{target: Buffer, type: temporal, factors: [M=5]}", "no loops over M make 8"),
        ("{target: Buffer, type: temporal, permutation: [M, M]}", "twice"),
    ],
)
def test_constraints_that_cannot_be(files: list[Path], tmp_path: Path, demanded: str, fault: str) -> None:
    path = tmp_path / "constraints.yaml"
    path.write_text(f"mapspace_constraints:\n  - {demanded}\n")
    with pytest.raises(ValueError, match=fault) as refused:
        find([*files, path], limits=Limits(points=10))
    assert "\n" not in str(refused.value)


def test_the_command(files: list[Path], tmp_path: Path, printed) -> None:
    best, report = tmp_path / "best.yaml", tmp_path / "report.json"
    names = [str(path) for path in files]
    told = printed("map", *names, "--points", "600", "-o", str(best), "--json", str(report))
    assert "Looked at 600 mappings" in told
    assert "Buffer: data does not fit" in told
    found = json.loads(report.read_text())
    again = json.loads(printed("analyze", *names, str(best), "--quiet", "--json", "-"))
    assert again["cycles"] == found["cycles"]
    assert again["energy"] == found["energy"]


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (["--search", "randm"], "there is no search randm"),
        (["--metric", "speed"], "there is no metric speed"),
        (["--search", "exhaustive"], "exhaustive: there may be"),
    ],
)
def test_what_cannot_be_searched(files: list[Path], options: list[str], fault: str, refusal) -> None:
    assert fault in refusal("map", *map(str, files), *options)


def test_optuna_learns(files: list[Path]) -> None:
    pytest.importorskip("optuna")
    limits = Limits(points=128)
    one, again = (find(files, search="optuna", limits=limits, seed=1).outcome for _ in range(2))
    assert one.improvements == again.improvements
    assert one.rejected == again.rejected
    assert one.valid > 0
