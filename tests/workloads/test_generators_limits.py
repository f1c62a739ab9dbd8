"""A generator has no more rows than its nonzeros justify: the row pointers alone would be gigabytes."""

import pytest

from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.spec import generate

HUGE = "rows=268435456,cols=268435456"


@pytest.mark.parametrize(
    "text",
    [
        f"uniform:{HUGE},nonzeros=10",
        f"banded:{HUGE},nonzeros=10,bandwidth=3",
        f"chung-lu:{HUGE},nonzeros=10",
        f"runs:{HUGE},nonzeros=10,length=2",
        f"block:{HUGE},blocks=2,size=2",
    ],
)
def test_a_shape_that_the_nonzeros_do_not_justify_is_refused(text: str) -> None:
    with pytest.raises(WorkloadError, match=r"at most 100001[0-9]{2} rows or columns"):
        generate(text)
