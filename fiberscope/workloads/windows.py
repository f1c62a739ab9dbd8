"""Windows of a convolution over an image: ``windows:size=3x3,of=image.npy``.

A convolution is then the product of two tensors, O[m, p, q] = F[m, c, r, s] * W[c, r, s, p, q], or of two
matrices. The ranks of ``W`` are in the order of ``torch.nn.functional.unfold``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, Field

from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.spec import Size, Sizes, Spec, parse_parameters, sizes_in, split_view
from fiberscope.workloads.tensor import SparseTensor

WINDOWS = "windows"  # first word of a view's text


class Windows(BaseModel):
    """Windows of a convolution: their size, their stride, and the zero padding of the image.

    ``stride`` and ``pad`` apply to all ranks along which the windows move.
    """

    model_config = Spec.model_config
    size: Sizes
    stride: Size = 1
    pad: Annotated[int, Field(ge=0, le=2**20)] = 0

    def full(self, of: str) -> str:
        """Return the text of a view with all defaults."""
        return f"{WINDOWS}:size={self.size},stride={self.stride},pad={self.pad},of={of}"


def windows(text: str) -> tuple[Windows, str]:
    """Parse the windows and the image of a text.

    Raises:
        WorkloadError: no image, an unknown key (naming the nearest), or an invalid value.
    """
    head, of = split_view(text)
    return parse_parameters(head, Windows), of


def unroll_windows(image: SparseTensor, view: Windows, location: str) -> SparseTensor:
    """Return the contents of each window of an image.

    Args:
        image: the windows move along its last ranks, as many as ``view.size`` has.
        view: the windows.
        location: name in errors.

    Returns:
        A tensor with the other ranks of the image (channels), the ranks within a window, and the ranks that
            number windows.

    Raises:
        WorkloadError: the image has fewer ranks, or is smaller than a window.
    """
    size = sizes_in(view.size)
    outer_ranks = image.order - len(size)
    if outer_ranks < 0:
        raise WorkloadError(f"windows of {len(size)} ranks, and an image of {image.order}", location=location)
    counts = tuple(
        (extent + 2 * view.pad - width) // view.stride + 1
        for extent, width in zip(image.shape[outer_ranks:], size, strict=True)
    )
    if min(counts, default=1) < 1:
        sizes = " x ".join(map(str, image.shape[outer_ranks:]))
        raise WorkloadError(f"a window of {view.size} does not fit an image of {sizes}", location=location)
    elements = [_elements_at(image, offsets, counts, view) for offsets in product(*map(range, size))]
    *coordinates, values = (np.concatenate(column) for column in zip(*elements, strict=True))
    return SparseTensor.from_coordinates((*image.shape[:outer_ranks], *size, *counts), coordinates, values)


def _elements_at(
    image: SparseTensor, offsets: Sequence[int], counts: Sequence[int], view: Windows
) -> list[npt.NDArray[Any]]:
    """Return the elements at one offset within the windows: the coordinates of each rank, and the values."""
    outer_ranks = image.order - len(offsets)
    inside = np.ones(image.nonzeros, dtype=np.bool_)
    numbers: list[Integers] = []
    for column, offset, count in zip(image.coordinates[outer_ranks:], offsets, counts, strict=True):
        number, remainder = np.divmod(column + view.pad - offset, view.stride)
        inside &= (remainder == 0) & (number >= 0) & (number < count)
        numbers.append(number)
    inside_count = np.count_nonzero(inside)
    window_ranks = [np.full(inside_count, offset, dtype=np.int64) for offset in offsets]
    outer = [column[inside] for column in image.coordinates[:outer_ranks]]
    return [*outer, *window_ranks, *(number[inside] for number in numbers), image.values[inside]]
