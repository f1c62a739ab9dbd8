"""Names of parts that are alike."""

import pytest

from fiberscope.sim.names import family_name, nearest, numbered


@pytest.mark.parametrize("count", [1, 9, 10, 11, 100, 1001])
def test_names_in_their_order_are_sorted_and_of_one_family(count: int) -> None:
    names = numbered("pe", count)
    assert len(set(names)) == count
    assert sorted(names) == names
    assert {family_name(f"gamma.{name}.merger") for name in names} == {"pe.merger"}


def test_names_have_two_digits_or_as_many_as_the_last_one_needs() -> None:
    assert numbered("channel", 1) == ["channel00"]
    assert numbered("pe", 100)[:4] == numbered("pe", 4) == ["pe00", "pe01", "pe02", "pe03"]
    assert numbered("pe", 101)[4] == "pe004"
    assert numbered("leaf_", 12)[9:] == ["leaf_09", "leaf_10", "leaf_11"]


@pytest.mark.parametrize(
    ("component", "family"),
    [
        ("gamma.pe07.merger", "pe.merger"),
        ("gamma.scheduler", "scheduler"),
        ("gamma.cache.bank_12", "cache.bank"),
        ("gamma.cluster3.pe07", "cluster.pe"),
        ("gamma.7", "7"),
        ("scheduler", "scheduler"),
    ],
)
def test_members_of_a_kind_are_one_family(component: str, family: str) -> None:
    assert family_name(component) == family


@pytest.mark.parametrize(
    ("word", "known", "advice"),
    [
        ("raeder", ["writer", "reader"], "did you mean reader or writer?"),
        ("xyz", ["sum", "carry"], "it has sum, carry"),
        ("xyz", [], "it has none"),
        ("xyz", [f"a{i}" for i in range(12)], "it has a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, and 2 more"),
    ],
)
def test_advice_on_a_wrong_name_has_the_nearest_or_what_there_is(
    word: str, known: list[str], advice: str
) -> None:
    assert nearest(word, known) == advice
