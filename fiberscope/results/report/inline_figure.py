"""Matplotlib figure that notebooks display without a backend."""

from __future__ import annotations

import io

from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure


class InlineFigure(Figure):
    """A figure that a notebook displays as the last value of a cell, with or without pyplot."""

    def draw(self, renderer: RendererBase) -> None:
        """Draw the figure; if nothing is drawn, as before a figure is saved, only lay it out."""
        engine = self.get_layout_engine()
        if engine is None or not hasattr(renderer.open_group, "__wrapped__"):  # the mark of a disabled method
            super().draw(renderer)
        else:
            engine.execute(self)

    def _repr_png_(self) -> bytes:
        """Return the picture as PNG."""
        picture = io.BytesIO()
        self.savefig(picture, format="png")
        return picture.getvalue()
