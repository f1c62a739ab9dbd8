"""A full disk makes programs of others fail in their own words; the message names the folder without room."""

import errno
import os
import tempfile
from pathlib import Path

import pytest

from fiberscope.rtl.select_block import LOG, MIN_FREE_BYTES, condense_error, full_folder

FAULT = "iverilog does not accept module merger:\nerror: vvp.tgt failed to load.\nthe rest"
SAID = "iverilog does not accept module merger: error: vvp.tgt failed to load."


@pytest.fixture
def rooms(monkeypatch: pytest.MonkeyPatch) -> dict[Path, int]:
    """Bytes of room by folder; folders that are not here have enough."""
    rooms: dict[Path, int] = {}
    real = tempfile.NamedTemporaryFile

    def temporary_file(prefix: str, dir: Path) -> object:
        file = real(prefix=prefix, dir=dir)
        write = file.write

        def limited(content: bytes) -> int:
            if len(content) > rooms.get(Path(dir), MIN_FREE_BYTES):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return write(content)

        file.write = limited  # type: ignore[method-assign]
        return file

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", temporary_file)
    return rooms


def test_the_first_folder_without_room_is_found(tmp_path: Path, rooms: dict[Path, int]) -> None:
    folders = [tmp_path / name for name in "abc"]
    for folder in folders[:2]:
        folder.mkdir()
    assert full_folder(folders) is None  # and one that is not there is not full
    rooms[folders[1]] = MIN_FREE_BYTES - 1
    assert full_folder(folders) == folders[1]
    rooms[folders[0]] = 0
    assert full_folder(folders) == folders[0]
    assert [*folders[0].iterdir()] == []


def test_a_tool_that_fails_on_a_full_disk_names_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rooms: dict[Path, int]
) -> None:
    temporary, output = tmp_path / "temporary", tmp_path / "output"
    temporary.mkdir()
    output.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    for full, option in ((output, "--output"), (temporary, "TMPDIR")):
        rooms[full] = 4096
        reason = f"{full}: No space left on device; make room, or name another folder with {option}"
        assert str(condense_error(RuntimeError(FAULT), output)) == f"{reason} ({SAID})"
        assert str(condense_error(RuntimeError("no result"), output)) == f"{reason} (no result)"
    assert not (output / LOG).exists()
    rooms.clear()
    assert (
        str(condense_error(RuntimeError(FAULT), output)) == f"{SAID}; the whole output is in {output / LOG}"
    )
