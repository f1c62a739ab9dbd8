"""Windows of a convolution over an image: ``windows:size=3x3,of=image.npy``.

With the windows W of an image, a convolution with filters F is a product of two tensors, summed over c, r and
s: O[m, p, q] = F[m, c, r, s] * W[c, r, s, p, q]. Flattened, it is a product of two matrices. The ranks of W
are in the order of ``torch.nn.functional.unfold``.
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
from fiberscope.workloads.spec import Size, Sizes, Spec, parse_parameters, parse_sizes, split_view
from fiberscope.workloads.tensor import SparseTensor

WINDOWS = "windows"  # first word of a view's text


class Windows(BaseModel):
    """Windows of a convolution.

    Args:
        size: extents of a window, such as ``3x3``. The windows move along as many ranks, the image's last.
        stride: distance of adjacent windows, the same along all these ranks.
        pad: zeros added before and after the image along each of these ranks.
    """

    model_config = Spec.model_config
    size: Sizes
    stride: Size = 1
    pad: Annotated[int, Field(ge=0, le=2**20)] = 0

    def format_view(self, image_text: str) -> str:
        """Return the text of the view with every key, including defaults."""
        return f"{WINDOWS}:size={self.size},stride={self.stride},pad={self.pad},of={image_text}"


def parse_windows(text: str) -> tuple[Windows, str]:
    """Parse a text such as ``windows:size=3x3,of=image.npy``; return the windows and the text of the image.

    Raises:
        WorkloadError: no image, an unknown key (naming the nearest), or an invalid value.
    """
    head, image_text = split_view(text)
    return parse_parameters(head, Windows), image_text


def unroll_windows(image: SparseTensor, view: Windows, location: str) -> SparseTensor:
    """Return the contents of each window of an image; explicit zeros of the image stay.

    Only whole windows count: elements beyond the last whole window are in no window.

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
    size = parse_sizes(view.size)
    outer_ranks = image.order - len(size)
    if outer_ranks < 0:
        message = f"the windows have {len(size)} ranks, but the image has only {image.order}"
        raise WorkloadError(message, location=location)
    counts = tuple(
        (extent + 2 * view.pad - width) // view.stride + 1
        for extent, width in zip(image.shape[outer_ranks:], size, strict=True)
    )
    if min(counts, default=1) < 1:
        sizes = " x ".join(map(str, image.shape[outer_ranks:]))
        padding = f" with padding {view.pad}" * (view.pad > 0)
        raise WorkloadError(
            f"a window of {view.size} does not fit an image of {sizes}{padding}", location=location
        )
    elements = [_elements_at(image, offsets, counts, view) for offsets in product(*map(range, size))]
    *coordinates, values = (np.concatenate(column) for column in zip(*elements, strict=True))
    return SparseTensor.from_coordinates((*image.shape[:outer_ranks], *size, *counts), coordinates, values)


def _elements_at(
    image: SparseTensor, offsets: Sequence[int], counts: Sequence[int], view: Windows
) -> list[npt.NDArray[Any]]:
    """Return the elements at one offset within the windows: the coordinates of each rank, and the values."""
    outer_ranks = image.order - len(offsets)
    inside = np.ones(image.nonzeros, dtype=np.bool_)
    window_numbers: list[Integers] = []
    for column, offset, count in zip(image.coordinates[outer_ranks:], offsets, counts, strict=True):
        # the inverse of: coordinate = number * stride + offset - pad
        number, remainder = np.divmod(column + view.pad - offset, view.stride)
        inside &= (remainder == 0) & (number >= 0) & (number < count)
        window_numbers.append(number)
    inside_count = np.count_nonzero(inside)
    window_ranks = [np.full(inside_count, offset, dtype=np.int64) for offset in offsets]
    outer = [column[inside] for column in image.coordinates[:outer_ranks]]
    return [*outer, *window_ranks, *(number[inside] for number in window_numbers), image.values[inside]]
