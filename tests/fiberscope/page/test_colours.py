"""The page's colours: enough contrast on their ground, and apart for those who lack long or medium cones.

Contrast is that of WCAG 2.1; how colours look without one kind of cone is by Viénot, Brettel and Mollon,
"Digital Video Colourmaps for Checking the Legibility of Displays by Dichromats", Color Research and
Application 24(4), 1999; how far two of them are apart is CIE 1976's difference in L*a*b*, of which some 2.3
can just be seen.
"""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from fiberscope.results.figures.style import INK, PATTERNS

STYLE = Path(__file__).parents[3] / "fiberscope" / "page" / "styles" / "colours.css"
TEXT, MARK = 4.5, 3.0  # contrasts that WCAG 2.1 asks for: 1.4.3, 1.4.11
APART = 10  # in L*a*b*: several times what can just be seen
SERIES = [f"series-{number}" for number in range(1, 7)]
STATES = ["busy", "input-stall", "output-stall", "idle"]
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
TO_CONES = np.array(
    [[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]]
)
WITHOUT = {
    "any cone": np.eye(3),
    "long cones": np.array([[0, 2.02344, -2.52581], [0, 1, 0], [0, 0, 1]]),
    "medium cones": np.array([[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]]),
}


def themes() -> dict[str, dict[str, np.ndarray]]:
    """The colours of each theme, as linear light from 0 to 1."""
    blocks = re.findall(r":root \{(.*?)\}", STYLE.read_text(encoding="utf-8"), re.DOTALL)
    return {
        theme: {name: linear(code) for name, code in re.findall(r"--([\w-]+): #(\w{6});", block)}
        for theme, block in zip(("light", "dark"), blocks, strict=True)
    }


def linear(code: str) -> np.ndarray:
    level = np.array([int(code[at : at + 2], 16) for at in (0, 2, 4)]) / 255
    return np.where(level <= 0.04045, level / 12.92, ((level + 0.055) / 1.055) ** 2.4)


def contrast(one: np.ndarray, other: np.ndarray) -> float:
    light, dark = sorted((TO_XYZ[1] @ one, TO_XYZ[1] @ other), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def lab(colour: np.ndarray) -> np.ndarray:
    part = TO_XYZ @ colour / TO_XYZ.sum(axis=1)
    root = np.where(part > 0.008856, np.cbrt(part), 7.787 * part + 16 / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


def seen(colour: np.ndarray, missing: str) -> np.ndarray:
    """As someone without these cones sees it."""
    kept = np.linalg.inv(TO_CONES) @ WITHOUT[missing] @ TO_CONES
    return lab(np.clip(kept @ colour, 0, 1))


def apart(one: np.ndarray, other: np.ndarray, missing: str) -> float:
    return float(np.linalg.norm(seen(one, missing) - seen(other, missing)))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_and_marks_stand_out_from_their_ground(theme: str) -> None:
    colours = themes()[theme]
    for ground in ("ground", "panel"):
        for name in ("text", "soft", "accent", "warning"):
            assert contrast(colours[name], colours[ground]) >= TEXT, (name, ground)
        for name in SERIES:
            assert contrast(colours[name], colours[ground]) >= MARK, (name, ground)
    assert contrast(colours["on-accent"], colours["accent"]) >= TEXT


@pytest.mark.parametrize("missing", WITHOUT)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("names", [SERIES, STATES], ids=["series", "states"])
def test_colours_are_apart_with_and_without_cones(theme: str, missing: str, names: list[str]) -> None:
    colours = themes()[theme]
    pairs = itertools.combinations(names, 2)
    close = {pair: far for pair in pairs if (far := apart(*map(colours.get, pair), missing)) < APART}
    assert close == {}


@pytest.mark.parametrize("missing", WITHOUT)
def test_fills_of_figures_are_apart_and_show_their_hatches(missing: str) -> None:
    colours = {pattern.colour: linear(pattern.colour[1:]) for pattern in PATTERNS}
    close = [pair for pair in itertools.combinations(colours.values(), 2) if apart(*pair, missing) < APART]
    assert (close, len(colours)) == ([], len(PATTERNS))
    assert all(contrast(colour, linear(INK[1:])) >= MARK for colour in colours.values())


def test_planted_red_and_green_are_the_same_without_medium_cones() -> None:
    red, green = linear("cc0000"), linear("6b6b00")
    assert apart(red, green, "any cone") > 5 * APART
    assert apart(red, green, "medium cones") < 3 * APART


def test_black_on_white_is_the_largest_contrast() -> None:
    assert contrast(linear("000000"), linear("ffffff")) == pytest.approx(21, rel=1e-3)
