"""What of a checkout is compiled: what a machine imports, at its first use, whatever ended the last try."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest
from sources import copy_sources

from fiberscope import accelerators
from fiberscope.compiler.files import remove_orphans
from fiberscope.compiler.module_dependencies import find_compiled_imports
from fiberscope.compiler.modules import MARK, Modules
from fiberscope.sim import import_mode

ROOT = Path(__file__).parent.parent
LOADED = """
import importlib, sys
importlib.import_module(sys.argv[1])
print(*(name for name, module in sys.modules.items() if str(getattr(module, "__file__", "")).endswith(".so")))
"""


def names(*roots: str) -> set[str]:
    return {module.name for module in find_compiled_imports(Modules([ROOT]), roots)}


@pytest.mark.skipif(not import_mode.compiled(), reason="nothing is compiled here")
@pytest.mark.parametrize("machine", accelerators.names())
def test_what_a_machine_needs_is_what_is_loaded_with_it(machine: str) -> None:
    module = f"fiberscope.accelerators.{machine}"
    command = [sys.executable, "-c", LOADED, module]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    ours = {name for name in loaded if name.startswith("fiberscope.")} - {"fiberscope.sim._cyutility"}
    found = names(module)
    assert ours <= found
    assert {"fiberscope.sim.kernel", "fiberscope.sim.channel"} <= ours
    others = tuple(f"fiberscope.accelerators.{name}." for name in accelerators.names() if name != machine)
    assert [name for name in found if name.startswith((*others, "fiberscope.converters."))] == []


def test_what_is_imported_in_a_function_or_for_types_is_needed_by_compiled_modules_alone(
    tmp_path: Path,
) -> None:
    package = tmp_path / "own"
    package.mkdir()
    text = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from own import {0}\n"
        "def late():\n    from own import {1}\n"
    )
    (package / "__init__.py").touch()
    (package / "plain.py").write_text(f"{text.format('a', 'b')}import own.part\n")
    (package / "part.py").write_text(f"{MARK}\n{text.format('c', 'd')}")
    for name in "abcd":
        (package / f"{name}.py").write_text(f"{MARK}\n")
    found = {
        module.name for module in find_compiled_imports(Modules([tmp_path]), ["own.plain", "own.nothing"])
    }
    assert found == {"own.part", "own.c", "own.d"}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of two modules, whose ``setup.py`` writes down what it is to compile."""
    room = tmp_path / "fiberscope" / "sim"
    room.mkdir(parents=True)
    (tmp_path / "fiberscope" / "__init__.py").touch()
    shutil.copy(ROOT / "sim" / "import_mode.py", room)
    (room / "__init__.py").write_text("from fiberscope.sim import import_mode\nimport_mode.install()\n")
    (room / "outer.py").write_text("import fiberscope.sim.inner\n")
    (room / "inner.py").write_text(f"{MARK}\n")
    return tmp_path


def imported(checkout: Path, setup: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Import the outer module where ``setup.py`` is this."""
    (checkout / "setup.py").write_text(f"import os, sys\n{setup}\n")
    return subprocess.run(
        [sys.executable, "-c", "import fiberscope.sim.outer"],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout), import_mode.VARIABLE: "0", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_is_not_compiled_is_at_its_first_use_with_all_that_leads_to_it(checkout: Path) -> None:
    done = imported(checkout, "print('compiling', os.environ['FIBERSCOPE_NEEDED'])")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "fiberscope: fiberscope.sim.outer is used for the first time",
        "compiling fiberscope.sim.inner fiberscope.sim.outer",
    ]
    assert done.stdout == ""


def test_a_build_removes_what_a_deleted_module_left(tmp_path: Path) -> None:
    """A compiled file without a source would be imported as if the module still existed."""
    suffix = EXTENSION_SUFFIXES[0]
    folder = tmp_path / "sim"
    folder.mkdir()
    kept = {
        "present.py",
        f"present{suffix}",
        "present.c",
        "present.pxd",
        f"helpers{suffix}",
        "helpers.c",
        "loose.c",
    }
    for name in (*kept, f"deleted{suffix}", "deleted.c", "deleted.pxd", f"removed{suffix}"):
        (folder / name).touch()
    remove_orphans(tmp_path, keep="helpers")
    assert {file.name for file in folder.iterdir()} == kept


def test_what_lacks_in_the_same_folder_is_compiled_with_it(checkout: Path) -> None:
    (checkout / "fiberscope" / "sim" / "beside.py").write_text(f"{MARK}\n")
    done = imported(checkout, "print('compiling', os.environ['FIBERSCOPE_NEEDED'])")
    assert done.stderr.splitlines()[1:] == [
        "compiling fiberscope.sim.inner fiberscope.sim.outer fiberscope.sim.beside"
    ]


def test_a_compilation_that_fails_costs_a_line_with_its_log(checkout: Path) -> None:
    done = imported(checkout, "sys.exit('no room')")
    log = checkout / "build" / "needed.log"
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(f"compiling failed; the reason is given there: '{log}'")
    assert log.read_text() == "no room\n"


def test_nothing_is_compiled_where_uncompiled_sources_are_asked_for(checkout: Path) -> None:
    done = imported(checkout, "sys.exit('compiled')", **{import_mode.VARIABLE: "1"})
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_what_was_killed_at_any_moment_goes_on_the_next_time(tmp_path: Path) -> None:
    copy_sources(tmp_path)
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    environment = os.environ | {import_mode.NEEDED: "fiberscope.sim"}
    moments = random.Random(1)
    for _ in range(6):
        process = subprocess.Popen(command, cwd=tmp_path, env=environment, start_new_session=True)
        time.sleep(moments.uniform(1, 12))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    again = subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
    assert again.stdout == ""
    kernel = "import fiberscope.sim.kernel as kernel; print(kernel.__file__)"
    shown = subprocess.run(
        [sys.executable, "-c", kernel], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert shown.stdout.strip().endswith(".so")
    assert Path(shown.stdout.strip()).is_relative_to(tmp_path)
