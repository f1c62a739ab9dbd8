"""Downloads, against a server on this machine that can be told to misbehave."""

import errno
import gzip
import hashlib
import http.server
import io
import tarfile
import threading
import time
from pathlib import Path

import pytest

from fiberscope.workloads import WorkloadError, cache, load, registry
from fiberscope.workloads.download import DownloadError, download
from fiberscope.workloads.registry import Entry

MATRIX = b"%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n3 1\n"


def archive(**members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


class Server(http.server.ThreadingHTTPServer):
    """Serves ``files``; the next ``cuts`` answers break off after that many bytes; keeps the requests."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.cuts, self.ranges, self.resumes = {}, [], [], True

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        data = server.files.get(self.path)
        wanted = self.headers.get("Range")
        server.ranges.append(wanted)
        if data is None:
            self.send_error(404)
            return
        first = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and server.resumes else 0
        if first and first >= len(data):
            self.send_error(416)
            return
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(data) - first))
        self.end_headers()
        self.wfile.write(data[first : first + server.cuts.pop(0)] if server.cuts else data[first:])

    def log_message(self, *_args):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("FIBERSCOPE_OFFLINE", "0")
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def entry(server, monkeypatch):
    """A registry row whose archive the server has."""
    server.files["/tiny.tar.gz"] = archive(**{"tiny/tiny.mtx": MATRIX, "tiny/tiny_b.mtx": b"x"})
    row = Entry(
        name="tiny",
        collection="SuiteSparse",
        shape=(3, 3),
        nonzeros=2,
        kind="test",
        source="test",
        address=f"{server.address}/tiny.tar.gz",
    )
    monkeypatch.setattr("fiberscope.workloads.registry._by_name", lambda: {"tiny": row})
    return row


def sha(data):
    return hashlib.sha256(data).hexdigest()


def test_a_download_reports_progress_and_digest(server, tmp_path):
    server.files["/a"] = b"x" * 100
    seen = []
    found = download(f"{server.address}/a", tmp_path / "a", None, lambda *args: seen.append(args))
    assert found == sha(b"x" * 100)
    assert (tmp_path / "a").read_bytes() == b"x" * 100
    assert seen[-1] == (100, 100)


def test_a_cut_transfer_is_resumed_where_it_broke_off(server, tmp_path):
    data = bytes(range(256)) * 2000
    server.files["/a"], server.cuts = data, [200_000, 100_000]
    assert download(f"{server.address}/a", tmp_path / "a", sha(data)) == sha(data)
    assert server.ranges == [None, f"bytes={3 * 65536}-", f"bytes={4 * 65536}-"]
    assert not (tmp_path / "a.part").exists()


def test_a_transfer_is_resumed_by_a_later_call(server, tmp_path):
    data = bytes(range(256)) * 2000
    server.files["/a"], server.cuts = data, [100_000, 100_000, 100_000]
    with pytest.raises(DownloadError, match="the transfer broke off"):
        download(f"{server.address}/a", tmp_path / "a", None)
    assert (tmp_path / "a.part").stat().st_size == 3 * 65536
    assert not (tmp_path / "a").exists()
    download(f"{server.address}/a", tmp_path / "a", None)
    assert server.ranges[-1] == f"bytes={3 * 65536}-"
    assert (tmp_path / "a").read_bytes() == data


def test_a_server_that_cannot_resume_sends_it_all_again(server, tmp_path):
    server.files["/a"], server.resumes = b"y" * 50, False
    (tmp_path / "a.part").write_bytes(b"x" * 30)
    download(f"{server.address}/a", tmp_path / "a", sha(b"y" * 50))
    assert server.ranges == ["bytes=30-"]
    assert (tmp_path / "a").read_bytes() == b"y" * 50


def test_a_part_that_is_too_long_is_thrown_away(server, tmp_path):
    server.files["/a"] = b"y" * 20
    (tmp_path / "a.part").write_bytes(b"x" * 30)
    download(f"{server.address}/a", tmp_path / "a", sha(b"y" * 20))
    assert server.ranges[-1] is None
    assert (tmp_path / "a").read_bytes() == b"y" * 20
    assert not (tmp_path / "a.part").exists()


def test_a_wrong_checksum_keeps_nothing(server, tmp_path):
    server.files["/a"] = b"y"
    with pytest.raises(DownloadError, match=f"/a: sha256 {sha(b'y')} is not the {'0' * 64} on record"):
        download(f"{server.address}/a", tmp_path / "a", "0" * 64)
    assert list(tmp_path.iterdir()) == []


def test_not_found_and_server_gone(server, tmp_path):
    with pytest.raises(DownloadError, match="the server answers 404"):
        download(f"{server.address}/b", tmp_path / "b", None)
    address = server.address
    server.server_close()
    server.shutdown()
    start = time.monotonic()
    with pytest.raises(DownloadError, match="no connection"):
        download(f"{address}/a", tmp_path / "a", None)
    assert time.monotonic() - start < 5


def test_an_archive_is_unpacked_to_its_matrix_and_kept(server, entry):
    assert load("tiny", exact=True).matrix.toarray().tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 0]]
    again = load("TINY", exact=True)
    assert (again.source, again.origin) == ("real", entry.address)
    assert len(server.ranges) == 1
    assert cache.find_cached(entry).read_bytes() == MATRIX
    assert not any(
        path.name.endswith((".part", ".tar.gz")) for path in cache.find_cached(entry).parent.iterdir()
    )


def test_a_broken_cache_entry_is_fetched_again(server, entry):
    file = cache.fetch(entry)
    file.write_bytes(MATRIX + b"2 2\n")
    assert cache.find_cached(entry) is None
    assert cache.fetch(entry).read_bytes() == MATRIX
    assert len(server.ranges) == 2


def test_the_first_download_binds_the_later_ones(server, entry):
    cache.fetch(entry).unlink()
    server.files["/tiny.tar.gz"] = archive(**{"tiny.mtx": MATRIX + b"2 2\n"})
    with pytest.raises(DownloadError, match="on record"):
        cache.fetch(entry)


def test_a_checksum_of_the_registry_is_enforced(server, entry):
    with pytest.raises(DownloadError, match="on record"):
        cache.fetch(entry.model_copy(update={"checksum": "0" * 64}))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (archive(**{"other.mtx": MATRIX}), "the archive holds no tiny.mtx"),
        (archive(**{"tiny.mtx": MATRIX})[:-30], "the archive is damaged"),
        (gzip.compress(b"not a tar", mtime=0), "the archive is damaged"),
        (b"<html>", "the archive is damaged"),
    ],
)
def test_a_bad_archive(server, entry, data, message):
    server.files["/tiny.tar.gz"] = data
    with pytest.raises(DownloadError, match=message):
        cache.fetch(entry)
    assert cache.find_cached(entry) is None
    server.files["/tiny.tar.gz"] = archive(**{"tiny.mtx": MATRIX})
    assert cache.fetch(entry).read_bytes() == MATRIX


def test_a_member_with_a_climbing_path_stays_inside(server, entry, tmp_path):
    server.files["/tiny.tar.gz"] = archive(**{"../../../tiny.mtx": MATRIX})
    assert cache.fetch(entry).parent == tmp_path / "cache" / "tiny"
    assert not (tmp_path / "tiny.mtx").exists()


def test_two_at_once_download_once(server, entry):
    found = []
    threads = [threading.Thread(target=lambda: found.append(cache.fetch(entry))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(server.ranges) == 1


def test_a_plain_gzip_file_is_kept_as_it_is(server, entry):
    server.files["/tiny.txt.gz"] = gzip.compress(b"0 1\n2 0\n")
    row = entry.model_copy(update={"address": f"{server.address}/tiny.txt.gz"})
    assert cache.fetch(row).name == "tiny.txt.gz"
    assert cache.fetch(row) == cache.find_cached(row)
    assert len(server.ranges) == 1


def test_offline_uses_the_cache_but_not_the_network(server, entry, monkeypatch):
    cache.fetch(entry)
    monkeypatch.setenv("FIBERSCOPE_OFFLINE", "1")
    assert load("tiny").source == "real"
    cache.find_cached(entry).unlink()
    with pytest.raises(DownloadError, match="FIBERSCOPE_OFFLINE forbids downloads"):
        cache.fetch(entry)
    assert len(server.ranges) == 1


def test_a_failed_download_is_named_in_the_notice(server, entry):
    del server.files["/tiny.tar.gz"]
    found = load("tiny")
    assert found.source == "surrogate"
    assert "the server answers 404" in found.notice
    with pytest.raises(WorkloadError, match=r"tiny: the exact matrix is not available \(.*404"):
        load("tiny", exact=True)


def test_a_cache_that_cannot_be_written(server, entry, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FIBERSCOPE_CACHE", str(tmp_path / "file"))
    with pytest.raises(DownloadError, match=r"tiny: the cache .* cannot be used \("):
        cache.fetch(entry)


def test_a_cache_or_data_folder_that_cannot_be_looked_into(tmp_path, monkeypatch):
    """Root may look anywhere, so the system's refusal is played."""
    is_file = Path.is_file

    def refused(path):
        if "locked" in path.parts:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return is_file(path)

    (tmp_path / "locked").mkdir()
    monkeypatch.setattr(Path, "is_file", refused)
    monkeypatch.setenv("FIBERSCOPE_CACHE", str(tmp_path / "locked"))
    monkeypatch.setenv("FIBERSCOPE_DATA", "")
    monkeypatch.setenv("FIBERSCOPE_OFFLINE", "1")
    entry = registry.lookup("LFAT5")
    with pytest.raises(
        DownloadError, match=r"LFAT5: the cache .*locked cannot be used \(Permission denied\)"
    ):
        cache.fetch(entry)
    assert load("LFAT5").source == "surrogate"
    monkeypatch.setenv("FIBERSCOPE_DATA", str(tmp_path / "locked"))
    with pytest.raises(WorkloadError, match=r"locked: this folder of FIBERSCOPE_DATA cannot be read"):
        load("LFAT5")


def test_a_folder_of_the_data_path_that_is_not_there_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("FIBERSCOPE_DATA", f"{tmp_path}:{tmp_path / 'dta'}")
    with pytest.raises(
        WorkloadError, match=f"^FIBERSCOPE_DATA: {tmp_path / 'dta'}: there is no such folder$"
    ):
        load("wiki-Vote")
