"""Sweeps and suites of matrices in memory."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import fiberscope
from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.memory_operands import save_operands
from fiberscope.workloads import from_scipy, load
from fiberscope.workloads.errors import WorkloadError

A = sparse.random_array((30, 30), density=0.1, rng=1, format="csr")


def test_texts_stay_as_they_are() -> None:
    with save_operands(["wiki-Vote", "a b"], None) as names:
        assert names == {"wiki-Vote": "", "a b": ""}
    with save_operands("wiki-Vote", None) as names:
        assert names == {"wiki-Vote": ""}
    with save_operands((), None) as names:
        assert names == {}
    with save_operands(Path("a folder/a.mtx"), None) as names:
        assert names == {"'a folder/a.mtx'": ""}


def test_a_matrix_is_a_file_while_the_context_lasts(tmp_path: Path) -> None:
    with save_operands([A, "wiki-Vote", from_scipy(A.T, "my matrix")], None) as names:
        first, _, last = (Path(text) for text in names)
        assert list(names.values()) == ["memory", "", "my matrix"]
        assert (load(str(first)).matrix != A).nnz == 0
        assert last.name == "my_matrix.npz"
    assert not first.exists()
    with save_operands(A.toarray(), tmp_path / "a store") as names:
        (text,) = names
    assert (load(text.strip("'")).matrix != A).nnz == 0
    with save_operands(A, tmp_path / "a store") as names:
        assert list(names) == [text]  # the same content


def test_names_and_objects_that_cannot_be_are_refused() -> None:
    for workloads, error in (
        ([A, 2 * A], InputError),
        ([np.ones((2, 2, 2))], WorkloadError),
        (object(), WorkloadError),
    ):
        with pytest.raises(error, match="memory"), save_operands(workloads, None):
            pass


def test_a_sweep_takes_matrices_and_finds_them_again(tmp_path: Path) -> None:
    options = {"grid": {"pe.count": [2, 4]}, "store": tmp_path / "s", "workers": 1, "progress": False}
    frame = fiberscope.sweep("gamma", [from_scipy(A, "mine")], **options)
    assert frame["workload"].tolist() == ["mine", "mine"]
    assert frame["pe.count"].tolist() == [2, 4]
    assert frame["cycles"].tolist() == [fiberscope.simulate("gamma", A, pe__count=n).cycles for n in (2, 4)]
    again = fiberscope.sweep("gamma", [from_scipy(A.copy(), "mine")], **options)
    assert again["digest"].tolist() == frame["digest"].tolist()


@pytest.mark.slow
def test_a_suite_shows_the_names_of_matrices() -> None:
    suite = fiberscope.suite(["gamma", "outerspace"], [from_scipy(A, "mine")], workers=1, progress=False)
    assert suite.frame()["name"].tolist() == ["mine", "mine"]
    assert "mine" in suite._repr_html_()
