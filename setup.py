"""Compiles the engine and the blocks: Python files whose first line says so, or that have C types by hand.

The C types of the others are written from their annotations first, see ``fiberscope/pxd``. Of the folders
that are linked into ``fiberscope/`` each file has one name, that below ``fiberscope``.
"""

import importlib
import os
import sys
from glob import glob
from pathlib import Path
from types import ModuleType

from Cython.Build import cythonize
from Cython.Compiler import Options
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer_group

CHECKED = os.environ.get("FIBERSCOPE_CHECKED_BUILD", "") not in ("", "0")  # bounds and null checks on, slow

CHECKS = ("boundscheck", "initializedcheck", "nonecheck", "overflowcheck")


def _generator() -> ModuleType:
    """The package that writes C types, alone: that about it imports libraries that may be missing."""
    bare = sys.modules["fiberscope"] = ModuleType("fiberscope")
    bare.__path__ = [str(Path("fiberscope").resolve())]
    try:
        return importlib.import_module("fiberscope.pxd")
    finally:
        del sys.modules["fiberscope"]


pxd = _generator()
HELPERS = pxd.HELPERS
Options.buffer_max_dims = pxd.DIMENSIONS
DIRECTIVES = pxd.DIRECTIVES
if CHECKED:
    DIRECTIVES = {**DIRECTIVES, **dict.fromkeys(CHECKS, True), "cdivision": False}


# Their compiled form stands in the .pxd and goes into the modules that use it; the .py is for the others.
INLINE = (Path("fiberscope/sim/inline.py"), Path("fiberscope/sim/words.py"))


def _typed() -> list[Path]:
    """The compiled files, the C types of all written beside them."""
    sources = map(Path, glob("fiberscope/**/*.py", recursive=True))  # unlike Path.rglob it goes into links
    try:
        modules = pxd.Modules([Path()])
        compiled = pxd.compiled_modules(modules, sources, Path())
        pxd.write(modules, compiled)
    except pxd.UnsupportedError as error:
        sys.exit(f"fiberscope: {error}")
    return [module.path for module in compiled]


def _extensions() -> list[Extension]:
    sources = sorted({*_typed()}.difference(INLINE))
    modules = {".".join(source.with_suffix("").parts): str(source) for source in sources}
    modules[HELPERS] = HELPERS.replace(".", "/") + ".c"
    return [Extension(name, [source], extra_compile_args=pxd.FLAGS) for name, source in modules.items()]


COMPILING = {"build", "build_ext", "bdist_wheel", "editable_wheel", "install", "develop"}


if COMPILING & set(sys.argv) and (fault := pxd.lacking()):  # said in one line, before anything is made
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


def _laid_out_otherwise(extensions: list[Extension]) -> bool:
    """Whether C is older than this file, which says how objects lie in memory: modules must agree on that."""
    written = (Path(ext.sources[0]).with_suffix(".c") for ext in extensions)
    return any(c.exists() and c.stat().st_mtime < Path(__file__).stat().st_mtime for c in written)


def _translated() -> list[Extension]:
    """The extensions, their C written; none for metadata, and for an archive of sources, which holds no C."""
    if not COMPILING & set(sys.argv):
        return []
    extensions = _extensions()
    return cythonize(
        extensions,
        compiler_directives=DIRECTIVES,
        nthreads=CORES,
        shared_utility_qualified_name=HELPERS,
        force=_laid_out_otherwise(extensions),
        quiet=True,
    )


setup(
    ext_modules=_translated(),
    options={"build_ext": {"parallel": CORES}},
    cmdclass={"build_ext": CompileChanged},
)
