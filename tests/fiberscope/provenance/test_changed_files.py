"""Whether the files of a run are those of a commit: each way in which a file can differ."""

import os
import subprocess
from pathlib import Path

import pytest

from fiberscope.results.provenance.source_digest import Roots, build_source_entry, commit_and_change
from fiberscope.results.report.parts import RecordedRequest


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a committed, an ignored and an untracked file."""
    folder = tmp_path / "repository"
    (folder / "machines").mkdir(parents=True)
    (folder / ".gitignore").write_text("ignored.py\nbuild/\n")
    for name in ("machine.py", "machines/own.py"):
        (folder / name).write_text("X = 1\n")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "x")
    commit_and_change.cache_clear()
    return folder


def changed(folder: Path, *names: str) -> bool | None:
    commit, differs = commit_and_change(tuple(str(folder / name) for name in names))
    assert commit == git(folder, "rev-parse", "HEAD")
    return differs


def test_files_as_they_were_committed_are_unchanged(repository: Path) -> None:
    assert changed(repository, "machine.py", "machines/own.py") is False
    (repository / "other.py").write_text("")  # which is not among the files
    assert changed(repository, "machines/own.py") is False


@pytest.mark.parametrize("name", ["ignored.py", "build/machine.py", "new.py", "new/machine.py"])
def test_a_file_that_no_commit_has_counts_as_changed(repository: Path, name: str) -> None:
    (repository / name).parent.mkdir(exist_ok=True)
    (repository / name).write_text("X = 1\n")
    git(repository, "config", "status.showUntrackedFiles", "no")
    assert changed(repository, name) is True
    assert changed(repository, "machine.py", name) is True
    assert changed(repository, "machine.py") is False


def test_a_file_changed_since_or_staged_alone_counts_as_changed(repository: Path) -> None:
    (repository / "machine.py").write_text("X = 2\n")
    assert changed(repository, "machine.py", "machines/own.py") is True
    git(repository, "add", "machine.py")
    commit_and_change.cache_clear()
    assert changed(repository, "machine.py", "machines/own.py") is True
    assert changed(repository, "machines/own.py") is False


def test_a_file_that_changes_between_two_runs_of_a_process_counts_as_changed_in_the_second(
    repository: Path,
) -> None:
    file = repository / "machine.yaml"
    file.write_text("X: 1\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "y")
    roots, request = Roots(frozenset(), (str(file),)), RecordedRequest(command="model", machine=str(file))
    assert build_source_entry(roots, request).changed is False
    file.write_text("X: 20\n")
    assert build_source_entry(roots, request).changed is True


def test_files_outside_of_the_repository_of_the_first_do_not_count(repository: Path) -> None:
    outside = repository.parent / "repository_beside"
    outside.mkdir()
    (outside / "machine.py").write_text("X = 1\n")
    assert changed(repository, "machine.py", "../repository_beside/machine.py") is False
    assert commit_and_change((str(outside / "machine.py"),)) == (None, None)


def test_a_link_counts_as_the_file_that_it_leads_to(repository: Path) -> None:
    link = repository.parent / "linked.py"
    os.symlink(repository / "machine.py", link)
    commit, differs = commit_and_change((str(link),))
    assert (commit, differs) == (git(repository, "rev-parse", "HEAD"), False)
    (repository / "machine.py").write_text("X = 2\n")
    commit_and_change.cache_clear()
    assert commit_and_change((str(link),))[1] is True


def test_a_repository_within_another_is_that_of_its_files(repository: Path) -> None:
    git(repository, "init", "-q", "machines")
    git(repository / "machines", "add", ".")
    git(repository / "machines", "commit", "-q", "-m", "y")
    assert changed(repository / "machines", "own.py") is False
    assert git(repository / "machines", "rev-parse", "HEAD") != git(repository, "rev-parse", "HEAD")
