"""Constraints, metrics, ranks and evictions at their limits, and reports that name no folder."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from changed_designs import LATCHED

from fiberscope.base.errors import InputError
from fiberscope.models import analytic
from fiberscope.models.analytic.api import analyze
from fiberscope.models.analytic.mapper.api import find
from fiberscope.models.analytic.mapper.space import Space
from fiberscope.models.analytic.ranks import _Loops
from fiberscope.models.analytic.safs import Format, RankFormat
from fiberscope.models.analytic.specified_nest import Loop, _check_eviction

DESIGNS = Path(analytic.__file__).parent / "designs"
EMPTY_BUFFER = "Buffer"


def test_a_search_needs_a_metric() -> None:
    with pytest.raises(InputError, match="no metric; give at least one of edp, delay, energy"):
        find([DESIGNS / "matmul.yaml"], metrics=())


@pytest.mark.parametrize("constraint", [(True, False), (False, True), (False, False), (True, True)])
@pytest.mark.parametrize("bounds", [(4, 1), (4, 2), (2, 4), (1, 1), (8, 8)])
def test_constrained_loops_are_along_their_axis_even_if_they_do_not_fit(
    constraint: tuple[bool, ...], bounds: tuple[int, ...]
) -> None:
    """A mesh of 4 x 2: what does not fit is refused later, and not mapped along the other axis."""
    space = SimpleNamespace(
        fan_outs=np.array([[4, 2]]), constraints=SimpleNamespace(on_y=(constraint,)), dimensions=2
    )
    on_y = Space._assign_to_y(space, np.array([[bounds]]))  # type: ignore[arg-type]
    assert on_y is not None
    assert tuple(on_y[0, 0].tolist()) == constraint


@pytest.mark.parametrize("is_outward", [True, False])
@pytest.mark.parametrize("start", [0, 1, 2])
def test_loops_never_share_a_rank_of_the_tiles_inside(is_outward: bool, start: int) -> None:
    """Each rank takes all loops over both dimensions; the ranks before ``start`` are those of inner tiles."""
    kind = Format((RankFormat("CP", flattened=((0, 1),)),) * 3, inner_to_outer=is_outward)
    steps = np.full((1, 3, 2), 1)
    loops = _Loops(np.array([[5, 7]]), np.array([[0, 1]]), np.ones((1, 2), np.bool_))
    assert not loops.spread(kind, steps, np.array([start])).any()
    assert (steps[0, :start] == 1).all()
    assert steps.prod(axis=1).tolist() == [[5, 7]]


def nest_of(evict_on: str | None, ranks: tuple[str, ...]) -> SimpleNamespace:
    """A nest of a loop over M outside of a buffer that keeps a tensor B."""
    binding = SimpleNamespace(component=EMPTY_BUFFER, tensor="B", evict_on=evict_on)
    return SimpleNamespace(
        loops=(Loop("M", "M", 4, is_spatial=False),),
        depths=(1,),
        levels=(EMPTY_BUFFER,),
        level_tensors=(frozenset("B"),),
        tensors={"B": ranks},
        einsum=SimpleNamespace(bindings=SimpleNamespace(storage=(binding,))),
        specification=SimpleNamespace(name="mine"),
    )


def refusal(evict_on: str | None, ranks: tuple[str, ...]) -> str | None:
    try:
        _check_eviction(nest_of(evict_on, ranks), 0)  # type: ignore[arg-type]
    except InputError as error:
        return str(error).removeprefix("mine is no nest of loops with levels: ")
    return None


@pytest.mark.parametrize(
    ("evict_on", "ranks", "message"),
    [
        # A tensor that no loop moves is kept until the root
        ("root", ("K", "N"), None),
        (None, ("K", "N"), None),
        ("root", ("M", "K"), "Buffer evicts B on no loop, and M moves it"),
        (None, ("M", "K"), "Buffer evicts B on no loop, and M moves it"),
        ("M", ("K", "N"), "Buffer evicts B on M, and no loop moves it"),
    ],
)
def test_an_eviction_is_refused_at_another_loop_than_the_innermost_that_moves_the_tensor(
    evict_on: str | None, ranks: tuple[str, ...], message: str | None
) -> None:
    assert refusal(evict_on, ranks) == message


@pytest.mark.parametrize("design", ["bitmask", "matmul"])
def test_the_digest_of_a_design_that_ships_does_not_depend_on_its_folder(tmp_path: Path, design: str) -> None:
    shutil.copy(DESIGNS / f"{design}.yaml", tmp_path)
    shipped, copied = analyze(design), analyze(tmp_path / f"{design}.yaml")
    assert "/" not in shipped.config["energies"]
    assert shipped.config == copied.config
    assert shipped.config_digest == copied.config_digest


def test_too_few_ranks_are_counted_with_the_loops_of_a_tile_that_is_stored_in_one_piece(
    tmp_path: Path,
) -> None:
    """Of B, N has a loop in the buffer, and K only in the latch inside, whose tile is a piece here."""
    outer = "factors: [M=4, N=2, K=1], permutation: [M, K, N]}"
    inner = "{target: Latch, type: temporal, factors: [M=1, N=2, K=4], permutation: [K, N, M]}"
    formats = "representation_format: {data_spaces: [{name: B, ranks: [{format: U}]}]}"
    text = LATCHED
    for old, new in (
        ("DENSITY", "0.5"),
        ("KEPT", "[B]"),
        ("BYPASSED", "[A, Z]"),
        ("        action_optimization:", f"        {formats}\n        action_optimization:"),
        ("factors: [M=4, N=4, K=4], permutation: ORDER}", f"{outer}\n  - {inner}"),
    ):
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "design.yaml"
    path.write_text(text)
    with pytest.raises(
        InputError, match="B at Buffer needs a rank for each loop over N, K; its format has 1"
    ):
        analyze(path)
