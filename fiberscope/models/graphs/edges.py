"""Edges between blocks, as a graph file has them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fiberscope.models.graphs.dot import Place

__all__ = ["Edge"]


@dataclass(frozen=True)
class Edge:
    """An edge between blocks, as a file has it.

    Args:
        source, target: names of nodes.
        kind: the kind of the stream.
        said_first, said_last: the comments where it leaves its source and where it reaches its target, which
            differ if there are broadcasts between them.
        attributes: its others.
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
        """The variable or tensor that it names where it leaves its source."""
        return _last_word(self.said_first)

    @property
    def last_word(self) -> str:
        """The variable or tensor that it names where it reaches its target."""
        return _last_word(self.said_last)


def _last_word(comment: str) -> str:
    """The variable or tensor at a comment's end."""
    return re.split(r"[-_]", comment)[-1]
