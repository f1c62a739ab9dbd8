"""Loading of a tensor of any order by name, path, generator or from memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from fiberscope.workloads.gemm import DrawnOperand
from fiberscope.workloads.memory_arrays import decode_object
from fiberscope.workloads.named_tensor import NamedTensor, tensor_in
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.workload import Workload, load

Progress = Callable[[int, int], None] | None


def load_tensor(
    name: str | os.PathLike[str], *, exact: bool = False, progress: Progress = None
) -> NamedTensor:
    """Load the tensor with this name.

    Args:
        name: a ``.tns`` file, a tensor of the registry, a file on the data path, an array of numpy or of the
            library sparse, an array of a file with several (``net.npz:conv1``), the windows of an image, or
            any argument of ``load``.
        exact: whether surrogates are refused.
        progress: called during a download with the bytes received and the total.

    Raises:
        WorkloadError: unknown, unreadable, a tensor of the registry whose file is missing, or a surrogate
            with ``exact``.
    """
    text = os.fspath(name)
    return tensor_in(text) or _from_workload(load(text, exact=exact, progress=progress))


def open_tensor(
    operand: Any,  # noqa: ANN401 - any object of a user
    name: str,
    *,
    exact: bool = False,
    progress: Progress = None,
) -> NamedTensor:
    """Return an operand as a named tensor.

    Args:
        operand: a name or path as for ``load_tensor``, a workload, an object that ``decode_object`` accepts,
            or a tensor.
        name: name of the tensor, if the operand has no name.
        exact, progress: see ``load_tensor``; only for a name or path. A workload may be a surrogate.

    Raises:
        WorkloadError: see ``load_tensor``; or values that are no finite real numbers.
    """
    if isinstance(operand, NamedTensor):
        return operand
    if isinstance(operand, Workload | DrawnOperand):
        return _from_workload(operand)
    if isinstance(operand, str | os.PathLike):
        return load_tensor(operand, exact=exact, progress=progress)
    content = operand if isinstance(operand, SparseTensor) else decode_object(operand, name)
    tensor = content if isinstance(content, SparseTensor) else SparseTensor.from_matrix(content)
    return NamedTensor(name, "memory", tensor, name, tensor.digest)


def _from_workload(workload: Workload | DrawnOperand) -> NamedTensor:
    tensor = SparseTensor.from_matrix(workload.matrix)
    return NamedTensor(
        workload.name, workload.source, tensor, workload.origin, workload.digest, workload.notice
    )
