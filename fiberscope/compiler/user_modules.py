"""Compilation of users' modules into the cache, keyed by their sources and the version of Fiberscope."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from fiberscope.accelerators.module_cache import SUFFIX, cache_folder, digest, engine_id, note_path
from fiberscope.accelerators.user_machines import file_of, package_name
from fiberscope.base.errors import InputError
from fiberscope.base.version import __version__
from fiberscope.compiler.compiler import find_missing_tool
from fiberscope.compiler.files import list_compiled_modules
from fiberscope.compiler.module_dependencies import find_compiled_imports
from fiberscope.compiler.modules import Module, Modules, UnsupportedError
from fiberscope.compiler.pxd_text import generate_pxd
from fiberscope.sim.partial_files import replace_when_complete

_LIBRARY = Path(__file__).parents[2]  # folder of the package fiberscope
# An error message of Cython with its position.
_CYTHON_ERROR = re.compile(
    r"^(\S+\.(?:py|pxd)):(\d+):\d+: (?!.*(?:warning|performance hint))(.*)$", re.MULTILINE
)


@dataclass(frozen=True)
class _Sources:
    """Source files of a user, with their import names.

    Args:
        root: folder of the files.
        package: name of the package that the folder itself is, for a machine; else empty.
    """

    root: Path
    files: Sequence[Path]
    package: str = ""

    @cached_property
    def modules(self) -> Modules:
        """Return a finder of these modules and of the modules of Fiberscope."""
        packages = {self.package: self.root} if self.package else {}
        return Modules([self.root, _LIBRARY], self.files, packages)

    def relative_path(self, file: Path) -> Path:
        """Return a file's path relative to the folder of packages."""
        return self.package / file.relative_to(self.root)

    def name(self, file: Path) -> str:
        """Return the import name of a file."""
        return ".".join(self.relative_path(file).with_suffix("").parts)

    def c_types_by_file(self) -> dict[Path, str]:
        """Return the C types of compiled files, by file."""
        compiled = list_compiled_modules(self.modules, map(self.name, self.files))
        return {module.path: _generate_c_types(self.modules, module) for module in compiled}


def declarations(path: Path) -> dict[Path, str]:
    """Return the C types of the modules of a machine, a file or a folder, by file.

    Raises:
        InputError: there are no modules, or a construct has no C type.
    """
    with _as_input_error():
        return _list_sources(path).c_types_by_file()


@contextmanager
def _as_input_error() -> Iterator[None]:
    try:
        yield
    except UnsupportedError as error:
        raise InputError(str(error)) from error


def _generate_c_types(modules: Modules, module: Module) -> str:
    return module.pxd.read_text() if module.has_handwritten_pxd else generate_pxd(modules, module)


def _list_sources(path: Path) -> _Sources:
    """Return a machine's file, or a file of parts, with its local imports; or all files of a folder."""
    path = file_of(path.resolve())
    if path.is_file() and path.suffix == ".py":
        machine = "ACCELERATOR" in Module(path.stem, path).assignments
        package = package_name(path.parent) if machine else ""
        sources = _Sources(path.parent if machine else _find_root(path.parent), [path], package)
        return replace(sources, files=_add_imports(sources))
    files = sorted(path.rglob("*.py"))
    if not files:
        wrong = (
            "there are no Python files in it" if path.is_dir() else "there is no such Python file or folder"
        )
        raise InputError(f"{path}: {wrong}")
    return _Sources(_find_root(path), [file for file in files if file.name != "__init__.py"])


def _find_root(folder: Path) -> Path:
    """Return the parent folder of the outermost package that contains a folder."""
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def _add_imports(sources: _Sources) -> list[Path]:
    """Return a file and its local imports, transitively."""
    collected_files = list(sources.files)
    for file in collected_files:
        module = sources.modules.find(sources.name(file))
        names = {name for name, _ in module.imports.values()} if module else set()
        imported_modules = (sources.modules.find(name) for name in sorted(names))
        neighbours = [
            imported_module.path
            for imported_module in imported_modules
            if imported_module and imported_module.path.parent == file.parent
        ]
        collected_files += [
            imported_module for imported_module in neighbours if imported_module not in collected_files
        ]
    return collected_files


def build(path: Path) -> list[Path]:
    """Compile the modules of a machine, a file or a folder; return their files.

    Raises:
        InputError: a compiler or header is missing, or a source has a fault.
    """
    if fault := _find_missing_requirement():
        raise InputError(fault)
    with _as_input_error():
        sources = _list_sources(path)
        c_types = sources.c_types_by_file()
    folder = _build_cache_path(sources, c_types)
    if not all(_build_extension_path(folder, sources, file).is_file() for file in c_types):
        _compile(folder, sources, c_types)
    digests = {str(file): digest(file) for file in c_types}
    for file in c_types:
        note_path(file).parent.mkdir(parents=True, exist_ok=True)
        module = {"name": sources.name(file), "module": str(_build_extension_path(folder, sources, file))}
        note = json.dumps({**module, "library": engine_id(), "sources": digests})
        # Another process may read the note at any time
        with replace_when_complete(note_path(file)) as stream:
            stream.write(note.encode())
    return list(c_types)


def _find_missing_requirement() -> str | None:
    for compiler in ("Cython", "setuptools"):
        if importlib.util.find_spec(compiler) is None:
            return f"build needs {compiler}: pip install {compiler}"
    return find_missing_tool()


def _build_cache_path(sources: _Sources, c_types: dict[Path, str]) -> Path:
    """Return the cache folder for these sources, by their content."""
    key_lines = [
        __version__,
        SUFFIX,
        engine_id(),
        *(f"{sources.relative_path(file)} {digest(file)}" for file in sorted(c_types)),
    ]
    return cache_folder() / hashlib.sha256("\n".join([*key_lines, *c_types.values()]).encode()).hexdigest()


def _build_extension_path(folder: Path, sources: _Sources, file: Path) -> Path:
    return folder / sources.relative_path(file).with_suffix(SUFFIX)


def _compile_library_imports(sources: _Sources, c_types: dict[Path, str]) -> None:
    """Import the required modules of Fiberscope, which a checkout then compiles."""
    for module in find_compiled_imports(sources.modules, map(sources.name, c_types)):
        if module.name.startswith("fiberscope."):
            importlib.import_module(module.name)


def _compile(folder: Path, sources: _Sources, c_types: dict[Path, str]) -> None:
    """Compile copies of the sources in a temporary folder, then rename it."""
    _compile_library_imports(sources, c_types)
    partial_folder = folder.with_suffix(".partial")
    shutil.rmtree(partial_folder, ignore_errors=True)
    for file, text in c_types.items():
        copy = partial_folder / sources.relative_path(file)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
        copy.with_suffix(".pxd").write_text(text)
        for package in copy.relative_to(partial_folder).parents[:-1]:
            (partial_folder / package / "__init__.py").touch()
    names = [str(sources.relative_path(file)) for file in c_types]
    command = [
        sys.executable,
        "-m",
        "fiberscope.compiler.compile",
        str(partial_folder),
        str(_LIBRARY),
        *names,
    ]
    result = subprocess.run(command, cwd=_LIBRARY, capture_output=True, text=True, check=False)
    if result.returncode:
        raise InputError(_format_first_error(result.stdout + result.stderr, sources))
    shutil.rmtree(folder, ignore_errors=True)
    partial_folder.rename(folder)


def _format_first_error(output: str, sources: _Sources) -> str:
    """Return the compiler's first error in one line, with its position in the user's file."""
    if match := _CYTHON_ERROR.search(output):
        return f"{sources.root / match[1].removeprefix(f'{sources.package}/')}:{match[2]}: {match[3]}"
    return f"compiling failed: {output.strip().splitlines()[-1] if output.strip() else 'no output'}"
