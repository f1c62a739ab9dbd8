"""The search: the worked choice, schemes that always fit, and what is done where the first does not."""

import itertools

import numpy as np
import pytest
from pydantic import ValidationError
from tiling import examples

from fiberscope.base.errors import InputError
from fiberscope.models.tiles.base import (
    Candidate,
    Prediction,
    choose_base_shape,
    count_capacity,
    cut_all,
    pack_one,
)
from fiberscope.models.tiles.fit import Fitter
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.measure import measure
from fiberscope.models.tiles.optimise import _choose_best_candidate, optimise
from fiberscope.models.tiles.options import Options
from fiberscope.models.tiles.plan import plan
from fiberscope.models.tiles.reorder import iterate_reorderings
from fiberscope.models.tiles.statistics import collect_all
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.tiles.metrics import METRICS

CAPACITY = 43


def kernel_of(text=examples.SQUARE, order="ikj"):
    return Kernel.read(text, order)


def chosen(**options):
    return optimise(kernel_of(), examples.squared(), CAPACITY, Options(**options))


def test_the_worked_choice_is_that_by_hand():
    scheme = chosen()
    assert scheme.shape == {"i": 16, "k": 1, "j": 16}
    assert (scheme.rf, scheme.tf, scheme.fullest, scheme.verified) == (4, 1.72, 27, True)
    assert [(one.rf, round(one.prediction.total, 1)) for one in scheme.candidates] == [
        (1, 772.1),
        (2, 592.0),
        (4, 557.8),
    ]
    assert [one.iterations for one in scheme.candidates] == [64, 32, 16]
    assert measure(kernel_of(), examples.squared(), scheme.shape).total == 640


def test_summed_indices_grow_where_all_others_are_whole():
    scheme = chosen(grow="contracted")
    assert (scheme.shape, scheme.fullest) == ({"i": 16, "k": 2, "j": 16}, 37)
    assert measure(kernel_of(), examples.squared(), scheme.shape).total == 532


def test_a_grid_of_shapes_finds_the_same_and_says_what_was_refused():
    scheme = chosen(model="counted", search="grid")
    assert scheme.shape == {"i": 16, "k": 2, "j": 16}
    by_shape = {tuple(one.shape.values()): one for one in scheme.candidates}
    assert len(by_shape) == 5**3
    refused = by_shape[16, 4, 16]
    assert (round(refused.prediction.total, 1), refused.fullest, refused.fits) == (481.7, 45, False)


def test_of_shapes_within_a_hundredth_fewest_iterations_then_the_squarest_are_taken():
    """Traffic, iterations and shape; the least traffic of these is 1,000."""

    def least(*given):
        made = [
            Candidate({"i": rows, "j": columns}, Prediction({"A": traffic - 1}, {}, 1, 1, 1), iterations)
            for traffic, iterations, rows, columns in given
        ]
        return made.index(_choose_best_candidate(made))

    assert least((1000, 9, 4, 4), (1010, 8, 4, 4)) == 1
    assert least((1000, 9, 4, 4), (1010.1, 8, 4, 4)) == 0
    assert least((1009, 9, 4, 4), (1010, 8, 4, 4), (1000, 10, 4, 4)) == 1
    assert least((1000, 9, 8, 2), (1010, 9, 2, 4)) == 1
    assert least((1000, 9, 2, 8), (1010, 9, 16, 4), (1011, 9, 4, 4)) == 0


def test_shapes_below_one_are_candidates_when_asked_for():
    scheme = chosen(rf_below_one=True)
    assert [one.rf for one in scheme.candidates] == [1, 2, 4, 0.5, 0.25]
    assert scheme.candidates[3].shape == {"i": 2, "k": 8, "j": 2}


def test_the_size_may_grow_in_all_indices():
    assert chosen(size="all").tf == 1.72
    assert round(chosen(max_tile="reshaped").tf, 4) == round(43 / 27, 4)


@pytest.mark.parametrize(
    ("text", "order", "edge", "shapes"),
    [
        (examples.SQUARE, "ikj", 128, {1: (128, 128, 128), 2: (256, 64, 256), 32: (4000, 4, 4000)}),
        (examples.TTM, "ijlk", 2, {1: (2, 2, 2, 2), 2: (4, 2, 1, 4)}),
        (examples.TTM, "ijlk", 25, {2: (50, 25, 12, 50), 16: (400, 25, 1, 400)}),
        (examples.MTTKRP, "iklj", 2, {2: (4, 1, 1, 4)}),
        (examples.MTTKRP, "iklj", 25, {1: (25, 25, 25, 25), 2: (50, 16, 16, 39)}),
        ("D[i,j]=S[i,j]*A[i,k]*B[k,j]", "ijk", 128, {2: (256, 64, 64)}),
        ("C[i,j]=A[i,j]+B[i,j]", "ij", 128, {4: (512, 32)}),
    ],
)
def test_reordered_shapes_have_no_more_places_than_the_base(text, order, edge, shapes):
    kernel = kernel_of(text, order)
    found = dict(iterate_reorderings(kernel, edge, dict.fromkeys(order, 4000), below_one=False))
    for factor, shape in shapes.items():
        assert tuple(found[factor].values()) == shape


def test_no_shape_follows_one_that_covers_the_tensors():
    found = iterate_reorderings(kernel_of(), 128, dict.fromkeys("ikj", 300), below_one=False)
    assert [factor for factor, _shape in found] == [1, 2, 4]


@pytest.mark.parametrize(
    ("base", "edge"), [("largest", 25), ("values_only", 32), ("power_of_two", 16), (10, 10)]
)
def test_the_base_of_three_ranks_has_its_readings(base, edge):
    kernel = kernel_of(examples.TTM, "ijlk")
    extents = {"i": 1000, "j": 7, "l": 1000, "k": 1000}
    found = choose_base_shape(kernel, extents, count_capacity(kernel, 131_072), base=base)
    assert found == {"i": edge, "j": 7, "l": edge, "k": edge}


def test_the_buffer_of_the_paper_holds_the_tile_of_the_paper():
    kernel = kernel_of()
    assert count_capacity(kernel, 131_072) == 33_027
    assert choose_base_shape(kernel, dict.fromkeys("ikj", 9999), 33_027) == dict.fromkeys("ikj", 128)
    assert count_capacity(kernel_of(examples.TTM, "ijlk"), 131_072) == 32_768


@pytest.mark.parametrize("words", [0, 2, 6, 7])
def test_a_buffer_too_small_for_two_by_two_holds_what_it_holds(words):
    assert count_capacity(kernel_of(), 4 * words) == words


@pytest.mark.parametrize(
    ("capacity", "base", "message"),
    [
        (6, "largest", "a capacity of 6 words: one nonzero takes 7"),
        (43, 5, "a dense tile of 5 x 5 takes 63 words, the buffer holds 43"),
    ],
)
def test_what_cannot_fit_is_refused(capacity, base, message):
    with pytest.raises(InputError) as caught:
        choose_base_shape(kernel_of(), dict.fromkeys("ikj", 16), capacity, base=base)
    assert str(caught.value) == message


def test_a_base_tile_that_does_not_fit_is_named():
    with pytest.raises(InputError) as caught:
        optimise(kernel_of(), examples.squared(), 24, Options(base="values_only"))
    assert str(caught.value) == (
        "the tile of A at i' = 0, k' = 0 takes 25 words of 24; a smaller base tile fits"
    )


def random_problem(generator):
    """Two matrices of any shape, uniform, banded, with hubs or in blocks, perhaps empty; and a capacity."""
    rows, middle, columns = (int(extent) for extent in generator.integers(1, 90, 3))
    tensors = {"A": _matrix(generator, rows, middle), "B": _matrix(generator, middle, columns)}
    return tensors, int(generator.choice([7, 12, 43, 100, 403]))


def _matrix(generator, rows, columns):
    down, across = np.arange(rows)[:, None], np.arange(columns)
    kind = generator.integers(4)
    if kind == 0:
        chance = np.full((rows, columns), generator.choice([0.0, 0.02, 0.3, 1.0]))
    elif kind == 1:
        chance = (np.abs(down - across) <= generator.integers(0, 4)).astype(float)
    elif kind == 2:
        chance = 1.5 / (1 + down) + 1.5 / (1 + across)
    else:
        chance = (down // 6 == across // 6) * 0.9
    found = np.nonzero(generator.random((rows, columns)) < chance)
    return SparseTensor.from_coordinates((rows, columns), found, np.ones(len(found[0])))


VARIANTS = [
    {},
    {"grow": "contracted", "rf_below_one": True},
    {"model": "counted"},
    {"size": "all", "max_tile": "reshaped"},
    {"metric": "opal", "estimate": "positional", "tilecorrs": "pooled", "corrs": "unbiased"},
]


@pytest.mark.parametrize("variant", range(len(VARIANTS)))
def test_every_scheme_fits(variant):
    check_fits(variant, 12)


@pytest.mark.slow
@pytest.mark.parametrize("variant", range(len(VARIANTS)))
def test_every_scheme_of_many_fits(variant):
    """500 cases in all."""
    check_fits(variant, 100)


def check_fits(variant, cases):
    """Every tile of every scheme, cut anew, fits."""
    options = Options(**VARIANTS[variant])
    metric = METRICS[options.metric]
    generator = np.random.default_rng(variant)
    for _case in range(cases):
        tensors, capacity = random_problem(generator)
        kernel = kernel_of(order="".join(generator.permutation(list("ikj"))))
        scheme = optimise(kernel, tensors, capacity, options)
        held = [
            one.buffered_sizes(metric).max(initial=0)
            for one in cut_all(kernel, tensors, scheme.shape).values()
        ]
        assert max(held) == scheme.fullest <= capacity
        assert list(scheme.shape) == list(kernel.order)


def test_the_tile_factor_alone_would_not_fit():
    """The fullest tile of the base says nothing of the fullest tile of another shape."""
    generator = np.random.default_rng(0)
    overflowing = 0
    for _case in range(40):
        tensors, capacity = random_problem(generator)
        kernel = kernel_of()
        scheme = optimise(kernel, tensors, capacity)
        known = collect_all(kernel, tensors, scheme.candidates[0].shape)
        most = max(1, *(one.max_tile for one in known.values()))
        overflowing += scheme.rf is not None and scheme.tf < capacity / most
    assert overflowing > 0


def test_a_scheme_that_moves_more_than_the_base_is_not_returned():
    tensors, kernel = examples.squared(), kernel_of()
    words = {(16, 1, 16): 900.0, (4, 4, 4): 844.0}
    scheme = optimise(kernel, tensors, CAPACITY, judge=lambda shape, _packed: words[tuple(shape.values())])
    assert scheme.shape == {"i": 4, "k": 4, "j": 4}
    assert scheme.fallback == "it moves more than the base tiling"
    assert len(scheme.candidates) == 3


def test_statistics_that_are_given_are_not_collected_again():
    kernel, tensors = kernel_of(), examples.squared()
    known = collect_all(kernel, tensors, dict.fromkeys("ikj", 4))
    assert optimise(kernel, tensors, CAPACITY, statistics=known) == optimise(kernel, tensors, CAPACITY)


def test_a_grid_needs_the_counted_model():
    with pytest.raises(InputError, match="a search on a grid needs the model counted"):
        chosen(search="grid")


@pytest.mark.parametrize(
    ("factor", "enlarged"), [(3.0, ({"i": 10, "k": 5, "j": 10}, 2.0)), (1.0, None), (9e99, None)]
)
def test_a_factor_comes_down_by_what_the_fullest_tile_exceeds(factor, enlarged):
    fitter = Fitter(kernel_of(), {}, 100, METRICS["words"])
    fitter.find_fullest_size = lambda shape: 10 * shape["i"] if factor < 1e9 else 101
    shape, extents = dict.fromkeys("ikj", 5), dict.fromkeys("ikj", 10**6)
    assert fitter.enlarge(shape, factor, extents, every=False) == enlarged


def test_doubling_sums_ends_at_the_extent():
    diagonal = examples.of_points([(place, place) for place in range(10)], (10, 10))
    tensors = {"A": diagonal, "B": diagonal}
    fitter = Fitter(kernel_of(), tensors, 1000, METRICS["words"])
    shape = dict(zip("ikj", (10, 1, 10), strict=True))
    assert fitter.grow_summed_indices(shape, dict.fromkeys("ikj", 10)) == dict.fromkeys("ikj", 10)


@pytest.mark.parametrize("extents", list(itertools.product((1, 3), repeat=3)))
def test_extents_below_the_edge_are_taken_whole(extents):
    rows, middle, columns = extents
    tensors = {
        "A": examples.of_points([(rows - 1, 0)], (rows, middle)),
        "B": examples.of_points([(0, columns - 1)], (middle, columns)),
    }
    scheme = optimise(kernel_of(), tensors, 33_027)
    assert scheme.fullest == 7
    assert measure(kernel_of(), tensors, scheme.shape).total == 21


def test_packed_tiles_are_whole_base_tiles_and_fit():
    generator = np.random.default_rng(5)
    for _case in range(30):
        tensors, capacity = random_problem(generator)
        kernel = kernel_of()
        scheme = optimise(kernel, tensors, capacity, Options(tiles="packed"))
        base = scheme.candidates[0].shape
        assert scheme.packed == base
        for index, size in scheme.shape.items():
            (name, *_others) = kernel.list_carriers(index)
            extent = tensors[name].shape[kernel.indices[name].index(index)]
            assert size == extent or size % base[index] == 0
        packs = [pack_one(kernel, name, tensors[name], scheme.shape, base) for name in kernel.inputs]
        assert max(int(one.words.max(initial=0)) for one in packs) == scheme.fullest <= capacity


@pytest.mark.parametrize("options", [{"metric": "nnz"}, {"search": "grid", "model": "counted"}])
def test_packed_tiles_are_in_words_and_in_no_grid(options):
    with pytest.raises(ValidationError, match=f"{next(iter(options))} is .* with tiles=packed"):
        Options(tiles="packed", **options)


def test_packed_tiles_are_judged_as_packed():
    kernel, generator, schemes = kernel_of(), np.random.default_rng(5), []
    for _case in range(30):
        tensors, capacity = random_problem(generator)
        chosen_plan = plan(kernel, tensors, capacity, Options(tiles="packed"))
        schemes.append(chosen_plan.chosen)
        totals = {name: traffic.total for name, traffic in chosen_plan.measured.items()}
        assert totals["d2t2"] <= totals["conservative"]
    assert {scheme.fallback == "it moves more than the base tiling" for scheme in schemes} == {True, False}


def test_packed_tiles_move_what_they_hold():
    kernel, tensors, base = kernel_of(), examples.squared(), dict.fromkeys("ikj", 4)
    whole = dict.fromkeys("ikj", 16)
    found = measure(kernel, tensors, whole, base=base)
    tree = 10 + 2 * 4 + 3  # positions and rows of the ten base tiles
    assert found.inputs["A"].words == 148 + tree
    assert found.inputs["B"].words == 142 + tree
    assert found.output == measure(kernel, tensors, whole).output
