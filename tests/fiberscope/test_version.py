"""What a tree, an archive and a build say of their version: of anything but a release the commit too."""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from optional_programs import needs

import fiberscope
from fiberscope.base.version import RELEASE, commit_of
from fiberscope.base.version import find_version as said

ROOT = Path(fiberscope.__file__).parents[1]
pytestmark = needs("git")


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    done = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What is needed to build from, with nothing to compile, in a repository of one commit."""
    made = tmp_path / "tree"
    for name in ("pyproject.toml", "README.md", "LICENSE", "fiberscope/base/version.py"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, made / name)
    (made / "fiberscope" / "__init__.py").touch()
    (made / "setup.py").write_text("from setuptools import setup\n\nsetup()\n")
    git(made, "init", "-q", "-b", "main")
    return committed(made)


def committed(folder: Path) -> Path:
    git(folder, "add", ".")
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")
    return folder


def of_commit(folder: Path) -> str:
    return f"{RELEASE}+g{git(folder, 'rev-parse', 'HEAD')[:9]}"


def built(folder: Path, *command: str) -> None:
    subprocess.run([sys.executable, "setup.py", "-q", *command], cwd=folder, check=True, capture_output=True)


def archive(folder: Path, into: Path) -> Path:
    """The unpacked archive of the sources."""
    built(folder, "sdist", "-d", str(into))
    (file,) = into.glob("*.tar.gz")
    with tarfile.open(file) as tar:
        tar.extractall(into, filter="data")
    return into / file.name.removesuffix(".tar.gz")


def installed(folder: Path, into: Path) -> Path:
    """The place of an installation of what is in a folder; nothing is fetched."""
    options = ["-q", "--no-build-isolation", "--no-deps", "--no-index", "--no-compile", "--target", str(into)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "."], cwd=folder, check=True)
    return into


def test_a_checkout_is_the_last_release_and_its_commit_whatever_git_made_of_it(
    tree: Path, tmp_path: Path
) -> None:
    assert said(tree) == of_commit(tree)
    assert said(committed(tree)) == of_commit(tree)
    git(tree, "pack-refs", "--all")
    assert said(tree) == of_commit(tree)
    git(tree, "worktree", "add", "-q", "-b", "other", str(tmp_path / "other"))
    assert said(committed(tmp_path / "other")) == of_commit(tmp_path / "other") != of_commit(tree)
    git(tree, "checkout", "-q", "--detach")
    assert said(tree) == of_commit(tree)
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{tree}", "shallow")
    assert said(tmp_path / "shallow") == of_commit(tree)


def test_without_a_repository_it_is_unknown_and_not_that_of_one_around(tree: Path) -> None:
    inner = tree / "vendored"
    shutil.copytree(tree / "fiberscope", inner / "fiberscope")
    assert said(inner) == f"{RELEASE}+unknown"
    assert commit_of(inner) is None


def test_what_is_built_says_the_commit_that_it_was_built_of(tree: Path, tmp_path: Path) -> None:
    unpacked = archive(tree, tmp_path / "dist")
    assert unpacked.name == f"fiberscope-{of_commit(tree)}"
    assert said(unpacked) == of_commit(tree)
    assert said(installed(unpacked, tmp_path / "lib")) == of_commit(tree)


@pytest.mark.parametrize("tag", [(), ("-m", "x", "-a")], ids=["light", "annotated"])
def test_a_release_is_a_number(tree: Path, tmp_path: Path, tag: tuple[str, ...]) -> None:
    git(tree, "tag", *tag, f"v{RELEASE}")
    assert said(tree) == RELEASE
    git(tree, "pack-refs", "--all")
    git(tree, "gc", "-q")
    assert said(tree) == RELEASE
    unpacked = archive(tree, tmp_path / "dist")
    assert said(unpacked) == unpacked.name.removeprefix("fiberscope-") == RELEASE
    assert said(committed(tree)) == of_commit(tree)


def test_what_is_built_without_a_repository_says_that_the_commit_is_unknown(
    tree: Path, tmp_path: Path
) -> None:
    shutil.rmtree(tree / ".git")
    unpacked = archive(tree, tmp_path / "dist")
    assert said(unpacked) == unpacked.name.removeprefix("fiberscope-") == f"{RELEASE}+unknown"
