"""Parts of a store that are damaged, cannot be opened, or lie in a folder with an odd name."""

import errno
import os
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the extra 'sweep' is not installed")

from fiberscope.base.errors import InputError
from tests.fiberscope.store.test_store import filled


@pytest.mark.parametrize("seed", range(12))
def test_a_part_that_is_damaged_anywhere_is_named_by_whoever_meets_it(seed: int, tmp_path: Path) -> None:
    folder = tmp_path / "a.b"  # a message ends at no dot of a path
    made = filled(folder, range(30))
    made.gather()
    part = folder / "runs-000000.parquet"
    content, draw = bytearray(part.read_bytes()), random.Random(seed)
    at = draw.randrange(4, len(content))
    content[at : at + 40] = draw.randbytes(40)
    part.write_bytes(content if seed % 3 else content[:at])
    sums = "SELECT sum(cycles) FROM runs"
    asked = (made.frame, made.parameters, made.digests, lambda: made.table(sums))
    said = [line for ask in asked if (line := refusal(ask))]
    told = re.compile(rf"{part}: is damaged: [^\n]*[^.:\n]; remove it from the store; [^\n]*")
    assert [line for line in said if not told.fullmatch(line)] == []
    assert len(said) == 4 or seed % 3  # one that is cut off has no columns


@pytest.mark.parametrize("content", [b"", b"[", b"\xff"])
def test_damaged_digests_of_sources_are_one_line(content: bytes, tmp_path: Path) -> None:
    made = filled(tmp_path, range(3))
    (tmp_path / "_arrived/stale_sources.json").write_bytes(content)
    for ask in (made.frame, made.hidden, lambda: made.note_stale(["0"])):
        assert re.fullmatch(r"\S*/stale_sources\.json: is damaged: [^\n]*; remove it [^\n]*", refusal(ask))


def test_a_store_in_a_folder_whose_name_is_no_text_is_read(tmp_path: Path) -> None:
    """Arrow takes no such path; a sound part was called damaged."""
    store = filled(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")), range(3))
    store.gather()
    assert len(store.frame(all_sources=True)) == len(store.digests()) == 3


def test_a_part_that_cannot_be_opened_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = filled(tmp_path, range(3))
    store.gather()

    def refuse(path: Path, *_arguments: object) -> object:
        raise OSError(errno.EMFILE, "Too many open files", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    assert refusal(store.digests) == f"{tmp_path}/runs-000000.parquet: cannot be read: Too many open files"


def refusal(ask: Callable[[], object]) -> str:
    try:
        ask()
    except InputError as error:
        return str(error)
    return ""
