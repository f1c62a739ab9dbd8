"""Import hooks that select compiled or uncompiled modules.

Python prefers a compiled extension to the source file of the same name. With ``FIBERSCOPE_UNCOMPILED=1``, a
finder at the front of ``sys.meta_path`` returns the sources, so that the same files run as plain Python.
Otherwise, a finder compiles missing modules of a checkout at their first import.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader
from pathlib import Path
from types import FrameType, ModuleType

VARIABLE = "FIBERSCOPE_UNCOMPILED"
NEEDED = "FIBERSCOPE_NEEDED"  # modules that setup.py compiles
MARK = b"# cython: infer_types"
CHECKOUT = Path(__file__).absolute().parents[2]  # not resolved: the root's sim/ is a link


class _SourceFinder(MetaPathFinder):
    """A finder that returns the source of a module of ``fiberscope``, never its extension."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module's source file; None outside of ``fiberscope``, or without a source."""
        if path is None or not fullname.startswith("fiberscope."):
            return None
        for folder in path:
            spec = FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES)).find_spec(fullname)
            if spec is not None:
                return spec
        return None


class _Compiler(MetaPathFinder):
    """A finder that compiles missing modules of a checkout. It returns no module: the standard finders do."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Compile the module if it lacks its extension; always return None."""
        for folder in path or () if fullname.startswith("fiberscope.") else ():
            if _must_compile(Path(folder, f"{fullname.rpartition('.')[2]}.py")):
                _compile([fullname, *_list_importing(), *_find_uncompiled_neighbours(fullname, Path(folder))])
        return None


def _must_compile(source: Path) -> bool:
    """Return whether a module must be compiled and has no extension yet."""
    if not source.is_file() or source.with_suffix(EXTENSION_SUFFIXES[0]).is_file():
        return False
    declarations = source.with_suffix(".pxd")  # hand-written for modules without the mark
    with source.open("rb") as file:
        return file.readline().startswith(MARK) or (
            declarations.is_file() and "cdef class" in declarations.read_text()
        )


def _find_uncompiled_neighbours(name: str, folder: Path) -> list[str]:
    """Return the uncompiled modules of the same folder: graph blocks are imported one after another."""
    package, _, stem = name.rpartition(".")
    return sorted(
        f"{package}.{file.stem}" for file in folder.glob("*.py") if file.stem != stem and _must_compile(file)
    )


def _list_importing() -> list[str]:
    """Return the modules of ``fiberscope`` whose import is in progress, innermost first."""
    frame: FrameType | None = sys._getframe()
    names = []
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            names.append(str(frame.f_globals["__name__"]))
        frame = frame.f_back
    return [name for name in names if name.startswith("fiberscope.")]


def _compile(names: Sequence[str]) -> None:
    """Compile modules and their imports. Without Cython, do nothing: the modules run as plain Python.

    Raises:
        OSError: if the compilation fails; names the log file.
    """
    if None in map(importlib.util.find_spec, ("Cython", "setuptools")):
        return
    print(f"fiberscope: {names[-1]} is used for the first time", file=sys.stderr, flush=True)
    log = CHECKOUT / "build" / "needed.log"
    log.parent.mkdir(exist_ok=True)
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    environment = os.environ | {NEEDED: " ".join(names)}
    with log.open("w") as errors:
        result = subprocess.run(command, cwd=CHECKOUT, env=environment, stdout=2, stderr=errors, check=False)
    if result.returncode:
        raise OSError(errno.ENOEXEC, "compiling failed; the reason is given there", str(log))
    importlib.invalidate_caches()


def uncompiled_requested() -> bool:
    """Return whether the environment requests the uncompiled engine."""
    return os.environ.get(VARIABLE, "") not in ("", "0")


def install() -> None:
    """Install the import hook that ``FIBERSCOPE_UNCOMPILED`` selects, before the engine's first import."""
    finder = _SourceFinder() if uncompiled_requested() else _Compiler()
    needed = uncompiled_requested() or (CHECKOUT / "setup.py").is_file()
    if needed and not any(isinstance(entry, type(finder)) for entry in sys.meta_path):
        sys.meta_path.insert(0, finder)


def compiled() -> bool:
    """Return whether the kernel in use is compiled; false if no kernel was imported yet."""
    kernel = sys.modules.get("fiberscope.sim.kernel")
    return kernel is not None and not str(kernel.__file__).endswith(".py")
