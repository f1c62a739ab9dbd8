"""Names of components as a person types them."""

import pytest

from fiberscope.sim import Component, SimulationError
from fiberscope.sim.scopes import choose, find_full_name, matches_any_name

FEW = [*(f"gamma.pe{pe}.merger" for pe in range(4)), "gamma.bank", "pages"]
MANY = [*(f"gamma.pe{pe:02}.merger" for pe in range(12)), "gamma.bank", "pages"]


@pytest.mark.parametrize(
    ("typed", "few", "many"),
    [
        ("gamma.pe0.merger", "gamma.pe0.merger", "gamma.pe00.merger"),
        ("gamma.pe00.merger", "gamma.pe0.merger", "gamma.pe00.merger"),
        ("pe003.merger", "gamma.pe3.merger", "gamma.pe03.merger"),
        ("pe1.merger", "gamma.pe1.merger", "gamma.pe01.merger"),
        ("pe10.merger", None, "gamma.pe10.merger"),
        ("bank", "gamma.bank", "gamma.bank"),
        ("pages", "pages", "pages"),
        ("pe0", None, None),
        ("", None, None),
        ("gamma", None, None),
    ],
)
def test_zeros_and_the_name_of_the_machine_may_be_left_out(
    typed: str, few: str | None, many: str | None
) -> None:
    assert (find_full_name(typed, FEW), find_full_name(typed, MANY)) == (few, many)


@pytest.mark.parametrize(
    ("pattern", "few", "many"),
    [
        ("gamma.pe0.merger", ["pe0"], ["pe00"]),
        ("pe00", ["pe0"], ["pe00"]),  # a scope, whose zeros may be too many
        ("pe1", ["pe1"], ["pe01"]),  # nor is it pe10
        ("pe0[1-2]", [], ["pe01", "pe02"]),
        ("pe[12].*", ["pe1", "pe2"], ["pe01", "pe02"]),  # nor are they pe10 and pe11
        ("pe?.merger", ["pe0", "pe1", "pe2", "pe3"], [f"pe{pe:02}" for pe in range(10)]),
        ("*.merger", [f"pe{pe}" for pe in range(4)], [f"pe{pe:02}" for pe in range(12)]),
        ("bank", ["bank"], ["bank"]),
        ("pe12", [], []),
        ("merger", [], []),
    ],
)
def test_a_pattern_chooses_the_same_components_everywhere(pattern, few, many):
    for names, expected in ((FEW, few), (MANY, many)):
        components = [Component(name) for name in names]
        assert matches_any_name(pattern, names) == bool(expected)
        if expected:
            chosen = [component.name.split(".")[1] for component in choose(components, [pattern])]
            assert chosen == expected
        else:
            with pytest.raises(SimulationError, match="no component matches the scope"):
                choose(components, [pattern])
