"""Digest of the sources of a run, and the entry of the report with this digest and the request of the run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from fiberscope.accelerators.machine import Accelerator
from fiberscope.accelerators.user_machines import plain_name
from fiberscope.accelerators.yaml_layer import Entry, read_yaml
from fiberscope.base.version import commit_of
from fiberscope.results.provenance.sources import Sources, modification_time, sources
from fiberscope.results.report.parts import RecordedRequest, Source

GIT_SECONDS = 10.0  # time limit of git


@lru_cache(maxsize=64)
def commit_and_change(files: Sequence[str], *_modified: int) -> tuple[str | None, bool | None]:
    """Return the commit of the first file's repository, and whether a file differs from the commit.

    Links are resolved first. Only files below the folder of that repository are compared; an untracked or
    ignored file differs. Both results are None without a repository or without a commit. The second is None
    if git is missing, fails, or takes longer than ``GIT_SECONDS``.

    Args:
        files: a tuple of at least one path.
        _modified: modification times of the files that a process reads more than once, for the cache.
    """
    real = list(_resolve_links(files))
    root = next((folder for folder in Path(real[0]).parents if (folder / ".git").exists()), None)
    commit = commit_of(root) if root else None
    if root is None or commit is None:
        return None, None
    return commit, _has_changed(root, [file for file in real if file.startswith(f"{root}{os.sep}")])


def _resolve_links(files: Iterable[str]) -> Iterator[str]:
    """Yield paths without links, which git does not follow; the resolution of folders is cached."""
    folder_of = cache(os.path.realpath)
    for file in files:
        folder, name = os.path.split(file)
        path = os.path.join(folder_of(folder), name)
        yield os.path.realpath(path) if os.path.islink(path) else path


def _has_changed(root: Path, files: Sequence[str]) -> bool | None:
    """Return whether a file differs from the commit of its repository; None if git fails."""
    command = ["git", "status", "--porcelain", "--ignored", "--untracked-files=all", "--", *files]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}  # git status does not write the index
    try:
        process = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, timeout=GIT_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return bool(process.stdout)


class Roots(NamedTuple):
    """Roots of the sources of a run.

    Args:
        modules: names of modules.
        files: paths of further files.
        path: the path of the machine's file, which is also in ``files``; None for a machine by name.
    """

    modules: frozenset[str]
    files: tuple[str, ...] = ()
    path: str | None = None

    def sources(self) -> Sources:
        """Return the sources from the files on disk, for a process that has not started."""
        return sources(self.modules, self.files, now=True)

    def loaded(self) -> Sources:
        """Return the sources that this process has loaded."""
        modules = tuple(sys.modules.get(name) for name in sorted(self.modules))
        return _find_loaded_sources(self, modules, tuple(map(modification_time, self.files)))


def machine_modules(accelerator: Accelerator[Any], parts: Iterable[object] = ()) -> frozenset[str]:
    """Return the names of the modules that define a machine.

    Args:
        accelerator: the descriptor, whose classes and functions are searched, also in lists and mappings.
        parts: the user's components.
    """
    return frozenset(module for part in (accelerator, *parts) for module in _iterate_modules(part))


def _iterate_modules(content: object) -> Iterator[str]:
    """Yield the modules of all classes and functions in nested content; other objects are skipped."""
    if isinstance(content, Accelerator):
        content = [getattr(content, field.name) for field in fields(content)]
    if isinstance(content, Mapping):
        content = list(content.values())
    if isinstance(content, list | tuple):
        for item in content:
            yield from _iterate_modules(item)
    elif callable(content):
        yield str(getattr(content, "func", content).__module__)  # of a ``partial``, its function's


def build_source_entry(roots: Roots, request: RecordedRequest) -> Source:
    """Return the entry for the report of a run that is about to begin.

    The digests of modules are shortened to twelve digits; the digest of all sources is complete.

    The commit is that of the repository of the first file. ``roots.files`` come first, so that this is the
    user's machine if there is one.

    Args:
        roots: the modules and files from which the sources are found.
        request: the request of the run, with which the run can be repeated.
    """
    module_digests = roots.loaded()
    files = (*map(os.path.abspath, roots.files), *module_digests.files)
    commit, changed = commit_and_change(files, *map(modification_time, roots.files))
    return Source(
        digest=module_digests.digest,
        modules={name: digest[:12] for name, digest in sorted(module_digests.modules.items())},
        path=roots.path,
        commit=commit,
        changed=changed,
        asked=request,
    )


@lru_cache(maxsize=32)
def _find_loaded_sources(
    roots: Roots, _loaded: tuple[ModuleType | None, ...], _modified: tuple[int, ...]
) -> Sources:
    """Return the sources that this process has loaded; cached until a module or file changes."""
    return sources(roots.modules, roots.files)


def list_given_settings(
    settings: Mapping[str, object] | None, config: str | Path | None = None
) -> dict[str, Any]:
    """Return the settings of a run as plain values, for the recorded request.

    A value of a type that JSON lacks becomes text; the items of lists and mappings stay as they are.

    Args:
        settings: settings by dotted key, which override those of the file.
        config: a YAML file or report; None for no file.

    Raises:
        ConfigurationError: the file cannot be read or is invalid.
    """
    entries = {**(read_yaml(Path(config)) if config is not None else {}), **(settings or {})}
    return {
        key: _to_plain(entry.value if isinstance(entry, Entry) else entry) for key, entry in entries.items()
    }


def _to_plain(value: object) -> object:
    return value if value is None or isinstance(value, bool | int | float | str | list | dict) else str(value)


def find_operand_name(operand: object) -> str | None:
    """Return the name or path of an operand; None for an operand in memory."""
    return str(operand) if isinstance(operand, str | Path) else None


def format_named_parts(parts: Mapping[str, Callable[..., Any]]) -> dict[str, str]:
    """Return replacement blocks in the format of ``--part``; paths are relative to the working directory."""
    return {
        name: f"{_find_module_or_file(make)}:{getattr(make, '__qualname__', type(make).__qualname__)}"
        for name, make in parts.items()
    }


def _find_module_or_file(make: Callable[..., Any]) -> str:
    """Return the module of a user's component, or its path if the component was loaded from a file."""
    module = str(make.__module__)
    file = getattr(sys.modules.get(module), "__file__", None)
    # only a module that was loaded from a file has another name than its plain name
    return os.path.relpath(file) if plain_name(module) != module and file else module
