"""The command answers at once: nothing heavy is imported until a command needs it."""

import importlib
import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import fiberscope
import fiberscope.models.graphs
from fiberscope import accelerators, workloads

MATRICES = {"numpy", "scipy", "fiberscope.workloads.workload"}
MACHINES = {"fiberscope.accelerators.machine", "fiberscope.hw.dram", "fiberscope.sim.save_file", "yaml"}
WORDS = {"pydantic", "rich", "lark"}
REST = {
    "dask",
    "duckdb",
    "jinja2",
    "optuna",
    "pandas",
    "pyrtl",
    "requests",
    "scipy.io",
    "scipy.linalg",
    "scipy.stats",
}

# What a run has no use for that asks for no more than its report: conversions, waveforms, timelines,
# surrogates, energies, other commands, and what numpy has for others.
UNASKED = {
    "fiberscope.commands.sweep",
    "fiberscope.converters",
    "fiberscope.results.costs.energies",
    "fiberscope.results.recording.watch",
    "fiberscope.workloads.readers",
    "fiberscope.workloads.surrogate",
    "filelock",
    "lark",
    "numpy.f2py",
    "numpy.ma",
    "rich",
    "unittest",
    "vcd",
}

_GRAPH = ["graph", "compile", "x(i) = B(i,j) * c(j)", "--format", "x:s,B:ss,c:s"]
_RUN = ["sim", "gamma", "uniform:rows=2,cols=2,nonzeros=2", "--quiet"]
_FILE = str(Path(__file__).parents[2] / "examples/graphs/points.gv")
_GRAPH_RUN = ["graph", "run", _FILE, "B=sam-random:shape=2x2,sparsity=0.5", "--quiet"]


def loaded_by(arguments: list[str]) -> tuple[int, set[str]]:
    """The exit code of a command, and the modules that its process has then."""
    code = "import json, sys; from fiberscope.cli import run; "
    code += "print(json.dumps([run(sys.argv[1:]), *sys.modules]), file=sys.stderr)"
    ended = subprocess.run(
        [sys.executable, "-c", code, *arguments], check=False, capture_output=True, text=True
    )
    exit_code, *modules = json.loads(ended.stderr.splitlines()[-1])
    return exit_code, set(modules)


@pytest.mark.parametrize(
    ("arguments", "absent"),
    [
        (["--help"], MATRICES | MACHINES | REST | {"pydantic", "rich", "lark"}),
        (["sim", "--help"], MATRICES | MACHINES | REST | {"rich", "lark"}),
        (_GRAPH, MATRICES | MACHINES | REST | {"rich"}),
        (["info", "flickr"], {"scipy", "fiberscope.hw.dram", "lark"} | REST),
        (["list"], MATRICES | {"fiberscope.accelerators.machine", "lark"} | REST),
        (_RUN, UNASKED | REST),
        (_GRAPH_RUN, UNASKED | REST | {"scipy", "fiberscope.hw.dram", "fiberscope.models.graphs.compiler"}),
    ],
    ids=["help", "sim-help", "graph-compile", "info", "list", "sim", "graph-run"],
)
def test_a_command_imports_nothing_heavy_that_it_does_not_need(
    arguments: list[str], absent: set[str]
) -> None:
    exit_code, modules = loaded_by(arguments)
    assert exit_code == 0
    assert absent & modules == set()


def test_python_does_not_look_for_garbage_in_a_short_run() -> None:
    code = "import gc, sys; from fiberscope import cli; "
    code += "from fiberscope.commands.command_line import configure_process; configure_process(); "
    code += "count = lambda: [one['collections'] for one in gc.get_stats()]; before = count(); "
    code += "sys.exit(cli.run(sys.argv[1:]) or count() != before)"
    assert subprocess.run([sys.executable, "-c", code, *_RUN], check=False).returncode == 0


def test_a_sweep_that_has_nothing_to_run_starts_no_dask(tmp_path: Path) -> None:
    sweep = ["sweep", "gamma", _RUN[2], "--set", "memory.format.A=bsr2", "--store", str(tmp_path), "--quiet"]
    for _ in range(2):  # a row that is refused, and one that the store has
        exit_code, modules = loaded_by(sweep)
        assert "fiberscope.explore.sweeps.api" in modules
        assert {"dask", "distributed", "scipy.stats"} & modules == set()
    assert exit_code == 0


@pytest.mark.parametrize("name", accelerators.names())
def test_an_accelerator_says_what_it_is_before_it_is_imported_as_it_does_then(name: str) -> None:
    assert accelerators.summary(name) == accelerators.find(name).summary


@pytest.mark.parametrize("package", [fiberscope, fiberscope.models.graphs, workloads])
def test_no_module_takes_the_place_of_a_name_that_is_imported_at_first_use(package: ModuleType) -> None:
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    for name in modules & set(package.__all__):
        importlib.import_module(f"{package.__name__}.{name}")
    assert not [name for name in package.__all__ if isinstance(getattr(package, name), ModuleType)]


def test_version() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "fiberscope", "--version"], check=True, capture_output=True, text=True
    )
    assert shown.stdout == f"fiberscope {fiberscope.__version__}\n"


def test_a_closed_pipe_is_no_traceback() -> None:
    command = f"{sys.executable} -m fiberscope list | head -n 1"
    environment = {**os.environ, "COLUMNS": "80"}
    shown = subprocess.run(
        ["bash", "-c", command], check=True, capture_output=True, text=True, env=environment
    )
    assert "Traceback" not in shown.stderr


def test_a_reader_that_has_seen_enough_is_no_fault() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "fiberscope", "help", "gamma"]
    shown = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (shown.returncode, shown.stderr) == (141, b"")
