"""Control that the reset does not reach is X in Icarus, which is found; data without a reset is not."""

import pytest
from block_bench import bench
from scenarios import SCENARIOS

from fiberscope.hw.rtl.tools.hdl import HdlError, run


@pytest.mark.parametrize(
    ("block", "reset"),
    [
        ("merger", "running_00 <= 1'd0;"),
        ("prefix_sum", "full_00 <= 1'd0;"),
    ],
)
@pytest.mark.parametrize("simulator", ["icarus"], indirect=True)
def test_planted_control_without_a_reset_is_found(block, reset, simulator, tmp_path):
    def forgotten(text):
        assert reset in text
        return text.replace(reset, ";")

    spoilt = bench(block, SCENARIOS[block].drawn(3), tmp_path, (0,), spoil=forgotten)
    with pytest.raises(HdlError, match="of the module is X: not reset, or driven by nothing"):
        run(spoilt, simulator)
