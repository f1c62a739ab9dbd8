"""The statistics of all operands of a kernel."""

from __future__ import annotations

from collections.abc import Mapping

from fiberscope.tiling.base import Shape
from fiberscope.tiling.kernel import Kernel
from fiberscope.tiling.options import DEFAULTS, Options
from fiberscope.tiling.statistics import Statistics, collect
from workloads.tensor import SparseTensor
from workloads.tiles.metrics import metric_called
from workloads.tiles.tiling import tile

__all__ = ["collect_all"]


def collect_all(
    kernel: Kernel, tensors: Mapping[str, SparseTensor], shape: Shape, options: Options = DEFAULTS
) -> dict[str, Statistics]:
    """The statistics of each operand by name, of its base tiling.

    Args:
        kernel: names the operands and says which indices it sums over.
        tensors: with their ranks as the kernel writes them.
        shape: of base tiles.
        options: the metric, and what Corrs are sampled by.
    """
    return {name: _collected(kernel, name, tensors[name], shape, options) for name in kernel.inputs}


def _collected(kernel: Kernel, name: str, tensor: SparseTensor, shape: Shape, options: Options) -> Statistics:
    written, order = [shape[index] for index in kernel.indices[name]], kernel.storage(name)
    in_order = order == tuple(range(len(order)))
    return collect(
        tile(tensor, written, order),
        kernel.stored(name),
        kernel.contracted,
        options.sample,
        options.seed,
        metric_called(options.metric),
        None if in_order else tile(tensor, written),
    )
