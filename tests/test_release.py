"""What is published, built, installed where there is nothing of ours, and run: ``make release-check``."""

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from sources import copy_sources

pytestmark = pytest.mark.slow

PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
OURS = "FIBERSCOPE_"  # variables


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources, as a clone has them."""
    folder = tmp_path_factory.mktemp("sources")
    copy_sources(folder)
    return folder


def archive(sources: Path, made: Path) -> Path:
    """The archive of the sources, which has real files where a clone has links."""
    command = [sys.executable, "setup.py", "--quiet", "sdist", "-d", str(made)]
    subprocess.run(command, cwd=sources, check=True, capture_output=True)
    packed = next(made.glob("*.tar.gz"))
    with tarfile.open(packed) as tar:
        members = {member.name.partition("/")[2]: member for member in tar if not member.isdir()}
    assert [name for name, member in members.items() if not member.isfile()] == []
    check_names(set(members))
    return packed


def wheel(source: Path, made: Path) -> Path:
    """The wheel of a folder of sources or an archive, compiled."""
    command = (*PIP, "wheel", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(made))
    subprocess.run([*command, str(source)], check=True)
    built = next(made.glob("*.whl"))
    check_names(set(zipfile.ZipFile(built).namelist()))
    return built


def check_names(names: set[str]) -> None:
    """Every module is there once, under its one name."""
    assert {"fiberscope/hw/fibers/merge.py", "fiberscope/workloads/matrices/wiki-Vote.mtx.gz"} <= names
    assert [name for name in names if name.startswith(("hw/", "sim/"))] == []


def installed(built: Path, folder: Path) -> Path:
    """The programs of a new environment that has the wheel, and the libraries of this one."""
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    subprocess.run(
        [*PIP, "--python", str(python), "install", "--no-deps", "--no-index", str(built)], check=True
    )
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    return python.parent


@pytest.mark.parametrize("packed", [False, True], ids=["wheel", "archive"])
def test_what_is_published_runs_where_nothing_of_ours_is(packed: bool, sources: Path, tmp_path: Path) -> None:
    made, elsewhere = tmp_path / "made", tmp_path / "elsewhere"
    programs = installed(wheel(archive(sources, made) if packed else sources, made), tmp_path / "environment")
    elsewhere.mkdir()
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", OURS))}

    def said(*command: str, code: int = 0) -> str:
        command = (str(programs / command[0]), *command[1:])
        done = subprocess.run(command, cwd=elsewhere, env=plain, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    said("fiberscope", "sim", "gamma", "wiki-Vote", "--quiet", "--json", "out.json")
    assert json.loads((elsewhere / "out.json").read_text())["verification"]["passed"]
    kernel = said("python", "-c", "import fiberscope.sim.kernel as kernel; print(kernel.__file__)").strip()
    assert Path(kernel).is_relative_to(tmp_path)
    assert kernel.endswith(".so")
    assert said("fiberscope", "help", "workloads").startswith("# Workloads")
    assert "No module named 'hw'" in said("python", "-c", "import hw", code=1)
