"""Compile the engine and the blocks: Python files with a marked first line or a hand-written ``.pxd``.

``fiberscope/compiler`` first writes the C types of marked files from their annotations. Each file has one
module name, below ``fiberscope``, also in folders that are links.

``FIBERSCOPE_NEEDED`` names modules. The build compiles them, their imports and all modules compiled before.
If the variable is empty, the build compiles nothing. A build that was interrupted continues at the next call.
"""

import fcntl
import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from glob import glob
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer_group

CHECKED = os.environ.get("FIBERSCOPE_CHECKED_BUILD", "") not in ("", "0")  # bounds and null checks on, slow

CHECKS = ("boundscheck", "initializedcheck", "nonecheck", "overflowcheck")

ALL = "*"
NEEDED = os.environ.get("FIBERSCOPE_NEEDED", ALL).split()


def _compiler_module(name: str) -> ModuleType:
    """Import a module of ``fiberscope.compiler`` without the package, whose imports may not be installed."""
    package = sys.modules["fiberscope"] = ModuleType("fiberscope")
    package.__path__ = [str(Path("fiberscope").resolve())]
    try:
        return importlib.import_module(f"fiberscope.compiler.{name}")
    finally:
        del sys.modules["fiberscope"]


compiler = _compiler_module("compiler")
HELPERS = compiler.HELPERS
DIRECTIVES = compiler.DIRECTIVES
if CHECKED:
    DIRECTIVES = {**DIRECTIVES, **dict.fromkeys(CHECKS, True), "cdivision": False}


# Modules that C inlines from their .pxd. Uncompiled modules use the .py.
INLINE = (
    Path("fiberscope/hw/streams/fused_channel.py"),
    Path("fiberscope/sim/inline.py"),
    Path("fiberscope/sim/raw_words.py"),
)


def _module_names() -> list[str]:
    """Return the modules to compile: all, or the requested modules and those compiled before."""
    ending = ".py" if NEEDED == [ALL] else EXTENSION_SUFFIXES[0]
    files = glob(f"fiberscope/**/*{ending}", recursive=True)  # unlike Path.rglob, glob follows links
    return [
        *NEEDED,
        *(place.removesuffix(ending).replace("/", ".").removesuffix(".__init__") for place in files),
    ]


def _files_with_types() -> list[Path]:
    """Write the C types of all files to compile; return these files."""
    modules_module, files = _compiler_module("modules"), _compiler_module("files")
    files.remove_orphans(Path("fiberscope"), keep=HELPERS.rpartition(".")[2])
    try:
        modules = modules_module.Modules([Path()])
        compiled = _compiler_module("module_dependencies").find_compiled_imports(modules, _module_names())
        files.write(modules, compiled)
    except modules_module.UnsupportedError as error:
        sys.exit(f"fiberscope: {error}")
    return [module.path for module in compiled]


def _extensions() -> list[Extension]:
    sources = sorted({*_files_with_types()}.difference(INLINE))
    modules = {".".join(source.with_suffix("").parts): str(source) for source in sources}
    modules[HELPERS] = HELPERS.replace(".", "/") + ".c"
    return [
        Extension(name, [source], extra_compile_args=[*compiler.FLAGS, *_own_flags(source)])
        for name, source in modules.items()
    ]


def _own_flags(source: str) -> list[str]:
    """Return the compiler flags in a file's second line, such as ``# C compiler: -O2``."""
    if not source.endswith(".py"):
        return []
    with Path(source).open() as lines:
        second = [*lines][1]
    return second.removeprefix(OWN_FLAGS).split() if second.startswith(OWN_FLAGS) else []


OWN_FLAGS = "# C compiler:"
COMPILING = {"build", "build_ext", "bdist_wheel", "editable_wheel", "install", "develop"}
COMPILES = bool(COMPILING & set(sys.argv)) and bool(NEEDED)


if COMPILES and (fault := compiler.find_missing_tool()):  # one line, before the build starts
    sys.exit(f"fiberscope: {fault}")


class CompileChanged(build_ext):
    """A build command that compiles changed modules in place and reports its progress.

    setuptools compiles in a new folder for every in-place installation, and therefore compiles everything
    again.
    """

    def run(self) -> None:
        """Compile. An in-place build skips the ``run`` of setuptools."""
        if self.inplace:
            super(build_ext, self).run()
        else:
            super().run()

    def build_extensions(self) -> None:
        """Compile all modules that are older than their sources, several in parallel."""
        stale = [
            ext.name for ext in self.extensions if newer_group(ext.sources, self.get_ext_fullpath(ext.name))
        ]
        self.places = {name: place for place, name in enumerate(stale, start=1)}
        self.link = self.compiler.link_shared_object
        self.compiler.link_shared_object = self._link_whole
        super().build_extensions()

    def _link_whole(self, objects: list[str], module: str, *arguments: object, **options: object) -> None:
        """Link a module under a temporary name, as an incomplete module would look up to date."""
        unfinished = f"{module}.partial"
        self.link(objects, unfinished, *arguments, **options)
        os.replace(unfinished, module)

    def build_extension(self, ext: Extension) -> None:
        """Compile one module. Report on one line of a terminal, or else every tenth module."""
        place, number = self.places.get(ext.name, 0), len(self.places)
        if place and (sys.stdout.isatty() or place % 10 == 0 or place == number):
            end = "\r" if sys.stdout.isatty() and place < number else "\n"
            print(f"  module {place} of {number}: {ext.name:<40}", end=end, flush=True)
        super().build_extension(ext)


CORES = os.cpu_count() or 1
SECONDS = 0.7  # of a core, for a module
WHOLE = b"#endif /* Py_PYTHON_H */\n"  # the last line of a C file by Cython


def _compiled_path(ext: Extension) -> str:
    """Return the path of the compiled module."""
    return str(Path(ext.sources[0]).with_suffix(EXTENSION_SUFFIXES[0]))


def _remove_incomplete(extensions: list[Extension]) -> None:
    """Remove incomplete C files, which would look up to date."""
    for c in (Path(ext.sources[0]).with_suffix(".c") for ext in extensions):
        if c.exists() and not c.read_bytes().endswith(WHOLE):
            c.unlink()


def _has_stale_layout(extensions: list[Extension]) -> bool:
    """Return whether a C file is older than the compiler settings, which determine the layout of objects."""
    changed = Path(compiler.__file__).stat().st_mtime
    c_files = (Path(ext.sources[0]).with_suffix(".c") for ext in extensions)
    return any(c.exists() and c.stat().st_mtime < changed for c in c_files)


def _cythonized_extensions() -> list[Extension]:
    """Translate the modules to C and return their extensions; none for metadata and source archives."""
    if not COMPILES:
        return []
    from Cython.Build import cythonize  # noqa: PLC0415  (metadata needs no compiler)
    from Cython.Compiler import Options  # noqa: PLC0415

    Options.buffer_max_dims = compiler.DIMENSIONS
    extensions = _extensions()
    _remove_incomplete(extensions)
    stale = [ext for ext in extensions if newer_group(ext.sources, _compiled_path(ext), missing="newer")]
    if stale:
        print(f"Compiling {len(stale)} modules, about {len(stale) * SECONDS / CORES:.0f} s ...", flush=True)
    return cythonize(
        extensions,
        compiler_directives=DIRECTIVES,
        nthreads=CORES,
        shared_utility_qualified_name=HELPERS,
        force=_has_stale_layout(extensions),
        quiet=True,
    )


@contextmanager
def _build_lock() -> Iterator[None]:
    """Let one build at a time run. The next build finds finished modules."""
    Path("build").mkdir(exist_ok=True)
    with Path("build/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


with _build_lock() if COMPILES else nullcontext():
    setup(
        ext_modules=_cythonized_extensions(),
        options={"build_ext": {"parallel": CORES}},
        cmdclass={"build_ext": CompileChanged},
    )
