"""Loading of a kernel's operands, without stored zeros."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from fiberscope.base.errors import InputError
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.workloads.named_tensor import NamedTensor
from fiberscope.workloads.opening import load_tensor
from fiberscope.workloads.tensor import SparseTensor


def load_operands(
    kernel: Kernel, names: Sequence[str], *, transpose_b: bool = False, exact: bool = False
) -> dict[str, SparseTensor]:
    """Load the inputs of a kernel, from left to right.

    If a kernel of two inputs has only one operand, the second input equals the first, or is its transpose.
    Warnings name surrogates, dropped zeros, and operands without nonzeros.

    Args:
        kernel: names the inputs.
        names: the names of files, matrices or tensors, or generators.
        transpose_b: whether the second input is the transpose of the first; requires a single operand.
        exact: refuse a surrogate.

    Raises:
        InputError: a wrong number of operands, or a transpose of a tensor that is not a matrix.
        WorkloadError: an operand is not available.
    """
    count, expected = len(names), len(kernel.inputs)
    if count != expected and (count, expected) != (1, 2):
        raise InputError(
            f"{kernel}: it has {expected} operands, and {count} are named; name {', '.join(kernel.inputs)}"
        )
    if transpose_b and (count, expected) != (1, 2):
        raise InputError("--transpose-b makes the second of two operands; name the first alone")
    tensors = [
        _drop_zeros(name, load_tensor(name, exact=exact).of_order(len(kernel.indices[tensor]), tensor))
        for name, tensor in zip(names, kernel.inputs, strict=False)
    ]
    if count < expected:
        tensors.append(_transpose(names[0], tensors[0]) if transpose_b else tensors[0])
    return dict(zip(kernel.inputs, tensors, strict=True))


def _drop_zeros(name: str, tensor: NamedTensor) -> SparseTensor:
    """Return the nonzeros; warn about a surrogate, stored zeros, or no nonzeros."""
    if tensor.notice:
        warnings.warn(tensor.notice, stacklevel=2)
    nonzeros = tensor.tensor.without_zeros()
    if zeros := tensor.tensor.nonzeros - nonzeros.nonzeros:
        warnings.warn(f"{name}: {zeros:,} entries that are zero are left out", stacklevel=2)
    if not nonzeros.nonzeros:
        warnings.warn(f"{name} has no nonzeros: nothing moves", stacklevel=2)
    return nonzeros


def _transpose(name: str, matrix: SparseTensor) -> SparseTensor:
    if matrix.order != 2:
        raise InputError(f"--transpose-b: {name} has {matrix.order} ranks; only a matrix has a transpose")
    return matrix.transposed((1, 0))
