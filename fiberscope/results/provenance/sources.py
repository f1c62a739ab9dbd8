"""Sources that a result depends on: modules and all their imports, except libraries.

Imports are followed through the texts of files. The set of sources therefore does not depend on what else the
process has imported. Contents are those on disk, or the contents that the process has loaded (see
``sources``).
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.machinery import EXTENSION_SUFFIXES
from types import ModuleType
from typing import NamedTuple
from weakref import WeakKeyDictionary

from fiberscope.compiler.modules import WRITTEN
from fiberscope.results.provenance.imports import Import, ParsedNames, parse_names
from fiberscope.sim import import_mode

OWN_PACKAGE = __name__.partition(".")[0]
VERSION, REPORTS = f"{OWN_PACKAGE}.base.version", f"{OWN_PACKAGE}.results.report"  # do not influence results
PACKAGE_FILE = "__init__.py"
_LIBRARIES = {"site-packages", "dist-packages"}
_STANDARD = sysconfig.get_path("stdlib") + os.sep


@dataclass(frozen=True)
class Sources:
    """The files that a result depends on.

    Args:
        modules: digests of the contents by import name; a data file has the name of its package and its own.
            Different files of the same name, in folders that are no packages, have one digest together.
        files: the absolute paths, in the order in which they were found.
    """

    modules: Mapping[str, str]
    files: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Return the digest of all names and contents; it does not depend on the location of the files."""
        return _digest(f"{name} {digest}" for name, digest in sorted(self.modules.items()))


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def sources(roots: Iterable[str], files: Iterable[str] = (), *, now: bool = False) -> Sources:
    """Return the sources of modules and files, with all their imports.

    Libraries are excluded, and so are Fiberscope's modules that only present results.

    Args:
        roots: names of modules.
        files: paths of further files, which may be data.
        now: True for the files on disk, as a new process would load them. False for the files as this process
            loaded them: a loaded module counts in the version that the first call found on disk, even if its
            file changes later. Files of modules that are not loaded are read anew.

    Returns:
        The sources; roots that do not exist, built-in modules and missing files are left out.
    """
    names = sorted(roots)
    walk = _Walk({name.partition(".")[0] for name in names}, now)
    for name in names:
        walk.follow(Import(name))
    for file in files:
        walk.add(os.path.abspath(file))
    return walk.sources()


class _File(NamedTuple):
    """SHA-256 digest of the executed content of a file, and the names in its source."""

    digest: str
    parsed: ParsedNames


# The files of loaded modules, as the first walk in this process found them.
_loaded_files: WeakKeyDictionary[ModuleType, _File] = WeakKeyDictionary()


class _Walk:
    """A walk from file to file along imports, which collects the visited files.

    Args:
        packages: names of the packages that count although they may be installed as libraries.
        now: as of ``sources``.
    """

    def __init__(self, packages: set[str], now: bool) -> None:
        self._packages, self._reads_from_disk = packages | {OWN_PACKAGE}, now
        self._files: dict[str, _File] = {}
        self._list_folder, self._find_home, self._import_name = (
            cache(_list_folder),
            cache(_find_home),
            cache(_import_name),
        )
        self._is_foreign = cache(self._is_library)
        self._followed: set[tuple[Import, str]] = set()

    def sources(self) -> Sources:
        """Return the files of all modules that were visited."""
        digests: dict[str, set[str]] = {}
        for path, file in self._files.items():
            digests.setdefault(self._import_name(path), set()).add(file.digest)
        # files of one name in different folders that are no packages share an entry
        modules = {name: min(own) if len(own) == 1 else _digest(sorted(own)) for name, own in digests.items()}
        return Sources(modules, tuple(self._files))

    def add(self, path: str) -> None:
        """Add a file, its imports, its file of C types, and the data files that it names.

        A file of a library is not added, nor one that only presents results or is generated. Data files are
        looked for in the folder of the file.
        """
        is_known = path in self._files or self._is_foreign(path) or _is_presentation(self._import_name(path))
        if is_known or not os.path.isfile(path) or _is_generated(path):
            return
        folder, name = os.path.split(path)
        file = self._files[path] = self._read(path)  # stored before its imports, which can lead back to it
        for import_ in file.parsed.imports:
            self.follow(import_, folder)
        for neighbour in self._list_folder(folder) & {f"{_strip_suffix(name)}.pxd", *file.parsed.data}:
            self.add(os.path.join(folder, neighbour))

    def follow(self, import_: Import, folder: str = "") -> None:
        """Add the modules of an import in a file of ``folder``, and the packages of these modules."""
        # Only a relative import means another module in another folder.
        key = import_, folder if import_.module.startswith(".") else ""
        if key in self._followed:  # imports can form cycles
            return
        self._followed.add(key)
        package, *parts = self._enter_first_package(import_.module, folder)
        for part in parts:
            package = self._add_submodule(package, part)
        # an imported name can be a submodule, or come from an import that the package makes on demand
        for name in import_.names if package else ():
            if not self._add_submodule(package, name):
                self._follow_lazy_import(package, name)

    def _enter_first_package(self, module: str, folder: str) -> list[str]:
        """Add the first package of an import; return its folder and the remaining names."""
        bare = module.lstrip(".")
        if bare != module:  # one dot is the folder itself, and each further dot the folder around it
            ancestor = os.path.normpath(os.path.join(folder, *[".."] * (len(module) - len(bare) - 1)))
            return [self._enter_package(ancestor), *filter(None, bare.split("."))]
        top, *parts = bare.split(".")
        return [self._enter_package(self._find_home(top)), *parts]

    def _enter_package(self, location: str) -> str:
        """Add a package or module; return the folder of a package, else an empty text."""
        if not location or self._is_foreign(location):
            return ""
        if location.endswith(".py"):
            self.add(location)
            return ""
        if PACKAGE_FILE in self._list_folder(location):
            self.add(os.path.join(location, PACKAGE_FILE))
        return location

    def _add_submodule(self, folder: str, name: str) -> str:
        """Add a package or module in a folder; return the folder of a package, else an empty text."""
        entries = self._list_folder(folder) if folder else ()
        if name in entries:
            return self._enter_package(os.path.join(folder, name))
        return self._enter_package(os.path.join(folder, f"{name}.py")) if f"{name}.py" in entries else ""

    def _follow_lazy_import(self, folder: str, name: str) -> None:
        """Follow the import that a package with lazy imports lists for a name."""
        package = self._files.get(os.path.join(folder, PACKAGE_FILE))
        for import_ in package.parsed.for_types if package else ():
            if name in import_.names:
                self.follow(Import(import_.module, (name,)), folder)

    def _is_library(self, path: str) -> bool:
        """Return whether a file or folder belongs to a library."""
        library = path.startswith(_STANDARD) or not _LIBRARIES.isdisjoint(path.split(os.sep))
        return library and self._import_name(path).partition(".")[0] not in self._packages

    def _read(self, path: str) -> _File:
        """Return a file as this process loaded it, or from disk if it is not loaded or disk is asked for."""
        module = None if self._reads_from_disk else sys.modules.get(self._import_name(path))
        if module is None or not _is_source_of(module, path):
            return _read_file(path)
        if module not in _loaded_files:
            _loaded_files[module] = _read_file(path)
        return _loaded_files[module]


def _is_presentation(name: str) -> bool:
    """Return whether a module is the package's root, its version, or part of ``results.report``.

    These modules only present results.
    """
    return name in (OWN_PACKAGE, VERSION) or f"{name}.".startswith(f"{REPORTS}.")


def _is_generated(path: str) -> bool:
    """Return whether a file of C types is generated from the Python file of the same name."""
    if not path.endswith(".pxd"):
        return False
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.readline().startswith(WRITTEN)


def _list_folder(folder: str) -> set[str]:
    try:
        return set(os.listdir(folder))
    except OSError:
        return set()


def _find_home(top: str) -> str:
    """Return the file of a module or the folder of a package; empty for a built-in or missing module."""
    if top in sys.stdlib_module_names:
        return ""
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):  # a script has no spec
        return str(getattr(sys.modules.get(top), "__file__", None) or "")
    if spec is None:
        return ""
    return os.path.abspath(next(iter(spec.submodule_search_locations or ()), spec.origin or ""))


def _import_name(path: str) -> str:
    """Return the import name of a file; a data file has the name of its package and its own name."""
    folder, name = os.path.split(path)
    package = _find_package(folder)
    return package if name == PACKAGE_FILE else ".".join(filter(None, (package, name.removesuffix(".py"))))


@lru_cache(maxsize=1024)
def _find_package(folder: str) -> str:
    """Return the name of the package in a folder; empty if the folder is no package."""
    if not os.path.isfile(os.path.join(folder, PACKAGE_FILE)):
        return ""
    parent, name = os.path.split(folder)
    return ".".join(filter(None, (_find_package(parent), name)))


def _strip_suffix(name: str) -> str:
    return os.path.basename(name).partition(".")[0]


def _is_source_of(module: ModuleType, path: str) -> bool:
    """Return whether a file is the source of a module, compiled or not."""
    file = os.path.abspath(getattr(module, "__file__", None) or "")
    return os.path.dirname(file) == os.path.dirname(path) and _strip_suffix(file) == _strip_suffix(path)


def _read_file(path: str) -> _File:
    """Read a file in its current state."""
    return _digest_file(path, modification_time(path), _find_executed_file(path))


@lru_cache(maxsize=4096)
def _digest_file(path: str, _modified: int, content_path: str) -> _File:
    """Return the digest of the executed file, with the names in its source.

    Args:
        path: the source.
        _modified: its modification time, so that the cache does not return an earlier version.
        content_path: the result of ``_find_executed_file``.
    """
    with open(path, "rb") as file:
        content = file.read()
    if content_path != path:
        with open(content_path, "rb") as file:
            return _File(
                hashlib.sha256(file.read()).hexdigest(), parse_names(content.decode(errors="replace"))
            )
    text = content.decode(errors="replace") if path.endswith((".py", ".pxd")) else ""
    return _File(hashlib.sha256(content).hexdigest(), parse_names(text))


def modification_time(path: str) -> int:
    """Return the modification time of a file in nanoseconds; 0 without a file."""
    return os.stat(path).st_mtime_ns if os.path.isfile(path) else 0


def _find_executed_file(path: str) -> str:
    """Return the file that determines the executed code.

    Usually this is the source, also if a compiled module that is newer is executed in its place. If a
    compiled module is older than its source, the compiled module is executed and returned. Times of files in
    libraries are those of their installation and are ignored.
    """
    compiled = f"{path.removesuffix('.py')}{EXTENSION_SUFFIXES[0]}"
    if import_mode.uncompiled_requested() or not path.endswith(".py") or not os.path.isfile(compiled):
        return path
    typed = f"{path.removesuffix('.py')}.pxd"
    changed = max(modification_time(path), modification_time(typed))
    return (
        compiled
        if modification_time(compiled) < changed and _LIBRARIES.isdisjoint(path.split(os.sep))
        else path
    )
