"""Matplotlib figure that notebooks display without a backend."""

from __future__ import annotations

import io

from matplotlib.figure import Figure


class InlineFigure(Figure):
    """A figure that a notebook displays as the last value of a cell, with or without pyplot."""

    def _repr_png_(self) -> bytes:
        """Return the picture as PNG."""
        picture = io.BytesIO()
        self.savefig(picture, format="png")
        return picture.getvalue()
