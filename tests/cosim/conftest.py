"""The benches of this room run modules of Verilog in an HDL simulator, through cocotb.

    make cosim BLOCK=merger [SIM=icarus]

FIBERSCOPE_BLOCK picks one block. A simulator that is not installed skips its benches with a reason, unless
FIBERSCOPE_SIM asks for it by name: then that is an error.
"""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

ROOM = Path(__file__).parent
sys.path[:0] = [str(ROOM / "support"), str(ROOM.parent / "rtl" / "support"), str(ROOM.parent / "support")]

HERE = all(importlib.util.find_spec(name) for name in ("pyrtl", "cocotb"))
collect_ignore_glob = [] if HERE else ["test_*.py"]  # the extra `rtl` is not installed


@pytest.fixture
def simulator() -> str:
    """The HDL simulator to use; skips where it is missing, unless somebody asked for it."""
    from hw.rtl.hdl import HdlError, require

    asked = os.environ.get("FIBERSCOPE_SIM", "")
    try:
        require(asked or "icarus")
    except HdlError as error:
        if asked:
            pytest.exit(str(error), returncode=2)
        pytest.skip(str(error))
    return asked or "icarus"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the benches of FIBERSCOPE_BLOCK."""
    wanted = os.environ.get("FIBERSCOPE_BLOCK", "")
    if not wanted or not HERE:
        return
    from hw.rtl.catalogue import BLOCKS

    if wanted not in BLOCKS:
        pytest.exit(f"no block {wanted} exists as RTL; known: {', '.join(BLOCKS)}", returncode=2)
    items[:] = [item for item in items if ROOM not in item.path.parents or _block(item) == wanted]


def _block(item: pytest.Item) -> str | None:
    """The block that a bench is of."""
    parameters = getattr(item, "callspec", None)  # of a parametrized test
    return parameters.params.get("block") if parameters else None
