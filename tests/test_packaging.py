"""What an archive of the sources holds: all that make and the tests need, and nothing that was generated."""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def tracked() -> set[str]:
    """The files under version control; skips where there is none."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is no clone, so what belongs to the sources is not known")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names in an archive made of a copy of the sources, beside generated C as compiling leaves it."""
    copy, made = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("dist")
    for name in tracked():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)
    (copy / "sim" / "leftover.c").write_text("int x;\n")
    command = [sys.executable, "setup.py", "--quiet", "sdist", "-d", str(made)]
    subprocess.run(command, cwd=copy, check=True, capture_output=True)
    with tarfile.open(next(made.glob("*.tar.gz"))) as tar:
        return {member.name.partition("/")[2] for member in tar if member.isfile()}


def test_the_archive_holds_every_source_but_ci_and_git(archive: set[str]) -> None:
    missing = {name for name in tracked() - archive if not name.startswith((".ci/", ".git"))}
    assert missing == set()


def test_the_archive_holds_nothing_generated(archive: set[str]) -> None:
    made = {"PKG-INFO", "setup.cfg"}
    strange = {name for name in archive - tracked() - made if not name.startswith("fiberscope.egg-info/")}
    assert strange == set()


def test_the_archive_holds_the_matrix_of_the_first_run_and_where_it_is_from(archive: set[str]) -> None:
    assert {"workloads/matrices/wiki-Vote.mtx.gz", "workloads/matrices/README.md"} <= archive


@pytest.mark.slow
def test_a_linker_that_is_killed_leaves_no_module_that_passes_for_done(tmp_path: Path) -> None:
    for room in ("sim", "hw", "accelerators", "converters", "workloads", "fiberscope"):
        (tmp_path / room).mkdir()
    for name in ("setup.py", "sim/names.py"):
        shutil.copy2(ROOT / name, tmp_path / name)
    (tmp_path / "sim" / "__init__.py").touch()
    (tmp_path / "sim" / "names.pxd").touch()
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
    assert list((tmp_path / "sim").glob("*.partial"))
    assert not list((tmp_path / "sim").glob("*.so"))
