"""Edges of a graph file."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fiberscope.models.graphs.dot import Place

__all__ = ["Edge"]


@dataclass(frozen=True)
class Edge:
    """An edge between two blocks; broadcasts on the way are merged into the edge.

    Args:
        source, target: names of the nodes.
        kind: kind of the stream.
        said_first, said_last: comments at the source and at the target, which may differ after a broadcast.
        attributes: all other attributes.
        place: place in the file; None without a file.
    """

    source: str
    target: str
    kind: str
    said_first: str
    said_last: str
    attributes: dict[str, str]
    place: Place | None

    @property
    def first_word(self) -> str:
        """Return the variable or tensor that the comment at the source names."""
        return _last_word(self.said_first)

    @property
    def last_word(self) -> str:
        """Return the variable or tensor that the comment at the target names."""
        return _last_word(self.said_last)


def _last_word(comment: str) -> str:
    """Return the variable or tensor at the end of a comment."""
    return re.split(r"[-_]", comment)[-1]
