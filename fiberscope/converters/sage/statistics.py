"""Statistics of an operand for SAGE: shape and nonzeros, counted or expected, and its size by format."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.formats import Format
from fiberscope.workloads.tensor import SparseTensor


@dataclass(frozen=True)
class Statistics:
    """Shape and nonzeros of an operand.

    Args:
        name: name of the operand in messages.
        shape: shape of the operand.
        nonzeros: number of nonzeros; if it is an expectation, it need not be an integer.
        tensor: the operand itself, without stored zeros. With it, sizes are exact. If it is None, sizes are
            expectations for uniformly distributed nonzeros.

    Raises:
        WorkloadError: if a size is less than 1, or the nonzeros are negative or more than all elements.
    """

    name: str
    shape: tuple[int, ...]
    nonzeros: float
    tensor: SparseTensor | None = None

    def __post_init__(self) -> None:
        """Check the shape and the number of nonzeros."""
        if not self.shape or min(self.shape) < 1:
            raise WorkloadError(f"the shape {self._shape}", location=self.name, fix="each size is at least 1")
        if not 0 <= self.nonzeros <= self.places:
            what = f"{self.nonzeros:g} nonzeros; {self._shape} has {self.places} places"
            raise WorkloadError(what, location=self.name)

    @classmethod
    def from_tensor(cls, name: str, tensor: SparseTensor) -> Statistics:
        """Return the exact statistics of a loaded tensor; stored zeros do not count."""
        entries = tensor.without_zeros()
        return cls(name, entries.shape, entries.nonzeros, entries)

    @property
    def _shape(self) -> str:
        return " x ".join(map(str, self.shape))

    @property
    def places(self) -> int:
        """Return the number of elements, including zeros."""
        return math.prod(self.shape)

    @property
    def density(self) -> float:
        """Return the fraction of the elements that are nonzeros."""
        return self.nonzeros / self.places

    def counts(self, form: Format) -> dict[str, float]:
        """Return the counts that determine the layout of a format, by name, such as ``nonzeros``.

        Counts of a tensor are exact; other counts are expectations, and need not be integers.
        """
        if self.tensor is not None:
            return dict(form.counts(self.tensor))
        # Not density times places again, which may differ by a rounding error
        return {**form.expected_counts(self.shape, self.density), "nonzeros": self.nonzeros}

    def bits(self, form: Format, bits: int) -> float:
        """Return the size of the operand in a format, in bits.

        Args:
            form: the format.
            bits: bits of a value.

        Raises:
            WorkloadError: if the format does not support the shape.
        """
        form.check(self.shape)
        return sum(span.bits for span in form.layout(self.shape, self.counts(form), bits))
