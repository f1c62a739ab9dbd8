"""Edges of a graph file."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fiberscope.models.graphs.dot import Location


@dataclass(frozen=True)
class Edge:
    """An edge between two blocks; broadcasts on the way are merged into the edge.

    Args:
        source, target: names of the nodes.
        kind: kind of the stream.
        source_comment, target_comment: comments at both ends, which may differ after a broadcast.
        attributes: all other attributes.
        location: location in the file; None without a file.
    """

    source: str
    target: str
    kind: str
    source_comment: str
    target_comment: str
    attributes: dict[str, str]
    location: Location | None

    @property
    def source_label(self) -> str:
        """Return the variable or tensor that the comment at the source names."""
        return _extract_last_word(self.source_comment)

    @property
    def target_label(self) -> str:
        """Return the variable or tensor that the comment at the target names."""
        return _extract_last_word(self.target_comment)


def _extract_last_word(comment: str) -> str:
    """Return the variable or tensor at the end of a comment."""
    return re.split(r"[-_]", comment)[-1]
