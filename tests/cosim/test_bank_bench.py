"""A bank whose memories are believed right after the reset, which only a four-valued simulator shows."""

import pytest
from block_bench import bench
from scenarios import SCENARIOS

from hw.rtl.tools.hdl import HdlError, run


@pytest.mark.parametrize("block", ["bank"])
@pytest.mark.parametrize("simulator", ["icarus"], indirect=True)
def test_planted_a_set_that_counts_as_written_after_the_reset_is_found(block, simulator, tmp_path):
    def believed(text):
        assert "assign set_known = " in text
        return text.replace("assign set_known = ", "assign set_known = 1'd1 | ")

    spoilt = bench(block, SCENARIOS[block].drawn(5), tmp_path, (0,), spoil=believed)
    with pytest.raises(HdlError, match="of the module is X: not reset, or driven by nothing"):
        run(spoilt, simulator)
