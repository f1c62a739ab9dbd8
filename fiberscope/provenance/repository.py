"""The commit that sources are of, where they are in a repository, and whether they differ from it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from fiberscope.version import commit_of

__all__ = ["commit_and_change"]

SECONDS = 10.0  # that git may take


@lru_cache(maxsize=64)
def commit_and_change(files: Sequence[str]) -> tuple[str | None, bool | None]:
    """The commit of the repository that the first of the files is in, and whether any of those in it differs.

    A file that the repository does not have differs. None where there is no repository, or no git to ask.

    Args:
        files: a tuple of paths.
    """
    real = [os.path.realpath(file) for file in files]  # git follows no links
    root = next((folder for folder in Path(real[0]).parents if (folder / ".git").exists()), None)
    commit = commit_of(root) if root else None
    if root is None or commit is None:
        return None, None
    return commit, _changed(root, [file for file in real if Path(file).is_relative_to(root)])


def _changed(root: Path, files: Sequence[str]) -> bool | None:
    asked = ["git", "status", "--porcelain", "--ignored", "--untracked-files=all", "--", *files]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}  # it writes nothing
    try:
        done = subprocess.run(
            asked, cwd=root, env=environment, capture_output=True, timeout=SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return bool(done.stdout)
