"""What an archive of the sources holds: all that make and the tests need, and nothing that was generated."""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from sources import copy_sources, tracked

ROOT = Path(__file__).parent.parent


def expected() -> set[str]:
    """Return the files that belong to an archive, and those that stay behind; an archive has no links."""
    return {name for name in tracked() if not (ROOT / name).is_symlink()}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names in an archive made of a copy of the sources, beside generated C as compiling leaves it."""
    copy, made = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("dist")
    copy_sources(copy)
    (copy / "sim" / "leftover.c").write_text("int x;\n")
    (copy / "sim" / "names.pxd").write_text("# Written by fiberscope.compiler from names.py\n")
    command = [sys.executable, "setup.py", "--quiet", "sdist", "-d", str(made)]
    subprocess.run(command, cwd=copy, check=True, capture_output=True)
    with tarfile.open(next(made.glob("*.tar.gz"))) as tar:
        return {member.name.partition("/")[2] for member in tar if not member.isdir()}


def test_the_archive_holds_every_source_but_ci_and_git(archive: set[str]) -> None:
    missing = {name for name in expected() - archive if not name.startswith((".ci/", ".git"))}
    assert missing == set()


def test_the_archive_holds_nothing_generated(archive: set[str]) -> None:
    made = {"PKG-INFO", "setup.cfg"}
    strange = {name for name in archive - expected() - made if not name.startswith("fiberscope.egg-info/")}
    assert strange == set()


def test_the_archive_holds_the_matrix_of_the_first_run_and_where_it_is_from(archive: set[str]) -> None:
    assert {f"fiberscope/workloads/matrices/{name}" for name in ("wiki-Vote.mtx.gz", "README.md")} <= archive


@pytest.mark.slow
def test_a_linker_that_is_killed_leaves_no_module_that_passes_for_done(tmp_path: Path) -> None:
    room = tmp_path / "fiberscope" / "sim"
    room.mkdir(parents=True)
    for name in ("setup.py", "fiberscope/sim/names.py"):
        shutil.copy2(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "fiberscope" / "compiler", tmp_path / "fiberscope" / "compiler")
    for name in ("__init__.py", "names.pxd", "../__init__.py"):
        (room / name).touch()
    killed = tmp_path / "cc"
    killed.write_text(
        "#!/bin/sh\n"
        'last=\nfor word in "$@"; do [ "$last" = -o ] && out=$word; last=$word; done\n'
        'case "$*" in *-shared*) : > "$out"; kill -9 $$;; *) exec gcc "$@";; esac\n'
    )
    killed.chmod(0o755)
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    environment = {**os.environ, "CC": str(killed), "LDSHARED": f"{killed} -shared"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, check=False, capture_output=True)
    assert done.returncode != 0
    assert list(room.glob("*.partial"))
    assert not list(room.glob("*.so"))
