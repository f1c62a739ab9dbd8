"""Compiles modules of a user's own into the cache, by their sources and the version, where runs find them."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from fiberscope.accelerators.built import SUFFIX, digest, library, note, room
from fiberscope.errors import InputError
from fiberscope.pxd.compiler import lacking
from fiberscope.pxd.declared import declarations as declared
from fiberscope.pxd.files import compiled_modules
from fiberscope.pxd.modules import Module, Modules, UnsupportedError
from fiberscope.pxd.needed import needed
from fiberscope.version import __version__

__all__ = ["build", "declarations"]

_LIBRARY = Path(__file__).parents[1]  # the folder that fiberscope is imported from
# Cython's own word on what it cannot compile, with its place.
_FAULT = re.compile(r"^(\S+\.(?:py|pxd)):(\d+):\d+: (?!.*(?:warning|performance hint))(.*)$", re.MULTILINE)


def declarations(path: Path) -> dict[Path, str]:
    """The C types of the modules of a file or folder, by file.

    Raises:
        InputError: there are none, or what they say has no form in C.
    """
    root, files = _files(path)
    modules = Modules([root, _LIBRARY], files)
    try:
        found = compiled_modules(modules, files, root)
        return {module.path: _typed(modules, module) for module in found}
    except UnsupportedError as error:
        raise InputError(str(error)) from error


def _typed(modules: Modules, module: Module) -> str:
    return module.pxd.read_text() if module.by_hand else declared(modules, module)


def _files(path: Path) -> tuple[Path, list[Path]]:
    """The folder that modules are imported from, and the files: a folder's, or one with those beside it."""
    path = path.resolve()
    if path.is_dir():
        found = sorted(path.rglob("*.py"))
    elif path.is_file() and path.suffix == ".py":
        found = _imported(path)
    else:
        raise InputError(f"{path}: there is no such Python file or folder")
    if not found:
        raise InputError(f"{path}: there are no Python files in it")
    root = path if path.is_dir() else path.parent
    while (root / "__init__.py").is_file():
        root = root.parent
    return root, [file for file in found if file.name != "__init__.py"]


def _imported(path: Path) -> list[Path]:
    """A file and those beside it that it imports, and that these do."""
    found = [path]
    for file in found:
        try:
            names = Modules([path.parent]).named(file.stem)
        except UnsupportedError as error:
            raise InputError(str(error)) from error
        beside = {path.parent / f"{module}.py" for module, _ in names.imported.values()} if names else set()
        found += sorted(other for other in beside if other.is_file() and other not in found)
    return found


def build(path: Path) -> list[Path]:
    """Compile the modules of a file or folder; returns their files.

    Raises:
        InputError: something is missing to compile with, or in the sources.
    """
    if fault := _lacking():
        raise InputError(fault)
    typed = declarations(path)
    root, _ = _files(path)
    made = _room(typed, root)
    if not all(_place(made, root, file).is_file() for file in typed):
        _compile(made, root, typed)
    kept = {str(file): digest(file) for file in typed}
    for file in typed:
        note(file).parent.mkdir(parents=True, exist_ok=True)
        said = {"module": str(_place(made, root, file)), "library": library(), "sources": kept}
        note(file).write_text(json.dumps(said))
    return list(typed)


def _lacking() -> str | None:
    for compiler in ("Cython", "setuptools"):
        if importlib.util.find_spec(compiler) is None:
            return f"build needs {compiler}: pip install {compiler}"
    return lacking()


def _room(typed: dict[Path, str], root: Path) -> Path:
    """The folder in the cache for these sources, by what they hold."""
    parts = [
        __version__,
        SUFFIX,
        library(),
        *(f"{file.relative_to(root)} {digest(file)}" for file in sorted(typed)),
    ]
    return room() / hashlib.sha256("\n".join([*parts, *typed.values()]).encode()).hexdigest()


def _place(made: Path, root: Path, file: Path) -> Path:
    return made / file.relative_to(root).with_suffix(SUFFIX)


def _use_needed(root: Path, typed: dict[Path, str]) -> None:
    """Import what these need of Fiberscope: a checkout compiles it then, and has its C types."""
    names = (".".join(file.relative_to(root).with_suffix("").parts) for file in typed)
    for module in needed(Modules([root, _LIBRARY], typed), names):
        if module.name.startswith("fiberscope."):
            importlib.import_module(module.name)


def _compile(made: Path, root: Path, typed: dict[Path, str]) -> None:
    """Compile copies of the sources, and have the folder under its name only when it is whole."""
    _use_needed(root, typed)
    making = made.with_suffix(".partial")
    shutil.rmtree(making, ignore_errors=True)
    for file, text in typed.items():
        copy = making / file.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
        copy.with_suffix(".pxd").write_text(text)
        for package in copy.relative_to(making).parents[:-1]:
            (making / package / "__init__.py").touch()
    names = [str(file.relative_to(root)) for file in typed]
    command = [sys.executable, "-m", "fiberscope.pxd.compile", str(making), str(_LIBRARY), *names]
    done = subprocess.run(command, cwd=_LIBRARY, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(_fault(done.stdout + done.stderr, root))
    shutil.rmtree(made, ignore_errors=True)
    making.rename(made)


def _fault(said: str, root: Path) -> str:
    """The first thing that the compiler found wrong, in a line, at its place in the user's own file."""
    if match := _FAULT.search(said):
        return f"{root / match[1]}:{match[2]}: {match[3]}"
    return f"compiling failed: {said.strip().splitlines()[-1] if said.strip() else 'nothing was said'}"
