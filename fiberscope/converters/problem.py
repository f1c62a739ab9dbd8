"""The problem that a converter solves: encoding a tensor of one format in another format."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from fiberscope.converters.recipes import find_recipe
from fiberscope.workloads import Problem, ProblemParameters, WorkloadError
from fiberscope.workloads.formats import Encoded, Format, check_width, format_called
from fiberscope.workloads.formats.format import Layout
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.verification import Comparison


class ConversionParameters(ProblemParameters):
    """Parameters of a conversion: the names of both formats, and the bits of a value (8, 16 or 32)."""

    source: str
    target: str
    bits: int = 32


class Conversion(Problem):
    """The conversion of a matrix from one format to another, checked bit by bit.

    The machine gets the source and the header of the target. ``expected`` is the reference of the check.
    """

    kind = "conversion"
    answer = "encoding"
    reference = "encoding"
    tensors = ("A",)
    Parameters = ConversionParameters

    @property
    def settings(self) -> ConversionParameters:
        """Return the parameters as requested."""
        assert isinstance(self.parameters, ConversionParameters)
        return self.parameters

    @property
    def title(self) -> str:
        """Return a title such as ``A from csr to csc``."""
        return f"A from {self.settings.source} to {self.settings.target}"

    @property
    def tensor(self) -> SparseTensor:
        """Return the tensor to convert."""
        operand: Any = self.operands["A"]
        return SparseTensor.from_matrix(operand.matrix)

    def check_operands(self) -> None:
        """Check that both formats and a recipe support the operand.

        Raises:
            WorkloadError: naming the format, recipe or property that prevents the conversion.
        """
        check_width(self.settings.bits)
        find_recipe(self.settings.source, self.settings.target)
        operand: Any = self.operands["A"]
        if not operand.matrix.has_canonical_format:
            message = f"{operand.name} has several values at one place, and a format holds one"
            raise WorkloadError(message, fix="read it with duplicates=sum, or draw it with duplicates=drop")
        for name in (self.settings.source, self.settings.target):
            format_called(name).check(operand.shape)

    @cached_property
    def expected(self) -> Encoded:
        """Return the expected result, which is the tensor encoded in the target format."""
        return format_called(self.settings.target).encode(self.tensor, self.settings.bits)

    def machine_inputs(self) -> tuple[Encoded, Format, tuple[Layout, Mapping[str, int]]]:
        """Return the source, the format of the target, and the header of the target: layout and counts.

        A converter does not compute the header; it is known before the conversion.
        """
        source = format_called(self.settings.source).encode(self.tensor, self.settings.bits)
        return source, self.expected.format, (self.expected.layout, self.expected.counts)

    def check(self, answer: Encoded) -> Comparison:
        """Compare the answer with the expected encoding bit by bit.

        A wrong bit gives an infinite error, as no tolerance applies. Missing and extra items are differences
        of the numbers of items in all arrays.
        """
        wrong = self.expected.difference(answer)
        lengths = [sum(len(field.items) for field in form.fields) for form in (self.expected, answer)]
        missing, extra = max(0, lengths[0] - lengths[1]), max(0, lengths[1] - lengths[0])
        return Comparison(0.0 if wrong is None else float("inf"), missing, extra, 0.0)

    def outline(self, answer: Encoded) -> tuple[tuple[int, ...], int]:
        """Return the shape and the number of nonzeros of the answer."""
        return answer.shape, answer.nonzeros
