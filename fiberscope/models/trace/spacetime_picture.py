"""The picture of a cascade in space and time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fiberscope.models.trace.spacetime import MOST_BODIES, Stamps
from fiberscope.report.pictures import blank

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["drawing"]

HEIGHT = 3.2  # inches, of an Einsum
COLOUR = "#0072B2"
MANY = 2000  # points, from which on they are drawn as small as can be


def drawing(stamps: Sequence[Stamps], title: str) -> Figure:
    """A point a body, its place upwards and its step to the right, Einsum by Einsum.

    Raises:
        InputError: matplotlib is missing.
    """
    drawn = blank(title, HEIGHT * len(stamps) + 0.5)
    for axes, one in zip(drawn.subplots(len(stamps), squeeze=False)[:, 0], stamps, strict=True):
        axes.plot(one.times, one.places, "," if len(one.places) > MANY else "s", markersize=3, color=COLOUR)
        first = f", the first {MOST_BODIES:,} bodies" if one.cut else ""
        axes.set_title(f"{one.einsum}: a body in {one.busy:.0%} of places and steps{first}", loc="left")
        axes.set_xlabel("step", loc="right", fontsize="small")
        axes.set_ylabel("place", fontsize="small")
        axes.spines[["top", "right"]].set_visible(False)
    return drawn
