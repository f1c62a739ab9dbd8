"""The core has nothing to do with the extra: it imports none of it, and says in a line what is missing."""

import subprocess
import sys

LIBRARIES = ["dask", "dask_jobqueue", "distributed", "duckdb", "optuna", "pandas", "pyarrow"]

RUN = f"""
import sys
for name in {LIBRARIES}:
    sys.modules[name] = None  # as if it were not installed
import fiberscope, fiberscope.cli
report = fiberscope.simulate("gamma", "uniform:rows=9,cols=9,nonzeros=20", pe__count=2)
assert report.verification.passed
assert [fiberscope.cli.run(command.split()) for command in sys.argv[1:]] == [2, 2, 2]
"""


def test_the_core_runs_without_the_extra_and_its_commands_name_it() -> None:
    commands = ("results x", "sweep gamma wiki-Vote", "search gamma a --over x --minimise cycles")
    done = subprocess.run(
        [sys.executable, "-c", RUN, *commands], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == len(commands)
    for line in lines:
        assert line.endswith(
            " is not installed: pip install 'fiberscope[sweep]', in a clone make .venv/sweep"
        )
