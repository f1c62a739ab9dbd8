"""The cache of compiled parts and machines of users, which ``fiberscope build`` fills.

A compiled module replaces its Python file as long as the file, the files that were compiled with it, and the
compiled engine do not change. For each file, a *note* in JSON records its compiled module, the name of the
module, the engine, and the digests of the sources. The notes are trusted: a damaged note is an error.
"""

from __future__ import annotations

import hashlib
import importlib.abc
import importlib.util
import json
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from fiberscope.sim import import_mode

SUFFIX = str(sysconfig.get_config_var("EXT_SUFFIX"))


def cache_folder() -> Path:
    """Return the folder of compiled modules in the cache, which may not exist."""
    from fiberscope.workloads.cache import cache_folder  # noqa: PLC0415  (it takes time to load)

    return cache_folder() / "built"


def digest(file: Path) -> str:
    """Return the SHA-256 digest of a file's contents, in hexadecimal."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def engine_id() -> str:
    """Return an identifier of the compiled engine, its path and time; empty if it is not compiled."""
    kernel = Path(import_mode.__file__).with_name(f"kernel{SUFFIX}")
    return f"{kernel} {kernel.stat().st_mtime_ns}" if kernel.is_file() else ""


def note_path(file: Path) -> Path:
    """Return the path of the note of a source file, which may not exist."""
    # With the suffix in the digest, each version of Python has a note of its own.
    return cache_folder() / "files" / f"{hashlib.sha256(f'{file}{SUFFIX}'.encode()).hexdigest()}.json"


def compiled_module(file: Path, name: str) -> Path | None:
    """Return the compiled module of a Python file.

    Args:
        file: path of the Python file.
        name: full name under which the module will be imported. A compiled module has one fixed name.

    Returns:
        The path of the compiled module. None if there is none, if it is out of date or has another name, or
        if the user asked for uncompiled modules.
    """
    path = note_path(file.resolve())
    if import_mode.uncompiled_requested() or not path.is_file():
        return None
    record = json.loads(path.read_text())
    is_same_engine = (record["library"], record["name"]) == (engine_id(), name)
    module = Path(record["module"])
    sources = {Path(source): content for source, content in record["sources"].items()}
    is_fresh = all(source.is_file() and digest(source) == content for source, content in sources.items())
    return module if is_same_engine and is_fresh and module.is_file() else None


class _Loader(ExtensionFileLoader):
    """A loader of a compiled module, whose ``__file__`` is the path of its Python file."""

    def __init__(self, name: str, module: Path, source: Path) -> None:
        super().__init__(name, str(module))
        self.source = source

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Create the module from the compiled file in the cache."""
        # Python opens the file ``origin``, which in ``spec`` is the Python file.
        return super().create_module(ModuleSpec(spec.name, self, origin=self.path))

    def exec_module(self, module: ModuleType) -> None:
        """Run the module with the path of its Python file as ``__file__``."""
        # The user's code may look for files in its own folder while it runs.
        module.__file__ = str(self.source)
        super().exec_module(module)


class _Finder(importlib.abc.MetaPathFinder):
    """A finder that finds compiled modules in place of Python files."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the import specification of the compiled form, or None if there is none."""
        # Only the search by path: it ignores this finder, so that there is no recursion.
        source_spec = PathFinder.find_spec(fullname, path, target)
        if source_spec is None or source_spec.origin is None or not source_spec.origin.endswith(".py"):
            return None
        return import_spec(fullname, Path(source_spec.origin))


def import_spec(name: str, source: Path) -> ModuleSpec | None:
    """Return the import specification of the compiled module of a Python file, as of ``compiled_module``."""
    module = compiled_module(source, name)
    if module is None:
        return None
    return importlib.util.spec_from_loader(name, _Loader(name, module, source), origin=str(source))


@contextmanager
def use_compiled() -> Iterator[None]:
    """Import compiled modules in place of Python files while the context is active.

    Modules that are already imported stay as they are.
    """
    cache_folder()  # imports its dependencies before the finder is active
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
