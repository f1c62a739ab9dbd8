"""Matrices of files that were read before: opened from the cache, never wrong, never in the way."""

import os
import shutil
import time

import numpy as np
import pytest

from fiberscope.workloads import WorkloadError, load, parse_cache, readers

TEXT = "0 1 2.5\n2 0 -1\n2 2 3\n"


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A small file that is kept like a large one, and was changed long ago."""
    monkeypatch.setattr(parse_cache, "LEAST_BYTES", 1)
    path = tmp_path / "a.el"
    return put(path, TEXT)


def put(path, text, age=60):
    path.write_text(text)
    changed = time.time() - age
    os.utime(path, (changed, changed))
    return path


@pytest.fixture
def unread(monkeypatch):
    """From its call on, no file is read."""

    def refuse(*_args):
        raise AssertionError("the file is read")

    return lambda name="readers.read_matrix": monkeypatch.setattr(f"fiberscope.workloads.{name}", refuse)


def kept(tmp_path):
    return list((tmp_path / "cache" / "parsed").glob("*/*"))


def same(found, other):
    assert found.digest == other.digest
    for name in ("indptr", "indices", "data"):
        assert getattr(found.matrix, name).tobytes() == getattr(other.matrix, name).tobytes()
        assert getattr(found.matrix, name).dtype == getattr(other.matrix, name).dtype
    assert (found.shape, found.notice) == (other.shape, None)


def test_a_file_is_read_once_and_hashed_once(file, unread):
    first = load(file)
    unread()
    unread("parse_cache.file_digest")
    same(load(file), first)
    assert load(file).matrix.has_canonical_format


def test_a_copy_elsewhere_is_known_by_its_content(file, tmp_path, unread):
    first = load(file)
    unread()
    same(load(shutil.copy2(file, tmp_path / "b.el")), first)


def test_a_changed_file_is_read_again_and_what_was_kept_of_it_goes(file, tmp_path):
    load(file)
    put(file, TEXT.replace("2.5", "4.5"), age=30)
    assert load(file).matrix.data.tolist() == [4.5, -1, 3]
    assert len(kept(tmp_path)) == 1


def test_a_change_too_recent_to_show_in_the_time_is_seen(file):
    put(file, TEXT, age=0)
    state = file.stat()
    load(file)
    file.write_text(TEXT.replace("2.5", "4.5"))
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert load(file).matrix.data.tolist() == [4.5, -1, 3]


def test_another_file_in_its_place_is_read_though_its_size_and_time_are_the_same(file, tmp_path):
    load(file)
    state = file.stat()
    other = put(tmp_path / "other", TEXT.replace("2.5", "4.5"))
    os.utime(other, ns=(state.st_atime_ns, state.st_mtime_ns))
    other.replace(file)
    assert load(file).matrix.data.tolist() == [4.5, -1, 3]


def test_a_file_that_changes_between_its_hash_and_its_reading_is_not_kept(file, tmp_path, monkeypatch):
    read = readers.read_matrix

    def change(path, duplicates):
        return read(put(file, TEXT.replace("2.5", "4.5"), age=30), duplicates)

    with monkeypatch.context() as changing:
        changing.setattr(readers, "read_matrix", change)
        assert load(file).matrix.data.tolist() == [4.5, -1, 3]
    assert kept(tmp_path) == []
    assert load(put(file, TEXT)).matrix.data.tolist() == [2.5, -1, 3]


def test_writing_into_a_matrix_changes_no_other(file):
    load(file)
    mine = load(file)
    mine.matrix.data[:] = 7
    assert load(file).matrix.data.tolist() == [2.5, -1, 3]


DAMAGES = {
    "flipped": lambda path, data: path.write_bytes(data[:-1] + bytes([data[-1] ^ 1])),
    "header": lambda path, data: path.write_bytes(
        data.replace(b"i8", b"f8").replace(b'"shape": [3', b'"shape": [4')
    ),
    "short": lambda path, data: path.write_bytes(data[: len(data) // 2]),
    "empty": lambda path, _data: path.write_bytes(b""),
    "gone": lambda path, _data: path.unlink(),
    "noise": lambda path, data: path.write_bytes(np.random.default_rng(1).bytes(len(data))),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", ["indptr.npy", "indices.npy", "data.npy", "record"])
def test_what_is_damaged_is_read_again_with_one_line(file, tmp_path, damage, name, unread):
    first = load(file)
    part = kept(tmp_path)[0] / name
    before = part.read_bytes()
    DAMAGES[damage](part, before)
    if part.exists() and part.read_bytes() == before:
        pytest.skip("there is nothing to replace in this one")
    again = load(file)
    assert again.notice == "NOTE: what the cache kept of a.el was damaged; it has been read again"
    assert again.digest == first.digest
    unread()
    same(load(file), first)


def test_each_way_to_read_duplicates_is_kept(file, unread):
    put(file, TEXT + "0 1 1\n")
    summed, whole = load(file), load(f"graph:duplicates=keep,of={file}")
    unread()
    assert load(file).digest == summed.digest
    assert load(f"graph:duplicates=keep,of={file}").digest == whole.digest
    assert (summed.nonzeros, whole.nonzeros) == (3, 4)


def test_a_damaged_record_of_a_path_is_replaced(file, tmp_path, unread):
    first = load(file)
    for record in (tmp_path / "cache" / "parsed").glob("*.json"):
        record.write_text("[]")
    unread()
    same(load(file), first)


def test_it_may_be_turned_off_and_small_files_are_not_kept(file, tmp_path, monkeypatch):
    monkeypatch.setenv("FIBERSCOPE_PARSED", "0")
    load(file)
    monkeypatch.setenv("FIBERSCOPE_PARSED", "1")
    monkeypatch.setattr(parse_cache, "LEAST_BYTES", 1000)
    load(file)
    assert not (tmp_path / "cache").exists()


def test_a_cache_that_cannot_be_used_is_done_without(file, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FIBERSCOPE_CACHE", str(tmp_path / "file"))
    assert load(file).nonzeros == 3


def test_nothing_half_written_stays(file, tmp_path, monkeypatch):
    def interrupted(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr(parse_cache.zlib, "crc32", interrupted)
    with pytest.raises(KeyboardInterrupt):
        load(file)
    assert kept(tmp_path) == []


def test_a_bad_file_is_an_error_every_time(file, tmp_path):
    put(file, "0 1\n0 x\n")
    for _ in range(2):
        with pytest.raises(WorkloadError, match=r"a.el:2: '0 x' does not fit"):
            load(file)
    assert kept(tmp_path) == []


def test_a_note_goes_with_that_of_another_shape(file, tmp_path, monkeypatch):
    monkeypatch.setenv("FIBERSCOPE_DATA", str(tmp_path))
    put(tmp_path / "wiki-Vote.el", TEXT)
    load("wiki-Vote")
    (kept(tmp_path)[0] / "data.npy").unlink()
    assert load("wiki-Vote").notice == (
        "NOTE: wiki-Vote.el is 3 x 3, and the registry's wiki-Vote is 8297 x 8297; "
        "NOTE: what the cache kept of wiki-Vote.el was damaged; it has been read again"
    )
