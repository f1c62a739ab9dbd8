"""A tensor of any order by whatever names it, or out of memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from fiberscope.workloads.gemm import DrawnOperand
from fiberscope.workloads.memory_arrays import decode_object
from fiberscope.workloads.named_tensor import NamedTensor, tensor_in
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.workload import Workload, load

__all__ = ["load_tensor", "open_tensor"]

Progress = Callable[[int, int], None] | None


def load_tensor(
    name: str | os.PathLike[str], *, exact: bool = False, progress: Progress = None
) -> NamedTensor:
    """The tensor of this name.

    Args:
        name: a ``.tns`` file, a tensor of the registry, its file on the data path, an array of numpy's or of
            the library sparse, one of a file of several (``net.npz:conv1``), the windows of an image, or what
            ``load`` takes.
        exact: no surrogate.
        progress: called during a download with the bytes had and the bytes in all.

    Raises:
        WorkloadError: unknown, unreadable, or a tensor of the registry whose file is not there.
    """
    text = os.fspath(name)
    return tensor_in(text) or _of_matrix(load(text, exact=exact, progress=progress))


def open_tensor(
    operand: Any,  # noqa: ANN401 - whatever a user has
    name: str,
    *,
    exact: bool = False,
    progress: Progress = None,
) -> NamedTensor:
    """Return an operand as a tensor with a name.

    Args:
        operand: a name or path as of ``load_tensor``, a workload, an object that ``decode_object`` takes, or
            a tensor.
        name: name of the tensor, if the operand has no name.
        exact, progress: as of ``load_tensor``.

    Raises:
        WorkloadError: as ``load_tensor``; or values that are no finite real numbers.
    """
    if isinstance(operand, NamedTensor):
        return operand
    if isinstance(operand, Workload | DrawnOperand):
        return _of_matrix(operand)
    if isinstance(operand, str | os.PathLike):
        return load_tensor(operand, exact=exact, progress=progress)
    content = operand if isinstance(operand, SparseTensor) else decode_object(operand, name)
    tensor = content if isinstance(content, SparseTensor) else SparseTensor.from_matrix(content)
    return NamedTensor(name, "memory", tensor, name, tensor.digest)


def _of_matrix(workload: Workload | DrawnOperand) -> NamedTensor:
    tensor = SparseTensor.from_matrix(workload.matrix)
    return NamedTensor(
        workload.name, workload.source, tensor, workload.origin, workload.digest, workload.notice
    )
