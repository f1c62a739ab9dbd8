"""What compressed files unpack to is bounded, and lines of comments are not."""

import gzip
import io
import tarfile
import zipfile
import zlib

import numpy as np
import pytest
import scipy
from scipy import sparse

from fiberscope.workloads import decompression_limit
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.readers import read_matrix
from fiberscope.workloads.text import CHUNK_BYTES, LONGEST_LINE

BANNER = b"%%MatrixMarket matrix coordinate real general\n"
ENTRIES = b"3 3 2\n1 2 5\n3 1 7\n"
WANTED = [[0, 5, 0], [0, 0, 0], [7, 0, 0]]


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(decompression_limit, "ALWAYS_BYTES", 10_000)
    monkeypatch.setattr(decompression_limit, "FACTOR", 20)


@pytest.mark.parametrize("tail", [b"\n" * 2_000_000, b"%" * 2_000_000 + b"\n", b"%\n" * 1_000_000])
@pytest.mark.parametrize("name", ["a.mtx.gz", "a.txt.gz"])
def test_a_gzip_file_that_unpacks_to_far_more_is_refused(name, tail, small, tmp_path):
    head = BANNER + ENTRIES if "mtx" in name else b"0 1\n"
    (tmp_path / name).write_bytes(gzip.compress(head + tail))
    with pytest.raises(WorkloadError, match=r"it unpacks to more than [0-9,]+ bytes, and has [0-9,]+ itself"):
        read_matrix(tmp_path / name)


def test_one_that_unpacks_to_a_little_more_is_read(small, tmp_path):
    (tmp_path / "a.mtx.gz").write_bytes(gzip.compress(BANNER + ENTRIES + b"\n" * 9_000))
    assert read_matrix(tmp_path / "a.mtx.gz").toarray().tolist() == WANTED


def test_an_npz_that_unpacks_to_far_more_is_refused_before_it_is(small, tmp_path):
    sparse.save_npz(tmp_path / "a.npz", sparse.coo_array((np.ones(100_000), np.zeros((2, 100_000), int))))
    with zipfile.ZipFile(tmp_path / "a.npz") as members:
        assert sum(one.file_size for one in members.infolist()) > 1_000_000
    with pytest.raises(WorkloadError, match=r"a\.npz: it unpacks to more than"):
        read_matrix(tmp_path / "a.npz")


@pytest.mark.parametrize("order", ["<", ">"])
def test_so_is_a_mat_file_whose_elements_do_together(order, small, tmp_path):
    scipy.io.savemat(tmp_path / "a.mat", {"A": np.eye(50), "B": np.zeros((300, 300))}, do_compression=True)
    text = (tmp_path / "a.mat").read_bytes()
    first = 136 + int.from_bytes(text[132:136], "little")
    if order == ">":  # only what is outside of the streams of zlib has to be turned
        tags = [text[at : at + 4][::-1] + text[at + 4 : at + 8][::-1] for at in (128, first)]
        text = text[:124] + b"\1\0MI" + tags[0] + text[136:first] + tags[1] + text[first + 8 :]
        (tmp_path / "a.mat").write_bytes(text)
    with pytest.raises(WorkloadError, match=r"a\.mat: it unpacks to more than"):
        read_matrix(tmp_path / "a.mat")


def test_streams_are_counted_together_and_a_piece_at_a_time(monkeypatch):
    monkeypatch.setattr(decompression_limit, "ALWAYS_BYTES", 1000)
    monkeypatch.setattr(decompression_limit, "FACTOR", 0)
    monkeypatch.setattr(decompression_limit, "CHUNK_BYTES", 64)
    check, packed = decompression_limit.check_deflated, [zlib.compress(bytes(size)) for size in (600, 400)]
    check(iter(packed), 10, "a.mat")
    for streams in ([zlib.compress(bytes(1001))], [*packed, zlib.compress(b"1")]):
        with pytest.raises(WorkloadError, match=r"a\.mat: it unpacks to more than 1,000 bytes"):
            check(iter(streams), 10, "a.mat")


def test_the_bound_grows_with_the_file(monkeypatch):
    monkeypatch.setattr(decompression_limit, "ALWAYS_BYTES", 1000)
    decompression_limit.check_unpacked(100 * decompression_limit.FACTOR, 100, "a.gz")
    with pytest.raises(WorkloadError, match=r"a\.gz: it unpacks to more than"):
        decompression_limit.check_unpacked(100 * decompression_limit.FACTOR + 1, 100, "a.gz")


def test_a_mat_file_that_unpacks_to_a_little_more_is_read(small, tmp_path):
    scipy.io.savemat(tmp_path / "a.mat", {"A": sparse.csc_array(np.eye(500))}, do_compression=True)
    assert (read_matrix(tmp_path / "a.mat").toarray() == np.eye(500)).all()


def test_so_is_an_archive_of_the_collection(small, tmp_path):
    from fiberscope.workloads.cache import _unpack

    with tarfile.open(tmp_path / "m.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("m/m.mtx")
        member.size = 1_000_000
        archive.addfile(member, io.BytesIO(bytes(member.size)))
    with pytest.raises(WorkloadError, match=r"m\.tar\.gz: it unpacks to more than"):
        _unpack(tmp_path / "m.tar.gz", tmp_path / "m.mtx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("length", [70_000, LONGEST_LINE - 1, LONGEST_LINE, 3 * CHUNK_BYTES])
def test_a_line_of_comment_may_have_any_length(length, tmp_path):
    comment = b"%" + b" 1" * (length // 2) + b"\n"
    for number, text in enumerate(
        (comment + ENTRIES, ENTRIES + comment, b"3 3 2\n1 2 5\n" + comment + b"3 1 7")
    ):
        (tmp_path / f"{number}.mtx").write_bytes(BANNER + text)
        assert read_matrix(tmp_path / f"{number}.mtx").toarray().tolist() == WANTED


def test_a_line_behind_a_long_comment_has_its_number(tmp_path):
    comment = b"%" + b"x" * (3 * CHUNK_BYTES) + b"\n"
    (tmp_path / "a.mtx").write_bytes(BANNER + comment + b"3 3 2\n" + comment + b"1 x 5\n3 1 7\n")
    with pytest.raises(WorkloadError, match=r"a\.mtx:5: "):
        read_matrix(tmp_path / "a.mtx")


@pytest.mark.parametrize("comment", ["#", "%"])
def test_so_may_one_of_a_list_of_edges(comment, tmp_path):
    (tmp_path / "a.txt").write_text(f"{comment}{'1 ' * 70_000}\n0 1\n2 0\n{comment}{'x' * 70_000}\n")
    assert read_matrix(tmp_path / "a.txt").toarray().tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 0]]


def test_blanks_without_end_are_no_comment(tmp_path):
    (tmp_path / "a.mtx").write_bytes(BANNER + b" " * 70_000 + b"3 3 2\n1 2 5\n3 1 7\n")
    with pytest.raises(WorkloadError, match=r"a\.mtx:2: a line longer than 64 KiB"):
        read_matrix(tmp_path / "a.mtx")
