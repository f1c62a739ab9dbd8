"""Tiles that are chosen in front of the machine: both fidelities get them, and it has the last word."""

import pytest
from extensor_bench import TINY, configured, random_matrix

import fiberscope
from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.accelerators.extensor import ACCELERATOR, ExTensor
from fiberscope.models.tiles.machines import set_tiles
from fiberscope.models.tiles.microtiles import choose_microtiles
from fiberscope.models.trace.api import model

FREE = TINY | {"tile.m": 0, "tile.k": 0, "tile.n": 0}
TILINGS = ("conservative", "prescient", "d2t2", "d2t2-counted")


@pytest.mark.parametrize("tiling", TILINGS)
def test_event_and_trace_take_the_tiles_that_were_chosen(tiling):
    a = random_matrix(60, 60, 300)
    settings = FREE | {"tiling": tiling, "llb.size": "16 KiB"}
    report = fiberscope.simulate("extensor", a, a, settings=settings)
    assert report.complete
    assert report.verification.passed
    told = f"chosen by {tiling}"
    assert told in report.chosen[0]
    traced = model("extensor", a, settings=settings)
    assert traced.chosen == report.chosen
    shape = " x ".join(map(str, report.config["tile"].values()))
    assert report.chosen[0].startswith(f"tiles of {shape} microtiles")


def test_a_tiling_changes_the_tiles_and_given_ones_move_the_same():
    a = random_matrix(60, 60, 300)
    settings = FREE | {"llb.size": "16 KiB"}
    report = fiberscope.simulate("extensor", a, a, settings=settings | {"tiling": "d2t2-counted"})
    tile = report.config["tile"]
    given = fiberscope.simulate(
        "extensor", a, a, settings=settings | {f"tile.{each}": tile[each] for each in "mkn"}
    )
    assert given.cycles == report.cycles
    published = fiberscope.simulate("extensor", a, a, settings=settings)
    assert published.config["tile"] != tile


def test_shapes_are_whole_microtiles_and_cover_what_the_extents_have():
    a = random_matrix(61, 61, 300)
    room = ACCELERATOR.tile_room(configured(**FREE | {"tiling": "prescient", "llb.size": "1 MiB"}))
    assert choose_microtiles(room, [a, a]) == dict.fromkeys("mkn", -(-61 // room.microtile))


def test_published_tiles_are_left_to_the_machine():
    shipped = configured()
    assert set_tiles(ACCELERATOR, shipped, ()) is shipped


def test_what_cannot_be_costs_one_line():
    a = random_matrix(20, 20, 50)
    with pytest.raises(ConfigurationError, match="tiling d2t2 chooses the shape"):
        configured(**TINY | {"tiling": "d2t2"})
    with pytest.raises(ConfigurationError, match="is chosen before the machine is built"):
        ExTensor(configured(**FREE | {"tiling": "d2t2"}), a, a)
    with pytest.raises(fiberscope.InputError, match="it should hold a microtile of 4 x 4"):
        fiberscope.simulate("extensor", a, a, settings=FREE | {"tiling": "d2t2", "llb.size": 1200})
