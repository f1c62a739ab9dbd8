"""The version: the number of a release, or the last release and the commit.

The build reads the version from this module, which imports no other module of ours and starts no process.
"""

from __future__ import annotations

import zlib
from pathlib import Path

RELEASE = "0.2.0"  # the last release; its tag is v0.2.0
DIGITS = 9  # hexadecimal digits of a commit


def find_version(root: Path) -> str:
    """Return the version of the tree in a folder, as in PEP 440: ``0.1.0``, ``0.1.0+g76cabb712``.

    Archives and installations have the version in their metadata. Without metadata and repository it is
    unknown.
    """
    commit = commit_of(root)
    if commit is None:
        return _read_packaged_version(root) or f"{RELEASE}+unknown"
    return RELEASE if _has_release_tag(root, commit) else f"{RELEASE}+g{commit[:DIGITS]}"


def _read_packaged_version(root: Path) -> str:
    """Return the version of an unpacked archive or of an installation; empty for anything else."""
    package_info = root / "PKG-INFO"
    if package_info.is_file():
        lines = package_info.read_text(encoding="utf-8").splitlines()
        return next((line.split()[1] for line in lines if line.startswith("Version: ")), "")
    installed = next(root.glob("fiberscope-*.dist-info"), Path())
    return installed.stem.partition("-")[2]


def commit_of(root: Path) -> str | None:
    """Return the commit of a checkout, read from the files of its repository; None if there is no checkout.

    Args:
        root: the folder of a repository or of a linked working tree.
    """
    try:
        folder = _find_repository(root)
        head = (folder / "HEAD").read_text(encoding="utf-8").strip()
        name = head.removeprefix("ref:").strip()
        # A head on a branch reads ``ref: refs/heads/...``, a detached head is the commit itself.
        return head if name == head else _resolve_reference(folder, name)[0]
    except (OSError, ValueError, IndexError):
        return None


def _find_repository(root: Path) -> Path:
    """Return the folder with ``HEAD`` of a repository or of a linked working tree."""
    folder = root / ".git"
    if folder.is_file():  # a file in a linked working tree, which names the folder
        folder = root / folder.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
    return folder


def _find_common_folder(folder: Path) -> Path:
    """Return the folder with the references and objects that all working trees of a repository share."""
    shared = folder / "commondir"
    return folder / shared.read_text(encoding="utf-8").strip() if shared.is_file() else folder


def _resolve_reference(folder: Path, name: str) -> list[str]:
    """Return the digest to which a branch or a tag refers; for a packed annotated tag, also the commit.

    A branch or a simple tag refers to a commit, an annotated tag to an object of its own.

    Raises:
        OSError, IndexError: if the repository has no such reference.
    """
    common = _find_common_folder(folder)
    if (common / name).is_file():
        return [(common / name).read_text(encoding="utf-8").strip()]
    packed = (common / "packed-refs").read_text(encoding="utf-8").splitlines()
    position = next((number for number, line in enumerate(packed) if line.endswith(f" {name}")), len(packed))
    # The line after an annotated tag has the tag's commit.
    peeled = [line[1:] for line in packed[position + 1 : position + 2] if line.startswith("^")]
    return [packed[position].split()[0], *peeled]


def _has_release_tag(root: Path, commit: str) -> bool:
    """Return whether a commit has the tag of the release."""
    try:
        folder = _find_repository(root)
        tags = _resolve_reference(folder, f"refs/tags/v{RELEASE}")
        # The object of an annotated tag names the commit.
        return commit in tags or f"object {commit}" in _read_object(_find_common_folder(folder), tags[0])
    except (OSError, ValueError, IndexError, zlib.error):
        return False


def _read_object(common: Path, name: str) -> str:
    """Return an object of the repository as text; raise OSError if the object has no file of its own."""
    packed = (common / "objects" / name[:2] / name[2:]).read_bytes()
    return zlib.decompress(packed).decode("utf-8", errors="replace")


__version__ = find_version(Path(__file__).parents[2])
