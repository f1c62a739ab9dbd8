"""Compiles the engine and the blocks: Python files whose first line says so, or that have C types by hand.

The C types of the others are written from their annotations first, see ``fiberscope/pxd``. Of the folders
that are linked into ``fiberscope/`` each file has one name, that below ``fiberscope``.

``FIBERSCOPE_NEEDED`` names modules: they and what they import are compiled, and what was compiled before;
with nothing in it, nothing is. Whatever ends this in its midst, the next one goes on from there.
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


def _of_pxd(name: str) -> ModuleType:
    """A module of what writes C types, alone: the package about it imports libraries that may be missing."""
    bare = sys.modules["fiberscope"] = ModuleType("fiberscope")
    bare.__path__ = [str(Path("fiberscope").resolve())]
    try:
        return importlib.import_module(f"fiberscope.compiler.{name}")
    finally:
        del sys.modules["fiberscope"]


compiler = _of_pxd("compiler")
HELPERS = compiler.HELPERS
DIRECTIVES = compiler.DIRECTIVES
if CHECKED:
    DIRECTIVES = {**DIRECTIVES, **dict.fromkeys(CHECKS, True), "cdivision": False}


# Their compiled form stands in the .pxd and goes into the modules that use it; the .py is for the others.
INLINE = (Path("fiberscope/sim/inline.py"), Path("fiberscope/sim/raw_words.py"))


def _names() -> list[str]:
    """What is compiled, with all that it needs: everything, or what is asked for and was compiled before."""
    ending = ".py" if NEEDED == [ALL] else EXTENSION_SUFFIXES[0]
    there = glob(f"fiberscope/**/*{ending}", recursive=True)  # unlike Path.rglob it goes into links
    return [
        *NEEDED,
        *(place.removesuffix(ending).replace("/", ".").removesuffix(".__init__") for place in there),
    ]


def _typed() -> list[Path]:
    """The files to compile, the C types of all written beside them."""
    found = _of_pxd("modules")
    try:
        modules = found.Modules([Path()])
        compiled = _of_pxd("module_dependencies").needed(modules, _names())
        _of_pxd("files").write(modules, compiled)
    except found.UnsupportedError as error:
        sys.exit(f"fiberscope: {error}")
    return [module.path for module in compiled]


def _extensions() -> list[Extension]:
    sources = sorted({*_typed()}.difference(INLINE))
    modules = {".".join(source.with_suffix("").parts): str(source) for source in sources}
    modules[HELPERS] = HELPERS.replace(".", "/") + ".c"
    return [
        Extension(name, [source], extra_compile_args=[*compiler.FLAGS, *_own_flags(source)])
        for name, source in modules.items()
    ]


def _own_flags(source: str) -> list[str]:
    """The flags that a Python file asks for in its second line, as in ``# C compiler: -O2``."""
    if not source.endswith(".py"):
        return []
    with Path(source).open() as lines:
        second = [*lines][1]
    return second.removeprefix(OWN_FLAGS).split() if second.startswith(OWN_FLAGS) else []


OWN_FLAGS = "# C compiler:"
COMPILING = {"build", "build_ext", "bdist_wheel", "editable_wheel", "install", "develop"}
COMPILES = bool(COMPILING & set(sys.argv)) and bool(NEEDED)


if COMPILES and (fault := compiler.lacking()):  # said in one line, before anything is made
    sys.exit(f"fiberscope: {fault}")


class CompileChanged(build_ext):
    """Compiles what changed, and says how far it is; in place, straight into the tree.

    setuptools compiles in place by way of a folder that is new for every installation, and so compiles again
    what stands in the tree already.
    """

    def run(self) -> None:
        """Compile, with `inplace` left to the class below setuptools' own."""
        if self.inplace:
            super(build_ext, self).run()
        else:
            super().run()

    def build_extensions(self) -> None:
        """Compile all modules that are older than their source, several at a time."""
        stale = [
            ext.name for ext in self.extensions if newer_group(ext.sources, self.get_ext_fullpath(ext.name))
        ]
        self.places = {name: place for place, name in enumerate(stale, start=1)}
        self.link = self.compiler.link_shared_object
        self.compiler.link_shared_object = self._link_whole
        super().build_extensions()

    def _link_whole(self, objects: list[str], module: str, *arguments: object, **options: object) -> None:
        """Link a module, which has its name only once it is whole: a part would pass for up to date."""
        unfinished = f"{module}.partial"
        self.link(objects, unfinished, *arguments, **options)
        os.replace(unfinished, module)

    def build_extension(self, ext: Extension) -> None:
        """Compile one module: on a terminal in one line that changes, else saying every tenth."""
        place, number = self.places.get(ext.name, 0), len(self.places)
        if place and (sys.stdout.isatty() or place % 10 == 0 or place == number):
            end = "\r" if sys.stdout.isatty() and place < number else "\n"
            print(f"  module {place} of {number}: {ext.name:<40}", end=end, flush=True)
        super().build_extension(ext)


CORES = os.cpu_count() or 1
SECONDS = 0.7  # of a core, that a module takes
WHOLE = b"#endif /* Py_PYTHON_H */\n"  # ends what Cython writes


def _place(ext: Extension) -> str:
    """Where a module is compiled to in the tree."""
    return str(Path(ext.sources[0]).with_suffix(EXTENSION_SUFFIXES[0]))


def _drop_parts(extensions: list[Extension]) -> None:
    """Remove C that somebody ended the writing of: it would pass for up to date."""
    for c in (Path(ext.sources[0]).with_suffix(".c") for ext in extensions):
        if c.exists() and not c.read_bytes().endswith(WHOLE):
            c.unlink()


def _laid_out_otherwise(extensions: list[Extension]) -> bool:
    """Whether C is older than what says how objects lie in memory: modules must agree on that."""
    said = Path(compiler.__file__).stat().st_mtime
    written = (Path(ext.sources[0]).with_suffix(".c") for ext in extensions)
    return any(c.exists() and c.stat().st_mtime < said for c in written)


def _translated() -> list[Extension]:
    """The extensions, their C written; none for metadata, and for an archive of sources, which holds no C."""
    if not COMPILES:
        return []
    from Cython.Build import cythonize  # noqa: PLC0415  (metadata needs no compiler)
    from Cython.Compiler import Options  # noqa: PLC0415

    Options.buffer_max_dims = compiler.DIMENSIONS
    extensions = _extensions()
    _drop_parts(extensions)
    stale = [ext for ext in extensions if newer_group(ext.sources, _place(ext), missing="newer")]
    if stale:
        print(f"Compiling {len(stale)} modules, about {len(stale) * SECONDS / CORES:.0f} s ...", flush=True)
    return cythonize(
        extensions,
        compiler_directives=DIRECTIVES,
        nthreads=CORES,
        shared_utility_qualified_name=HELPERS,
        force=_laid_out_otherwise(extensions),
        quiet=True,
    )


@contextmanager
def _alone() -> Iterator[None]:
    """One at a time compiles; the next finds what is done."""
    Path("build").mkdir(exist_ok=True)
    with Path("build/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


with _alone() if COMPILES else nullcontext():
    setup(
        ext_modules=_translated(),
        options={"build_ext": {"parallel": CORES}},
        cmdclass={"build_ext": CompileChanged},
    )
