"""What is under version control, and a copy of it to build from."""

import shutil
import subprocess
from pathlib import Path

import pytest
from optional_programs import require

ROOT = Path(__file__).parents[2]


def tracked() -> set[str]:
    """The files under version control, links among them; skips where there is none."""
    require("git")
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone, so what belongs to the sources is not known")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}


def copy_sources(folder: Path) -> None:
    """Copy what is tracked into a folder, links as links."""
    for name in tracked():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
