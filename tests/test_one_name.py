"""Every module has one name, that below ``fiberscope``: a second would make a second copy of its classes."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rooms import LINKED, ROOT

ROOMS = sorted(LINKED)
EACH_FILE = """
import os, sys
import fiberscope
fiberscope.simulate("gamma", "uniform:rows=5,cols=5,nonzeros=9")
named = {(os.path.realpath(module.__file__), module.__name__)
         for module in list(sys.modules.values()) if getattr(module, "__file__", None)}
ours = [file for file, name in named if file in {f for f, n in named if n.startswith("fiberscope.")}]
print(len(ours), len(set(ours)))
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, with the tree on its path."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("room", ROOMS)
@pytest.mark.parametrize("below", ["", ".errors", ".rtl.catalogue"])
def test_a_room_by_itself_is_no_package(room: str, below: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    with pytest.raises(ImportError, match=rf"^import fiberscope\.{room} instead: {room} has no other name$"):
        importlib.import_module(f"{room}{below}")
    assert [name for name in sys.modules if name.split(".")[0] == room] == []


def test_a_module_that_is_run_by_its_path_in_the_tree_names_the_right_one() -> None:
    done = run(ROOT, "-m", "hw.rtl.catalogue")
    assert done.returncode == 1
    assert "import fiberscope.hw instead: hw has no other name" in done.stderr


def test_files_of_a_user_may_be_called_as_the_rooms(tmp_path: Path) -> None:
    for room in ROOMS:
        (tmp_path / f"{room}.py").write_text("MINE = True\n")
        (tmp_path / "run.py").open("a").write(f"import {room}, fiberscope.{room}\nassert {room}.MINE\n")
    done = run(tmp_path, "run.py")
    assert (done.returncode, done.stderr) == (0, "")


def test_no_file_is_imported_twice(tmp_path: Path) -> None:
    done = run(tmp_path, "-c", EACH_FILE)
    assert done.returncode == 0, done.stderr
    imported, files = map(int, done.stdout.split())
    assert imported == files > 100
