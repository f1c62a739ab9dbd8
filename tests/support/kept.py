"""Golden numbers and texts in files beside a test, to detect changes."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from zlib import crc32

import pytest

MARK = "==== "  # begins the title of a section


def check_kept(path: Path, case: str, found: Mapping[str, float | str], rel: float = 0.0) -> None:
    """Compare with the file; FIBERSCOPE_UPDATE_GOLDEN=1 rewrites it, and the commit gives the reason."""
    kept = json.loads(path.read_text()) if path.exists() else {}
    if os.environ.get("FIBERSCOPE_UPDATE_GOLDEN"):
        kept[case] = dict(found)
        lines = (f"{json.dumps(name)}: {json.dumps(one)}" for name, one in sorted(kept.items()))
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    assert found == (pytest.approx(kept[case], rel=rel, abs=0) if rel else kept[case])


def checksum(outcome: object) -> int:
    """Return a number that changes with any number of an outcome, which may hold dataclasses and mappings."""
    return crc32(json.dumps(outcome, sort_keys=True, default=vars).encode())


def check_kept_text(path: Path, text: str) -> None:
    """Compare a text with a file, which FIBERSCOPE_UPDATE_GOLDEN=1 rewrites."""
    if os.environ.get("FIBERSCOPE_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text.splitlines() == path.read_text(encoding="utf-8").splitlines()


def check_kept_section(path: Path, title: str, text: str) -> None:
    """Compare a text with the section of a file; FIBERSCOPE_UPDATE_GOLDEN=1 rewrites the section."""
    parts = path.read_text(encoding="utf-8").split(MARK)[1:] if path.exists() else []
    sections = {name: kept for name, _, kept in (part.partition("\n") for part in parts)}
    if os.environ.get("FIBERSCOPE_UPDATE_GOLDEN"):
        sections[title] = text
        written = "".join(f"{MARK}{name}\n{kept.rstrip()}\n" for name, kept in sorted(sections.items()))
        path.write_text(written, encoding="utf-8")
    assert text.rstrip().splitlines() == sections[title].rstrip().splitlines()
