"""What cannot be built costs one line that names the key and says what would do; how tiles are chosen."""

import itertools

import numpy as np
import pytest
from extensor_bench import TINY, configured, csr, random_matrix, tiny
from scipy import sparse

import fiberscope
from fiberscope.accelerators.configuration import ConfigurationError, parameters
from fiberscope.accelerators.extensor import ACCELERATOR, ExTensor
from fiberscope.accelerators.extensor.tiles import Tiling, find_published_shape


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"pe.cuont": 3},
            "settings: extensor has no parameter pe.cuont; did you mean pe.count or pe.slots or pe.tile?",
        ),
        ({"pe.tile": 0}, "settings: pe.tile is 0; it should be greater than or equal to 1"),
        (
            {"intersection": "leader"},
            "settings: intersection is leader; it should be 'skip', 'two_finger' or 'scanners'",
        ),
        (
            {"pe.scanner_coordinates": 33},
            "extensor: pe.scanner_coordinates is 33, of scanners, and intersection is skip",
        ),
        ({"llb.halves": 3}, "settings: llb.halves is 3; it should be less than or equal to 2"),
        ({"tile.m": 3}, "extensor: tile.m, tile.k, tile.n are (3, 0, 0); give all three, or 0 for all three"),
        ({"format.fiber": 65}, "extensor: format.fiber is 65 bits; it should be whole bytes"),
        (
            {"memory.interleave": 96},
            "extensor: memory.interleave is 96 bytes; it should be a multiple of a 128-byte line",
        ),
    ],
)
def test_a_mistake_costs_one_line(settings, message):
    with pytest.raises(ConfigurationError) as raised:
        configured(**settings)
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


def test_every_parameter_is_shipped_with_a_source():
    shipped = parameters(ACCELERATOR.shipped)
    assert [parameter.key for parameter in shipped if "[" not in parameter.comment] == ["memory.model"]


def test_the_shipped_machine_is_the_published_one():
    shipped = configured()
    assert (shipped.clock, shipped.pe.count, shipped.pe.buffer) == (10**9, 128, 64 << 10)
    assert (shipped.pe.tile, shipped.llb.size) == (128, 30 << 20)
    peak = shipped.memory.channels * shipped.memory.bandwidth
    assert peak == pytest.approx(68.256 * 2**30, rel=1e-7)


def test_microtiles_that_do_not_fit_together_have_half_the_side():
    """A's: 12 + 4 fibers of 8 + 16 elements of 12 bytes, 236; B's: 8 + the same; of side 2 76 and 72."""
    a = csr({(m, k): 1.0 for m in range(4, 8) for k in range(4, 8)}, 8, 8)
    fits = ExTensor(tiny(pe__buffer=468), a, a)
    assert fits.tiling.parameters.pe.tile == 4
    halved = ExTensor(tiny(pe__buffer=467), a, a)
    assert halved.parameters.pe.tile == 2
    assert "microtiles of side 2, as two of 4 do not fit a buffer together" in halved.tiling.choice
    assert "microtiles" not in fits.tiling.choice.replace("microtiles (", "")
    sizes = [wide * 4 for wide in fits.tiling.shape]
    assert [narrow * 2 for narrow in halved.tiling.shape] == sizes  # tiles of as many coordinates
    quartered = ExTensor(tiny(pe__buffer=147), a, a)
    assert quartered.parameters.pe.tile == 1


@pytest.mark.parametrize("buffer", [468, 467, 148, 147])
def test_the_trace_cuts_microtiles_as_the_machine_does(buffer):
    a = csr({(m, k): 1.0 for m in range(4, 8) for k in range(4, 8)}, 8, 8)
    settings = {key.replace("__", "."): value for key, value in {**TINY, "pe__buffer": buffer}.items()}
    report = fiberscope.simulate("extensor", a, a, settings=settings)
    told = fiberscope.model("extensor", a, a, settings=settings)
    assert report.verification.passed
    products = report.operations["microtile_products"]
    assert products == {468: 1, 467: 8, 148: 8, 147: 64}[buffer]
    assert report.operations["multiply"] == told.operations["multiply"] == 64
    assert told.teaal.bodies["Z"]["K1"] == products


def test_elements_that_do_not_fit_together_are_refused_with_the_sizes():
    a = csr({(m, k): 1.0 for m in range(4, 8) for k in range(4, 8)}, 8, 8)
    ExTensor(tiny(pe__buffer=60), a, a)
    with pytest.raises(ConfigurationError) as raised:
        ExTensor(tiny(pe__buffer=59), a, a)
    # A's: 12 + a fiber of 8 + an element of 12 bytes; B's: 8 + the same.
    assert str(raised.value) == (
        "extensor: pe.buffer is 59 bytes; it should hold an element of A of 32 bytes and one of B of 28 "
        "bytes that meet at k = 4: 60 bytes"
    )


def test_large_microtiles_that_never_meet_are_taken():
    full = {(i, j): 1.0 for i in range(4) for j in range(4)}
    a = csr(full | {(0, 4): 1.0}, 4, 8)  # full at k 0 to 3, where B has a single element
    b = csr({(4 + i, j): value for (i, j), value in full.items()} | {(0, 0): 1.0}, 8, 4)
    size = 236 + 8 + 8 + 12  # A full and B small
    assert size == 12 + 8 + 12 + 232  # and the other way round at k 4 to 7
    assert ExTensor(tiny(pe__buffer=size), a, b).parameters.pe.tile == 4
    assert ExTensor(tiny(pe__buffer=size - 1), a, b).parameters.pe.tile == 2


def test_a_tile_that_does_not_fit_is_refused_with_the_sizes():
    a = random_matrix(20, 20, 150)
    a.data[:] = 1.0  # nothing cancels, which scipy would leave out
    with pytest.raises(ConfigurationError) as raised:
        ExTensor(tiny(tile__m=5, tile__k=5, tile__n=5, llb__size="16 KiB"), a, a)
    message = str(raised.value)
    assert message.startswith("extensor: llb.size is 16384 bytes; with tiles of 5 x 5 x 5 microtiles ")
    assert message.endswith(f"2 of Z of up to {16 * (a @ a).nnz} bytes: {needed(message)} bytes")


def needed(message):
    """What the sizes that a message names add up to."""
    words = message.replace(":", "").split()
    return sum(2 * int(size) for before, size in itertools.pairwise(words) if before == "to")


def test_a_tile_that_just_fits_is_taken():
    a = random_matrix(20, 20, 150)
    with pytest.raises(ConfigurationError) as raised:
        Tiling(tiny(tile__m=5, tile__k=5, tile__n=5, llb__size=1), a, a)
    size = needed(str(raised.value))
    # Without room for the inputs the output is not counted; it is asked for next.
    with pytest.raises(ConfigurationError) as raised:
        Tiling(tiny(tile__m=5, tile__k=5, tile__n=5, llb__size=size), a, a)
    size = needed(str(raised.value))
    assert Tiling(tiny(tile__m=5, tile__k=5, tile__n=5, llb__size=size), a, a).shape == (5, 5, 5)
    with pytest.raises(ConfigurationError):
        Tiling(tiny(tile__m=5, tile__k=5, tile__n=5, llb__size=size - 1), a, a)


def test_tiles_are_halved_until_they_fit():
    a = random_matrix(300, 300, 4000)
    free = {"tile.m": 0, "tile.k": 0, "tile.n": 0}
    assert Tiling(tiny(**free), a, a).shape == (32, 64, 128)
    shape = Tiling(tiny(**free, llb__size="64 KiB"), a, a).shape
    assert shape[0] == 1
    assert shape[1] * shape[2] < 64 * 128


@pytest.mark.parametrize(("size", "shape"), [("30 MiB", (32, 64, 128)), ("64 KiB", (8, 64, 128))])
def test_the_report_has_the_tiles_that_were_taken(size, shape):
    a = random_matrix(60, 60, 300)
    settings = TINY | {"tile.m": 0, "tile.k": 0, "tile.n": 0, "llb.size": size}
    report = fiberscope.simulate("extensor", a, a, settings=settings)
    assert tuple(report.config["tile"].values()) == shape
    assert report.config["llb"]["size"] == size
    given = settings | {f"tile.{rank}": side for rank, side in report.config["tile"].items()}
    again = fiberscope.simulate("extensor", a, a, settings=given)
    assert (again.cycles, again.config_digest) == (report.cycles, report.config_digest)


def like_wiki_vote(rows=8297, nonzeros=103_689):
    """A matrix with as many rows and nonzeros: rows of 13, until there are no more."""
    pointers = np.minimum(np.arange(rows + 1) * 13, nonzeros)
    return sparse.csr_array((np.ones(nonzeros), np.arange(nonzeros) % 13, pointers), shape=(rows, 8297))


def test_published_tiles_are_those_of_the_matrix():
    wiki, other = like_wiki_vote(), random_matrix(20, 20, 30)
    assert find_published_shape(wiki, wiki) == ((12, 64, 128), "wiki-Vote")
    for a, b in ((other, other), (wiki, other), (other, wiki)):
        assert find_published_shape(a, b) is None


@pytest.mark.parametrize("other", [{"nonzeros": 103_688}, {"nonzeros": 103_690}, {"rows": 8298}])
def test_a_matrix_is_told_by_rows_and_by_nonzeros(other):
    near = like_wiki_vote(**other)
    assert find_published_shape(near, near) is None
    assert find_published_shape(like_wiki_vote(), near) is None


def test_the_report_says_which_tiles_were_chosen():
    a = random_matrix(60, 60, 300)
    free = TINY | {"tile.m": 0, "tile.k": 0, "tile.n": 0}
    said = ("tiles of 32 x 64 x 128 microtiles (that of most published runs)",)
    report = fiberscope.simulate("extensor", a, a, settings=free)
    assert report.chosen == said
    assert f"Chosen      {said[0]}" in report.summary(120)
    halved = fiberscope.simulate("extensor", a, a, settings=free | {"llb.size": "64 KiB"})
    assert halved.chosen == (
        "tiles of 8 x 64 x 128 microtiles (that of most published runs, halved until they fit)",
    )
    given = fiberscope.simulate("extensor", a, a, settings=TINY)
    assert given.chosen == ()
    assert "Chosen" not in given.summary(120)


def test_a_shape_taken_from_a_publication_says_so():
    wiki = like_wiki_vote()
    choice = Tiling(configured(), wiki, wiki).choice
    assert choice == (
        "tiles of 12 x 64 x 128 microtiles "
        "(published for wiki-Vote, which A and B are taken for by rows and nonzeros)"
    )
