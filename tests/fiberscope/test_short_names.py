"""Short names of workloads: distinct, of a bounded length, and what tells the workloads apart."""

from hypothesis import given
from hypothesis import strategies as st

from fiberscope.results.report.short_names import MAX_LETTERS, shorten_names


def test_generated_matrices_keep_what_they_do_not_share() -> None:
    names = ["uniform:rows=3,cols=3,nonzeros=4", "uniform:rows=5,cols=3,nonzeros=4", "banded:rows=3,cols=3"]
    assert shorten_names(names) == ["uniform rows=3", "uniform rows=5", "banded"]


def test_an_argument_is_shared_by_all_or_kept_by_all() -> None:
    names = [f"uniform:rows={rows},cols=3" for rows in (3, 5, 3)]
    assert shorten_names([*names[:2], f"{names[2]},seed=1"]) == [
        "uniform rows=3",
        "uniform rows=5",
        "uniform rows=3,seed=1",
    ]


def test_files_lose_folder_and_suffix() -> None:
    names = ["/data/a.mtx", "'/data/my matrix.npz'", "wiki-Vote", "x/b.mtx.gz y/c.mtx", "it's", ".mtx"]
    assert shorten_names(names) == ["a", "my matrix", "wiki-Vote", "b c", "it's", ".mtx"]


def test_names_that_would_be_alike_are_numbered() -> None:
    assert shorten_names(["x/a.mtx", "y/a.mtx"]) == ["a #1", "a #2"]
    assert shorten_names(["a" * 30 + "x"]) == ["a" * 11 + ".." + "a" * 10 + "x"]


@given(st.lists(st.text(min_size=1, max_size=40), unique=True, max_size=6))
def test_all_are_short_and_none_is_empty(names: list[str]) -> None:
    short = shorten_names(names)
    assert len(short) == len(names)
    assert all(0 < len(name) <= MAX_LETTERS for name in short if name.strip())


def test_names_that_are_alike_but_for_their_end_stay_distinct() -> None:
    several = [f"gamma size={size} count={count}" for size in (786432, 3145728) for count in (8, 16)]
    for letters in (12, 16, 20, 24, 28):
        names = shorten_names([*several, *several[:1]], letters)
        assert len(set(names)) == len(names)
        assert max(map(len, names)) <= letters
