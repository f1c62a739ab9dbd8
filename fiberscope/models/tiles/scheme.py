"""What a search for tiles comes to: every candidate, and the shape that was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fiberscope.models.tiles.base import Shape

__all__ = ["Candidate", "Prediction", "Scheme"]


@dataclass(frozen=True)
class Prediction:
    """The traffic that a shape is expected to cause, in the metric of the statistics.

    Args:
        inputs: by operand.
        repeats: by operand, how often each of its tiles is expected to pass, before others let it be skipped.
        output: of partial results.
        visits: writes of a partial result.
        nonzeros: expected of each such write.
    """

    inputs: Mapping[str, float]
    repeats: Mapping[str, float]
    output: float
    visits: float
    nonzeros: float

    @property
    def total(self) -> float:
        """Of all tensors."""
        return sum(self.inputs.values()) + self.output

    @property
    def output_nonzeros(self) -> float:
        """Over all visits."""
        return self.visits * self.nonzeros


@dataclass(frozen=True)
class Candidate:
    """A shape that was considered.

    Args:
        shape: of tiles, by index.
        prediction: of its traffic.
        iterations: of the outer loops, empty ones counted.
        rf: the reorder factor, None on a grid.
        fullest: what its fullest tile takes, where the search found that out.
        fits: whether that fits, None where it was not found out.
    """

    shape: Shape
    prediction: Prediction
    iterations: int
    rf: float | None = None
    fullest: int | None = None
    fits: bool | None = None


@dataclass(frozen=True)
class Scheme:
    """Tiles of one shape.

    Args:
        name: of the method.
        shape: of tiles, by index.
        fullest: what the fullest tile of any input takes of a buffer.
        verified: whether retiling showed that every tile fits.
        rf: the reorder factor that was chosen.
        tf: the tile factor that was left after verification; 1 where none was applied.
        candidates: all that were compared.
        packed: the shape of the base tiles that these are packed of; None where tensors are cut anew.
        fallback: why this is not what the search chose at first; empty if it is.
    """

    name: str
    shape: Shape
    fullest: int
    verified: bool
    rf: float | None = None
    tf: float = 1.0
    candidates: tuple[Candidate, ...] = field(default=())
    packed: Shape | None = None
    fallback: str = ""
