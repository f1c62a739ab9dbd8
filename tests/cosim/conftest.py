"""The benches of this room run modules of Verilog in an HDL simulator, through cocotb.

    make cosim BLOCK=merger [SIM=verilator]

FIBERSCOPE_BLOCK picks one block, FIBERSCOPE_SIM one simulator. A simulator that is not installed skips its
benches with a reason, unless FIBERSCOPE_SIM asks for one: then that is an error, and so is a run in
which no test passes. Where Icarus is missing, Verilator runs the benches that Icarus would.
"""

import importlib.util
import os
import sys
from pathlib import Path

import pytest
from optional_programs import missing, require

ROOM = Path(__file__).parent
sys.path[:0] = [str(ROOM / "support"), str(ROOM.parent / "rtl" / "support"), str(ROOM.parent / "support")]

HERE = all(importlib.util.find_spec(name) for name in ("pyrtl", "cocotb"))
ASKED = os.environ.get("FIBERSCOPE_SIM", "")
collect_ignore_glob = [] if HERE else ["test_*.py"]  # the extra ``rtl`` is not installed
SLOWER = pytest.param("verilator", marks=pytest.mark.slow)  # compiles for seconds
SIMULATORS = ["verilator"] if HERE and missing("icarus") and not missing("verilator") else ["icarus", SLOWER]


@pytest.fixture
def simulator(request: pytest.FixtureRequest) -> str:
    """The HDL simulator to use; skips where it is missing, unless somebody asked for it."""
    from fiberscope.hw.rtl.tools.hdl import AUTO, choose

    program = "hdl" if request.param == AUTO else request.param
    if ASKED and (reason := missing(program)):
        pytest.exit(reason, returncode=2)
    require(program)
    return choose(request.param)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a bench in every simulator, or in that which is asked for, unless it says itself in which."""
    says = any(mark.args[0] == "simulator" for mark in metafunc.definition.iter_markers("parametrize"))
    if "simulator" in metafunc.fixturenames and not says:
        metafunc.parametrize("simulator", [ASKED] if ASKED else SIMULATORS, indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the benches of FIBERSCOPE_BLOCK, and those in the simulator that is asked for."""
    if ASKED == "pyrtl":
        pytest.exit("benches run in icarus or verilator; SIM=pyrtl needs ACC=, BLOCK= and MTX=", returncode=2)
    wanted = os.environ.get("FIBERSCOPE_BLOCK", "")
    if wanted and HERE:
        from fiberscope.hw.rtl.catalogue import BLOCKS

        if wanted not in BLOCKS:
            pytest.exit(f"no block {wanted} exists as RTL; known: {', '.join(BLOCKS)}", returncode=2)
    if wanted or ASKED:
        items[:] = [item for item in items if ROOM not in item.path.parents or _is_wanted(item, wanted)]


def _is_wanted(item: pytest.Item, block: str) -> bool:
    callspec = getattr(item, "callspec", None)  # of a parametrized test
    given = callspec.params if callspec else {}
    if ASKED not in ("", "auto", given.get("simulator", ASKED)):
        return False
    return not block or block in (given.get("block"), *given.get("blocks", ()))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail if a simulator was asked for and all was skipped: that is not to have passed."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if ASKED and exitstatus == pytest.ExitCode.OK and not reporter.stats.get("passed"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        reporter.write_line(f"no test passed in {ASKED}", red=True)
