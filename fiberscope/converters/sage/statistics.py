"""Statistics of an operand for SAGE: shape and nonzeros, counted or expected, and its size by format."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.formats import Format
from fiberscope.workloads.tensor import SparseTensor


@dataclass(frozen=True)
class Statistics:
    """An operand.

    Args:
        name: what it is called.
        shape: the shape of it.
        nonzeros: the nonzeros of it; any number where they are expected.
        tensor: itself, where it is at hand: its sizes are then exact, else those of nonzeros anywhere.
    """

    name: str
    shape: tuple[int, ...]
    nonzeros: float
    tensor: SparseTensor | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if not self.shape or min(self.shape) < 1:
            raise WorkloadError(f"the shape {self._shape}", where=self.name, fix="each size is at least 1")
        if not 0 <= self.nonzeros <= self.places:
            what = f"{self.nonzeros:g} nonzeros; {self._shape} has {self.places} places"
            raise WorkloadError(what, where=self.name)

    @classmethod
    def from_tensor(cls, name: str, tensor: SparseTensor) -> Statistics:
        """Return the statistics of a tensor that is loaded."""
        entries = tensor.without_zeros()
        return cls(name, entries.shape, entries.nonzeros, entries)

    @property
    def _shape(self) -> str:
        return " x ".join(map(str, self.shape))

    @property
    def places(self) -> int:
        """Return the number of values, zeros included."""
        return math.prod(self.shape)

    @property
    def density(self) -> float:
        """The part of them that are nonzeros."""
        return self.nonzeros / self.places

    def counts(self, form: Format) -> dict[str, float]:
        """Return the counts on which the layout of a format depends."""
        if self.tensor is not None:
            return dict(form.counts(self.tensor))
        return {**form.expected_counts(self.shape, self.density), "nonzeros": self.nonzeros}

    def bits(self, form: Format, bits: int) -> float:
        """The size in a format, of values of so many bits.

        Raises:
            WorkloadError: the format cannot hold it.
        """
        form.check(self.shape)
        return sum(span.bits for span in form.layout(self.shape, self.counts(form), bits))
