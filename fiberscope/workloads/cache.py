"""Search path of files: the data path, the matrices that ship with Fiberscope, and the download cache.

``FIBERSCOPE_DATA``: folders, separated as in PATH. ``FIBERSCOPE_CACHE``: the cache; by default in the user's
cache folder. ``FIBERSCOPE_OFFLINE=1``: no downloads. The cache has a folder for each name with the file, its
sha256, and the sha256 of the download, which later downloads must match. A checksum in the registry takes
precedence over the sha256 of an earlier download.
"""

from __future__ import annotations

import gzip
import os
import shutil
import tarfile
import zlib
from pathlib import Path

from fiberscope.workloads.decompression_limit import check_unpacked
from fiberscope.workloads.download import DownloadError, Progress, download, file_digest
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.registry import Entry
from fiberscope.workloads.suffixes import SUFFIXES

SHIPPED = Path(__file__).with_name("matrices")
LOCK_SECONDS = 3600  # timeout while another process downloads the same matrix
_ARCHIVES = (".tar.gz", ".tgz")


def list_data_folders() -> list[Path]:
    """Return the folders of ``FIBERSCOPE_DATA``, in order.

    Raises:
        WorkloadError: a folder does not exist.
    """
    folders = [Path(text) for text in os.environ.get("FIBERSCOPE_DATA", "").split(os.pathsep) if text]
    for folder in folders:
        if not folder.is_dir():
            raise WorkloadError("there is no such folder", location=f"FIBERSCOPE_DATA: {folder}")
    return folders


def cache_folder() -> Path:
    """Return ``FIBERSCOPE_CACHE``, or ``fiberscope`` in the user's cache folder; it may not exist."""
    folder = os.environ.get("FIBERSCOPE_CACHE")
    if folder:
        return Path(folder)
    import platformdirs  # noqa: PLC0415  (most runs use no cache)

    return Path(platformdirs.user_cache_dir("fiberscope"))


def offline() -> bool:
    """Return whether ``FIBERSCOPE_OFFLINE`` forbids downloads (set, and not 0)."""
    return os.environ.get("FIBERSCOPE_OFFLINE", "0") not in ("", "0")


def find(name: str) -> Path | None:
    """Return the first file of the data path with the name ``name`` plus a known suffix; None if none exists.

    Raises:
        WorkloadError: a folder does not exist, or cannot be read.
    """
    # by folder first: an earlier folder has priority with any suffix
    candidates = (folder / (name + suffix) for folder in list_data_folders() for suffix in SUFFIXES)
    try:
        return next((path for path in candidates if path.is_file()), None)
    except OSError as error:
        fault = f"this folder of FIBERSCOPE_DATA cannot be read ({error.strerror or error})"
        raise WorkloadError(fault, location=str(Path(error.filename or name).parent)) from error


def on_data_path(entry: Entry) -> Path | None:
    """Return the first file on the data path with the name or an alias of an entry; None without a file.

    Raises:
        WorkloadError: see ``find``.
    """
    files = (find(name) for name in (entry.name, *entry.aliases))
    return next(filter(None, files), None)


def find_shipped_file(entry: Entry) -> Path | None:
    """Return the file of an entry that ships with Fiberscope; None if there is no such file."""
    file = SHIPPED / f"{entry.name}.mtx.gz"
    return file if file.is_file() else None


def is_downloaded(entry: Entry) -> bool:
    """Return whether the cache has a download of the entry, without a check of its content."""
    file = _build_cached_path(entry)
    return file.is_file() and _find_checksum_file(file).is_file()


def find_location(entry: Entry) -> str:
    """Return the location of a registered matrix: ``file`` (data path), ``ships``, ``fetched``, or empty."""
    if on_data_path(entry) is not None:
        return "file"
    if find_shipped_file(entry) is not None:
        return "ships"
    return "fetched" if is_downloaded(entry) else ""


def find_cached(entry: Entry) -> Path | None:
    """Return the entry's file in the cache; None if it is missing or differs from the recorded sha256."""
    file = _build_cached_path(entry)
    if not is_downloaded(entry) or _find_checksum_file(file).read_text().strip() != file_digest(file):
        return None
    return file


def fetch(entry: Entry, progress: Progress | None = None) -> Path:
    """Return the entry's file in the cache; download a missing or damaged file, one process at a time.

    Raises:
        DownloadError: no address, offline, a damaged archive, a cache that cannot be written, or see
            ``fiberscope.workloads.download.download``.
        WorkloadError: the archive exceeds the limit of ``decompression_limit``.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415  (few runs download)

    if entry.address is None:
        raise DownloadError("no download address is known", location=entry.name)
    file = _build_cached_path(entry)
    try:
        if (cached_path := find_cached(entry)) is not None:
            return cached_path
        if offline():
            raise DownloadError("FIBERSCOPE_OFFLINE forbids downloads", location=entry.name)
        file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(file.parent / ".lock", timeout=LOCK_SECONDS):
            # another process may have downloaded the file while this process waited for the lock
            return find_cached(entry) or _download_into_cache(entry, entry.address, file, progress)
    except Timeout as error:  # a subclass of OSError, hence first
        raise DownloadError(
            "another process has been downloading it for an hour", location=entry.name
        ) from error
    except OSError as error:
        fault = f"the cache {cache_folder()} cannot be used ({error.strerror or error})"
        raise DownloadError(fault, location=entry.name) from error


def _build_cached_path(entry: Entry) -> Path:
    file_name = (entry.address or entry.name).rsplit("/", 1)[-1]
    # an archive has the matrix as NAME.mtx, the only member that is kept
    name = f"{entry.name}.mtx" if file_name.endswith(_ARCHIVES) else file_name
    return cache_folder() / entry.name / name


def _find_checksum_file(file: Path) -> Path:
    return file.with_name(file.name + ".sha256")


def _download_into_cache(entry: Entry, address: str, file: Path, progress: Progress | None) -> Path:
    """Download and unpack the file of an entry; record the sha256 of the download and of the file."""
    archive = file.with_name(address.rsplit("/", 1)[-1])
    record = archive.with_name(archive.name + ".download-sha256")
    # without a checksum in the registry, later downloads must equal the first
    checksum = entry.checksum or (record.read_text().strip() if record.is_file() else None)
    digest = download(address, archive, checksum, progress)
    if archive != file:
        _unpack(archive, file)
    # The checksum of the file is last: until it is written, ``is_downloaded`` is false.
    record.write_text(digest + "\n")
    _find_checksum_file(file).write_text(file_digest(file) + "\n")
    return file


def _unpack(archive: Path, file: Path) -> None:
    """Copy the member with the name of ``file`` out of a .tar.gz, and remove the archive, damaged or not.

    Paths of members are never used as paths of files.
    """
    partial_file = file.with_name(file.name + ".unpacking")
    try:
        with tarfile.open(archive, "r:gz") as members:
            for member in members:
                if member.isfile() and member.name.rsplit("/", 1)[-1] == file.name:
                    check_unpacked(member.size, archive.stat().st_size, archive.name)
                    _copy_member(members, member, partial_file)
                    # renamed when complete: an interruption leaves no part of a file under the final name
                    os.replace(partial_file, file)
                    return
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DownloadError(f"the archive is damaged ({error})", location=archive.name) from error
    finally:
        archive.unlink(missing_ok=True)
        partial_file.unlink(missing_ok=True)
    raise DownloadError(f"the archive holds no {file.name}", location=archive.name)


def _copy_member(members: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    source = members.extractfile(member)
    if source is None:
        raise DownloadError(f"the member {member.name} cannot be read", location=target.name)
    with source, target.open("wb") as out:
        shutil.copyfileobj(source, out)
