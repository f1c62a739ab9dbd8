"""Archive of a study: a ZIP file with a store, the digests of its sources and the environment."""

from __future__ import annotations

import hashlib
import io
import platform
import re
import subprocess
import sysconfig
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Final, Literal

from pydantic import ConfigDict, Field

from fiberscope.base.errors import InputError
from fiberscope.base.version import __version__
from fiberscope.results.report.files import make_folder, write_bytes
from fiberscope.results.report.schema import Document
from fiberscope.results.store.columns import DONE
from fiberscope.results.store.store import Store
from fiberscope.results.store_layout import OPERANDS

SCHEMA: Final = "fiberscope-archive-1"
INDEX, STORE = "archive.json", "store/"  # names in an archive
MEMBER: Final = re.compile(
    r"store/(runs-\d{6}\.parquet|_arrived/([0-9a-f]{64}\.json\.gz|stale_sources\.json)"
    rf"|{OPERANDS}/[0-9a-f]+/[^/\\]+\.npz)"
)
MAX_EXPANSION = 200  # size of a member over its compressed size; rows are already compressed
DATE = (1980, 1, 1, 0, 0, 0)  # of all members, for deterministic archives
COMPILER_SECONDS = 10.0  # time limit of the compiler's version


class StudyArchive(Document):
    """Index of an archive.

    Args:
        version: the version of Fiberscope.
        store: the name of the store.
        runs, failed: the number of finished runs and of all other runs, including refused runs.
        environment: versions of Python, the installed dependencies of Fiberscope, the compiler and the
            system, where the archive was written. The runs may have other environments, which their reports
            have.
        sources: for the sources of finished runs, by their digest: ``modules`` (the first digits of the
            digest of each module), ``commit``, ``changed`` and ``build``, as in ``report.parts.Source`` and
            ``Environment``.
        files: the SHA-256 digests of the files of the store, by name in the archive.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    called = "archive"
    indentation = 2

    schema_name: Literal["fiberscope-archive-1"] = Field(
        default=SCHEMA, validation_alias="schema", serialization_alias="schema"
    )
    version: str
    store: str
    runs: int
    failed: int
    environment: dict[str, str]
    sources: dict[str, dict[str, dict[str, str] | str | bool | None]]
    files: dict[str, str]


def write_archive(store: Store, path: Path) -> tuple[StudyArchive, str]:
    """Write a store as an archive; equal stores and environments give equal bytes.

    Args:
        store: the store.
        path: the ZIP file to write.

    Returns:
        The index of the archive, and the SHA-256 digest of the file.

    Raises:
        InputError: the store has no runs or is damaged, a report cannot be read, or the file cannot be
            written.
    """
    files = {f"{STORE}{name}": content for name, content in store.contents().items()}
    counts = store.table("SELECT status, count(*) AS runs FROM runs GROUP BY status").to_pylist()
    runs = {row["status"]: row["runs"] for row in counts}
    if not runs:
        raise InputError(f"{store.address}: has no runs to archive")
    index = StudyArchive(
        version=__version__,
        store=store.name,
        runs=runs.get(DONE, 0),
        failed=sum(runs.values()) - runs.get(DONE, 0),
        environment=_describe_environment(),
        sources=_list_sources(store),
        files={name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())},
    )
    content = _build_zip({INDEX: index.to_json().encode(), **dict(sorted(files.items()))})
    write_bytes(path, content)
    return index, hashlib.sha256(content).hexdigest()


def _build_zip(files: Mapping[str, bytes]) -> bytes:
    """Return a ZIP file whose bytes do not depend on the time, with the files in their order."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in files.items():
            member = zipfile.ZipInfo(name, DATE)
            member.external_attr = 0o644 << 16  # the permissions of Unix are in the upper half
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, content)
    return target.getvalue()


def _describe_environment() -> dict[str, str]:
    """Return the versions of Python, the dependencies, the system and the compiler."""
    names = {re.split(r"[^\w.-]", text)[0] for text in metadata.requires("fiberscope") or []}
    versions = {"python": f"{platform.python_version()} ({platform.python_implementation()})"}
    versions |= {"system": f"{platform.system()} {platform.machine()}", "compiler": _read_compiler_version()}
    for name in sorted(names):
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


def _read_compiler_version() -> str:
    """Return the first line of the C compiler's version; without a compiler, the compiler of Python."""
    command = (sysconfig.get_config_var("CC") or "cc").split()
    with suppress(OSError, subprocess.SubprocessError):
        process = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, timeout=COMPILER_SECONDS, check=True
        )
        return process.stdout.partition("\n")[0].strip()
    return platform.python_compiler()


def _list_sources(store: Store) -> dict[str, dict[str, dict[str, str] | str | bool | None]]:
    """Return the modules, the commit and the build of each set of sources, from a report of its runs.

    Runs of releases whose reports have no sources are left out.
    """
    # one run stands for all of its sources; the smallest digest, so that equal stores give equal archives
    query = f"SELECT min(digest) AS digest FROM runs WHERE status = '{DONE}' GROUP BY source"
    reports = store.reports([row["digest"] for row in store.table(query).to_pylist()])
    return {
        report.source.digest: {
            "modules": report.source.modules,
            "commit": report.source.commit,
            "changed": report.source.changed,
            "build": report.environment.build if report.environment else None,
        }
        for report in reports.values()
        if report.source
    }


def extract_archive(path: Path, folder: Path) -> tuple[StudyArchive, Store]:
    """Check an archive and extract its store into a folder.

    Nothing is extracted unless every member is a file of a store and matches its digest in the index. The
    archive is read into memory.

    Args:
        path: the ZIP file.
        folder: the folder to extract to, which is created if it is missing. Files of the same name are
            overwritten, and other files stay: use an empty folder.

    Returns:
        The index of the archive, and the extracted store.

    Raises:
        InputError: the file cannot be read, is no archive, is damaged, or has other members; or a file cannot
            be written.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            index, files = _read_members(archive, path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        if isinstance(error, InputError):  # which is a ValueError
            raise
        raise InputError(f"{path}: is no archive of a study, or is damaged: {error}") from error
    make_folder(folder / "_arrived")  # a folder is a store only with this folder, even if it is empty
    for name, content in files.items():
        target = folder / name.removeprefix(STORE)
        make_folder(target.parent)
        write_bytes(target, content)
    return index, Store(folder)


def _read_members(archive: zipfile.ZipFile, path: Path) -> tuple[StudyArchive, dict[str, bytes]]:
    """Return the index and the files of an archive.

    Raises:
        InputError: a member is unknown, missing, there twice, compressed too much (a ZIP bomb), or does not
            match its digest.
    """
    # All members are checked before any is decompressed; zipfile yields no more bytes than ``file_size``.
    names = [member.filename for member in archive.infolist()]
    if INDEX not in names:
        raise InputError(f"{path}: is no archive of a study: it has no {INDEX}; results --archive writes one")
    for member in archive.infolist():
        if not (member.filename == INDEX or MEMBER.fullmatch(member.filename)):
            raise InputError(f"{path}: holds {member.filename!r}, which is no file of a store")
        if names.count(member.filename) > 1:
            raise InputError(f"{path}: holds {member.filename} twice")
        if member.file_size > MAX_EXPANSION * max(member.compress_size, 1):
            raise InputError(f"{path}: {member.filename} is compressed more than a file of a store can be")
    index = StudyArchive.parse(archive.read(INDEX), f"{path}: {INDEX}")
    files = {name: archive.read(name) for name in names if name != INDEX}
    for name in sorted({*index.files, *files}):
        digest = hashlib.sha256(files[name]).hexdigest() if name in files else None
        if digest != index.files.get(name):
            reason = "is missing" if digest is None else "is not what the index says"
            raise InputError(f"{path}: {name} {reason}; the archive is damaged")
    return index, files


def format_appendix_line(index: StudyArchive, name: str, digest: str) -> str:
    """Return a sentence on an archive for the artifact appendix of a paper.

    Args:
        index: the index of the archive. The sentence has the commit if all known commits are the same.
        name, digest: the name and the SHA-256 digest of the file.
    """
    commits = {str(entry["commit"])[:12] for entry in index.sources.values() if entry.get("commit")}
    commit = f", commit {commits.pop()}" if len(commits) == 1 else ""
    return (
        f"The archive {name} (SHA-256 {digest}) holds {count_runs(index.runs)} of Fiberscope "
        f"{index.version}{commit}; `fiberscope rerun {name}` repeats all and compares every number."
    )


def count_runs(count: int) -> str:
    """Return a number of runs in words."""
    return f"{count:,} {'run' if count == 1 else 'runs'}"
