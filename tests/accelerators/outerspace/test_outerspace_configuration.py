"""What OuterSPACE refuses, each in one line that says what would be right."""

from itertools import pairwise

import pytest
from one_line import one_line
from outerspace_bench import configured, random_matrix, tiny

from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.accelerators.outerspace import OuterSpace
from fiberscope.accelerators.outerspace.layout import merger_region_bits, merger_regions, written_arrays


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tile__merge_pe": 17}, "tile.merge_pe is 17; it should be at most tile.pe, 16"),
        ({"l1__count": 3}, "l1.count is 3; it should divide tile.count, 16"),
        ({"l0__size": 1000}, "l0.size is 1000 bytes; it should be a multiple of 4096, banks x ways x block"),
        ({"l0__merge_cache": 100}, "l0.merge_cache is 100 bytes; it should be a multiple of 256"),
        ({"l1__size": 64}, "l1.size is 64 bytes; it should be a multiple of 128"),
        ({"t__node_align": 48}, "t.node_align is 48 bytes; it should divide l0.block or be its multiple"),
        (
            {"memory__interleave": 32},
            "memory.interleave is 32 bytes; it should be a multiple of a 64-byte line",
        ),
        ({"multiply__assign": "row"}, "multiply.assign is row; it should be 'tile', 'chip' or 'flat'"),
        (
            {"pe__scratchpad": 256, "format__element": 56, "t__header": 4, "t__node_align": 4},
            "pe.scratchpad is 256 bytes; half of it should hold the elements of a block of T, 168 bytes",
        ),
        ({"merge__max_lists": 0}, "merge.max_lists is 0; it should be greater than or equal to 1"),
    ],
)
def test_what_cannot_be_is_refused(settings, message):
    with one_line(ConfigurationError, message):
        configured(**settings)


def test_a_t_that_links_cannot_reach_is_refused():
    a = random_matrix(120, 120, 120 * 120)
    with pytest.raises(ConfigurationError, match=r"alloc\.alpha is 1000\.0; T may then take 20") as raised:
        OuterSpace(tiny(alloc__alpha=1000, t__node_align=4), a, a)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("mergers", [1, 2, 512, 513, 1280, 4096])
def test_regions_of_merging_elements_end_before_the_pointers_of_z(mergers):
    """Region 512 of 2**30 bytes would cover the pointers, region 1,024 the heads."""
    starts = [merger_regions(number, mergers)[0] for number in range(mergers)]
    _heads, (pointers, _size) = written_arrays(rows=1)
    region_bytes = 1 << merger_region_bits(mergers)
    assert all(end - start == region_bytes for start, end in pairwise(starts))
    assert starts[-1] + region_bytes <= pointers
