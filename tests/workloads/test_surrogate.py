import functools

import numpy as np
import pytest
from class_tables import MULTIPLIES, PRODUCT_NONZEROS, SYMMETRIC, TABLES, profile_of_table

from fiberscope.workloads import WorkloadError, load, lookup
from fiberscope.workloads.locality import product_nonzeros, profile_of, with_locality
from fiberscope.workloads.profile import measure_profile, profiles
from fiberscope.workloads.registry import Entry
from fiberscope.workloads.surrogate import draw_matrix, surrogate

MEASURED = sorted(set(TABLES) - set(SYMMETRIC))
# Per cent by which multiplies and nonzeros of A times A may differ from the real matrix's. The docs give what
# is measured; these are the promises.
PROMISED = {
    "wiki-Vote": (0.01, 2),
    "p2p-Gnutella31": (0.01, 1),
    "ca-CondMat": (0.2, 15),
    "email-Enron": (0.1, 5),
}


@functools.cache
def stand_in(name):
    return surrogate(lookup(name))


@pytest.mark.parametrize(
    "name", ["wiki-Vote", "p2p-Gnutella31", "ca-CondMat", pytest.param("email-Enron", marks=pytest.mark.slow)]
)
def test_a_profiled_surrogate_works_like_the_real_matrix(name):
    matrix, like = stand_in(name)
    rows, columns = np.diff(matrix.indptr), np.bincount(matrix.indices, minlength=matrix.shape[1])
    assert (matrix.shape, matrix.nnz) == (lookup(name).shape, lookup(name).nonzeros)
    multiplies, product = PROMISED[name]
    assert int(rows @ columns) == pytest.approx(MULTIPLIES[name], rel=multiplies / 100)
    assert product_nonzeros(matrix) == pytest.approx(PRODUCT_NONZEROS[name], rel=product / 100)
    assert "between classes of like degree" in like


@pytest.mark.parametrize("name", sorted(profiles()))
def test_degrees_of_a_profiled_surrogate_are_its_profiles(name):
    matrix, _ = stand_in(name)
    _kinds, rows, columns = profiles()[name].degrees()
    found = np.diff(matrix.indptr), np.bincount(matrix.indices, minlength=matrix.shape[1])
    pairs = [np.unique(np.stack(some), axis=1, return_counts=True) for some in ((rows, columns), found)]
    assert [part.tolist() for part in pairs[0]] == [part.tolist() for part in pairs[1]]
    if name in SYMMETRIC:
        assert ((matrix != 0) != (matrix.T != 0)).nnz == 0


@pytest.mark.parametrize("name", SYMMETRIC)
def test_a_shipped_profile_is_that_of_its_table(name):
    shipped = profiles()[name]
    assert shipped == profile_of_table(name).model_copy(update={"locality": shipped.locality})


@pytest.mark.real
@pytest.mark.parametrize("name", MEASURED)
def test_a_shipped_profile_is_that_of_the_real_matrix(name):
    workload = load(name)
    if workload.source != "real":
        pytest.skip(f"{name} is not on FIBERSCOPE_DATA")
    shipped = profiles()[name]
    found = measure_profile(workload.matrix, name, shipped.source)
    assert shipped == found.model_copy(update={"locality": shipped.locality})


@pytest.mark.parametrize("name", MEASURED)
def test_nonzeros_between_classes_are_those_of_the_table(name):
    table, profile = TABLES[name], profiles()[name]
    sizes = [one.nodes for one in profile.classes], [one["nodes"] for one in table["classes"]]
    same = np.flatnonzero(np.equal(*sizes))
    assert len(same) >= len(table["classes"]) - 2  # degree 79 is in another class there
    ours, theirs = np.array(profile.nonzeros_between), np.array(table["nonzeros_between"])
    assert (ours[np.ix_(same, same)] == theirs[np.ix_(same, same)]).all()


def test_the_core_is_kept_where_degrees_alone_lose_it():
    """Nonzeros among the hubs: the real matrix's in every draw, and not those of degrees alone."""
    profile = profiles()["wiki-Vote"]
    kinds, rows, columns = profile.degrees()
    hubs = len(profile.classes) - 8
    core = np.array(profile.nonzeros_between)[hubs:, hubs:].sum()
    alone = rows[kinds >= hubs].sum() * columns[kinds >= hubs].sum() / profile.nonzeros
    assert abs(alone / core - 1) > 0.2
    matrix = draw_matrix(profile, 5)
    degree = np.maximum(np.diff(matrix.indptr), np.bincount(matrix.indices, minlength=matrix.shape[1]))
    high = np.flatnonzero(degree >= np.maximum(rows, columns)[kinds >= hubs].min())
    assert matrix[high][:, high].nnz == core


def test_the_locality_found_is_that_of_what_was_drawn():
    profile = measure_profile(load("chung-lu:rows=2000,cols=2000,nonzeros=10000").matrix, "m", "a test")
    near, far = (
        draw_matrix(profile.model_copy(update={"locality": locality}), 9) for locality in (0.001, 0.5)
    )
    found = [profile_of(matrix, "m", "a draw of the profile").locality for matrix in (near, far)]
    assert found[0] < 0.02 < found[1]
    assert with_locality(profile, 10**9).locality == 1


def test_the_same_every_time():
    once, again = (load("p2p-Gnutella31").digest for _ in range(2))
    assert once == again
    spec = "surrogate:profile=p2p-Gnutella31,seed={}"
    assert load(spec.format(1)).digest == load(spec.format(1)).digest != load(spec.format(2)).digest


def test_a_profile_in_a_file_is_drawn_as_one_by_name(tmp_path):
    file = tmp_path / "mine.json"
    file.write_text(profiles()["p2p-Gnutella31"].model_dump_json())
    by_file = load(f"surrogate:profile={file},seed=4")
    assert by_file.digest == load("surrogate:profile=p2p-Gnutella31,seed=4").digest
    assert by_file.source == "generated"


@pytest.mark.parametrize(
    ("name", "form"),
    [("cavity14", "banded"), ("geom", "power law"), ("Journals", "uniform"), ("lpl3", "uniform")],
)
def test_without_a_profile_only_shape_and_nonzeros_match(name, form):
    entry = lookup(name)
    matrix, like = surrogate(entry)
    assert (matrix.shape, matrix.nnz) == (entry.shape, entry.nonzeros)
    assert like == f"{form}; only shape and nonzeros match"


def test_a_band_has_four_places_for_each_nonzero():
    entry = lookup("cavity14")
    places = surrogate(entry)[0].tocoo()
    width = int(np.abs(places.row - places.col).max())
    assert width * 2 * entry.shape[0] == pytest.approx(4 * entry.nonzeros, rel=0.05)


def test_a_rounded_row_says_so():
    entry = lookup("speech2").model_copy(update={"shape": (77, 26), "nonzeros": 100})
    assert "(rounded in its source)" in surrogate(entry)[1]


def test_a_tensor_has_none():
    with pytest.raises(WorkloadError, match="uber: a tensor of rank 4 has no surrogate"):
        surrogate(lookup("uber"))


SMALL = ("relat3", "LFAT5", "bcsstm26", "m3plates", "N_biocarta", "G33", "progas")


@pytest.mark.parametrize("name", SMALL)
def test_small_registry_rows(name):
    entry = lookup(name)
    matrix, _ = surrogate(entry)
    assert (matrix.shape, matrix.nnz) == (entry.shape, entry.nonzeros)


@pytest.mark.parametrize(
    ("kind", "shape", "nonzeros", "form"),
    [
        *(
            (f"{mesh} problem", (40, 40), 200, "banded")
            for mesh in ("2D/3D", "structural", "fluid", "acoustics")
        ),
        ("model reduction problem", (40, 40), 200, "banded"),
        ("fluid problem", (40, 50), 100, "uniform"),
        ("directed graph", (40, 50), 100, "power law"),  # the fullest: 5 % of 2,000 places
        ("directed graph", (40, 50), 101, "uniform"),
        ("road network", (40, 40), 50, "power law"),
        ("linear programming problem", (40, 40), 50, "uniform"),
    ],
)
def test_the_kind_of_a_matrix_without_a_profile_chooses_its_form(kind, shape, nonzeros, form):
    entry = Entry(name="none", collection="other", shape=shape, nonzeros=nonzeros, kind=kind, source="a test")
    for approximate, rounded in ((False, ""), (True, " (rounded in its source)")):
        matrix, text = surrogate(entry.model_copy(update={"approximate": approximate}))
        assert text == f"{form}; only shape and nonzeros{rounded} match"
        assert (matrix.shape, matrix.nnz) == (shape, nonzeros)
    if form == "banded":
        rows, columns = matrix.nonzero()
        assert abs(rows - columns).max() <= 10  # a band of 2 * 10 places a row is four times the nonzeros
