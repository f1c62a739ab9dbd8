"""Which version this is: of a release its number, of anything else the last release and the commit.

A build takes it from here too: nothing of ours is imported, and no process started.
"""

from __future__ import annotations

import zlib
from pathlib import Path

__all__ = ["RELEASE", "__version__", "commit_of", "version_of"]

RELEASE = "0.2.0"  # the last one; its tag is v0.2.0
DIGITS = 9  # of a commit


def version_of(root: Path) -> str:
    """The version of the tree in a folder, as PEP 440 has it: ``0.1.0``, ``0.1.0+g76cabb712``.

    What was built knows it from its metadata; without these and without a repository it is unknown.
    """
    commit = commit_of(root)
    if commit is None:
        return _built(root) or f"{RELEASE}+unknown"
    return RELEASE if _tagged(root, commit) else f"{RELEASE}+g{commit[:DIGITS]}"


def _built(root: Path) -> str:
    """Return the version of an unpacked archive or of an installation; empty for anything else."""
    package_info = root / "PKG-INFO"
    if package_info.is_file():
        lines = package_info.read_text(encoding="utf-8").splitlines()
        return next((line.split()[1] for line in lines if line.startswith("Version: ")), "")
    installed = next(root.glob("fiberscope-*.dist-info"), Path())
    return installed.stem.partition("-")[2]


def commit_of(root: Path) -> str | None:
    """The commit that a checkout is at, as its files say; None where it is no checkout.

    Args:
        root: the folder of a repository, or of one of its further working trees.
    """
    try:
        own = _repository(root)
        head = (own / "HEAD").read_text(encoding="utf-8").strip()
        name = head.removeprefix("ref:").strip()
        return head if name == head else _referred(own, name)[0]
    except (OSError, ValueError, IndexError):
        return None


def _repository(root: Path) -> Path:
    own = root / ".git"
    if own.is_file():  # a further working tree's names its folder
        own = root / own.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
    return own


def _common(own: Path) -> Path:
    shared = own / "commondir"
    return own / shared.read_text(encoding="utf-8").strip() if shared.is_file() else own


def _referred(own: Path, name: str) -> list[str]:
    """Return the commit of a branch or a tag; for an annotated tag also the tag's own digest."""
    common = _common(own)
    if (common / name).is_file():
        return [(common / name).read_text(encoding="utf-8").strip()]
    packed = (common / "packed-refs").read_text(encoding="utf-8").splitlines()
    at = next((number for number, line in enumerate(packed) if line.endswith(f" {name}")), len(packed))
    behind = [line[1:] for line in packed[at + 1 : at + 2] if line.startswith("^")]
    return [packed[at].split()[0], *behind]


def _tagged(root: Path, commit: str) -> bool:
    """Return whether a commit has the tag of the release."""
    try:
        own = _repository(root)
        tags = _referred(own, f"refs/tags/v{RELEASE}")
        return commit in tags or f"object {commit}" in _read_object(_common(own), tags[0])
    except (OSError, ValueError, IndexError, zlib.error):
        return False


def _read_object(common: Path, name: str) -> str:
    """An object of the repository as text, where it has a file of its own."""
    packed = (common / "objects" / name[:2] / name[2:]).read_bytes()
    return zlib.decompress(packed).decode("utf-8", errors="replace")


__version__ = version_of(Path(__file__).parents[2])
