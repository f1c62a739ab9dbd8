"""A small Gamma of which every unit but memory is RTL at once: the product, and every entry of the report."""

import pytest
from whole_matrices import SMALL, written

from fiberscope.rtl.cosim_request import CosimRequest
from fiberscope.rtl.cosimulation import cosimulate

BLOCKS = ("pe", "scheduler", "crossbar", "page_allocator", "bank")
FEW = ("fibercache.misses=4", "fibercache.targets=8", "memory.channels=2", "scheduler.stream_lines=16")


@pytest.mark.parametrize(
    ("rows", "density", "settings"),
    [
        pytest.param(10, 0.5, ["pe.radix=3"], marks=pytest.mark.slow),
        (12, 0.3, ["pe.radix=2", "pe.count=3", "fibercache.banks=3", "fibercache.size=6KiB"]),
        (24, 0.1, ["pe.radix=8", "scheduler.output=cache"]),
    ],
)
def test_all_units_at_once_are_the_event_model(rows, density, settings, tmp_path):
    given = (*SMALL, *FEW, *settings)
    loop = CosimRequest(BLOCKS, "gamma", written(tmp_path, rows, rows, density), settings=given, at=("all",))
    outcome = cosimulate(loop, "pyrtl", tmp_path)
    assert outcome.differences() == []
    assert outcome.rtl.verification.passed
    others = {name.split(".")[1] for name in outcome.rtl.components if name not in outcome.instance_names}
    assert others == {"memory"}
