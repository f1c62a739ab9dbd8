"""The sources that something runs by: its files, and by what they import, all that are no library's.

Which these are is told from the files alone: what else a process has imported, and when, changes nothing.
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

__all__ = ["Sources", "modification_time", "sources"]

OURS = __name__.partition(".")[0]
VERSION, REPORTS = f"{OURS}.base.version", f"{OURS}.results.report"  # make no result
PACKAGE = "__init__.py"
_LIBRARIES = {"site-packages", "dist-packages"}
_STANDARD = sysconfig.get_path("stdlib") + os.sep


@dataclass(frozen=True)
class Sources:
    """Files that something runs by.

    Args:
        modules: digests of their contents, by the name that each is imported by.
        files: where they are.
    """

    modules: Mapping[str, str]
    files: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Return the digest of all sources; it does not depend on their location."""
        lines = (f"{name} {digest}\n" for name, digest in sorted(self.modules.items()))
        return hashlib.sha256("".join(lines).encode()).hexdigest()


def sources(roots: Iterable[str], files: Iterable[str] = (), *, now: bool = False) -> Sources:
    """The sources of modules, and of files, with all that these import.

    Args:
        roots: names of modules.
        files: paths of further ones, which may be data.
        now: as the files are, for a process that is yet to be started; else as this one has them, where a
            module that was changed since it was first asked for counts as it was then.
    """
    names = sorted(roots)
    walk = _Walk({name.partition(".")[0] for name in names}, now)
    for name in names:
        walk.follow(Import(name))
    for file in files:
        walk.add(os.path.abspath(file))
    return walk.sources()


class _File(NamedTuple):
    digest: str
    named: ParsedNames


_first_seen: WeakKeyDictionary[ModuleType, _File] = WeakKeyDictionary()  # as what was loaded is taken to be


class _Walk:
    """Goes from file to file by what they import."""

    def __init__(self, own: set[str], now: bool) -> None:
        self._own, self._now = own | {OURS}, now
        self._files: dict[str, _File] = {}
        self._listed, self._home, self._name = cache(_listed), cache(_home), cache(_name)
        self._is_foreign = cache(self._is_of_others)
        self._followed: set[tuple[Import, str]] = set()

    def sources(self) -> Sources:
        """Return the files of all modules that were visited."""
        modules = {self._name(path): file.digest for path, file in self._files.items()}
        return Sources(modules, tuple(self._files))

    def add(self, path: str) -> None:
        """Take a file, and all that it names, unless it is a library's or tells of results alone."""
        is_known = path in self._files or self._is_foreign(path) or _tells(self._name(path))
        if is_known or not os.path.isfile(path) or _is_written(path):
            return
        folder, name = os.path.split(path)
        file = self._files[path] = self._read(path)
        for import_ in file.named.imports:
            self.follow(import_, folder)
        for beside in self._listed(folder) & {f"{_stem(name)}.pxd", *file.named.data}:
            self.add(os.path.join(folder, beside))

    def follow(self, import_: Import, folder: str = "") -> None:
        """Take what a file of this folder imports: modules, and the packages that they are in."""
        asked = import_, folder if import_.module.startswith(".") else ""
        if asked in self._followed:
            return
        self._followed.add(asked)
        at, *parts = self._start(import_.module, folder)
        for part in parts:
            at = self._submodule(at, part)
        for name in import_.names if at else ():
            if not self._submodule(at, name):
                self._at_first_use(at, name)

    def _start(self, module: str, folder: str) -> list[str]:
        """The folder of the first package, which is taken, and the names of what is in it."""
        bare = module.lstrip(".")
        if bare != module:
            up = os.path.normpath(os.path.join(folder, *[".."] * (len(module) - len(bare) - 1)))
            return [self._entered(up), *filter(None, bare.split("."))]
        top, *parts = bare.split(".")
        return [self._entered(self._home(top)), *parts]

    def _entered(self, place: str) -> str:
        """The folder of a package, which is taken as a module is; nothing of that, or of a library."""
        if not place or self._is_foreign(place):
            return ""
        if place.endswith(".py"):
            self.add(place)
            return ""
        if PACKAGE in self._listed(place):
            self.add(os.path.join(place, PACKAGE))
        return place

    def _submodule(self, folder: str, name: str) -> str:
        """A package or a module in a folder, as ``_entered`` has it; nothing where there is none."""
        there = self._listed(folder) if folder else ()
        if name in there:
            return self._entered(os.path.join(folder, name))
        return self._entered(os.path.join(folder, f"{name}.py")) if f"{name}.py" in there else ""

    def _at_first_use(self, folder: str, name: str) -> None:
        """Take the module that a package imports a name from when that is first used."""
        package = self._files.get(os.path.join(folder, PACKAGE))
        for import_ in package.named.for_types if package else ():
            if name in import_.names:
                self.follow(Import(import_.module, (name,)), folder)

    def _is_of_others(self, path: str) -> bool:
        """Return whether a file or a folder is a library's."""
        library = path.startswith(_STANDARD) or not _LIBRARIES.isdisjoint(path.split(os.sep))
        return library and self._name(path).partition(".")[0] not in self._own

    def _read(self, path: str) -> _File:
        module = None if self._now else sys.modules.get(self._name(path))
        if module is None or not _is_of(module, path):
            return _now(path)
        if module not in _first_seen:
            _first_seen[module] = _now(path)
        return _first_seen[module]


def _tells(name: str) -> bool:
    """Return whether a module presents results and computes none: texts, tables, pictures, public names."""
    return name in (OURS, VERSION) or f"{name}.".startswith(f"{REPORTS}.")


def _is_written(path: str) -> bool:
    """Return whether a file of C types follows from the Python file beside it."""
    if not path.endswith(".pxd"):
        return False
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.readline().startswith(WRITTEN)


def _listed(folder: str) -> set[str]:
    try:
        return set(os.listdir(folder))
    except OSError:
        return set()


def _home(top: str) -> str:
    """The file of a module, or the folder of a package; nothing of what is built in or not there."""
    if top in sys.stdlib_module_names:
        return ""
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):  # a script has none
        return str(getattr(sys.modules.get(top), "__file__", None) or "")
    if spec is None:
        return ""
    return os.path.abspath(next(iter(spec.submodule_search_locations or ()), spec.origin or ""))


def _name(path: str) -> str:
    """Return the name by which a file is imported; data has its own name behind that of its package."""
    folder, name = os.path.split(path)
    package = _package(folder)
    return package if name == PACKAGE else ".".join(filter(None, (package, name.removesuffix(".py"))))


@lru_cache(maxsize=1024)
def _package(folder: str) -> str:
    """The name of the package that a folder is; nothing of another."""
    if not os.path.isfile(os.path.join(folder, PACKAGE)):
        return ""
    parent, name = os.path.split(folder)
    return ".".join(filter(None, (_package(parent), name)))


def _stem(name: str) -> str:
    return os.path.basename(name).partition(".")[0]


def _is_of(module: ModuleType, path: str) -> bool:
    """Return whether this file is a module's source, compiled or not."""
    file = os.path.abspath(getattr(module, "__file__", None) or "")
    return os.path.dirname(file) == os.path.dirname(path) and _stem(file) == _stem(path)


def _now(path: str) -> _File:
    """A file as it is."""
    return _file(path, modification_time(path), _counted(path))


@lru_cache(maxsize=4096)
def _file(path: str, _stamp: int, counted: str) -> _File:
    with open(path, "rb") as file:
        content = file.read()
    if counted != path:
        with open(counted, "rb") as file:
            return _File(
                hashlib.sha256(file.read()).hexdigest(), parse_names(content.decode(errors="replace"))
            )
    text = content.decode(errors="replace") if path.endswith((".py", ".pxd")) else ""
    return _File(hashlib.sha256(content).hexdigest(), parse_names(text))


def modification_time(path: str) -> int:
    """When a file was changed, in nanoseconds; 0 where there is none."""
    return os.stat(path).st_mtime_ns if os.path.isfile(path) else 0


def _counted(path: str) -> str:
    """The file that says what is run: a module that has not been compiled again since its source was changed
    counts itself. In libraries nobody changes sources, and files have the times of their installation."""
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
