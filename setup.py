"""Compiles the engine and the blocks: every Python file that has a ``.pxd`` of C types beside it.

Of the folders that are linked into ``fiberscope/`` each file has one name, that below ``fiberscope``.
"""

import os
import shutil
import sys
import sysconfig
from glob import glob
from pathlib import Path

from Cython.Build import cythonize
from Cython.Compiler import Options
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer_group

CHECKED = os.environ.get("FIBERSCOPE_CHECKED_BUILD", "") not in ("", "0")  # bounds and null checks on, slow

DIRECTIVES = {
    "language_level": 3,
    "infer_types": True,  # locals take the C type of what is assigned to them
    "annotation_typing": False,  # annotations are for people and mypy; the C types stand in the .pxd
    "boundscheck": CHECKED,
    "wraparound": False,
    "initializedcheck": CHECKED,
    "nonecheck": CHECKED,
    "overflowcheck": CHECKED,
    "cdivision": not CHECKED,
    "embedsignature": True,
    "auto_pickle": False,  # a machine is not pickled; the code for it is a sixth of the compiler's work
}

# An array's view in a component or channel has room for so many dimensions: one is used, and one more is what
# Cython asks for. With eight, as it comes, an object is spread over far more lines of the host's cache.
Options.buffer_max_dims = 2

# Of -O2 what runs are faster for: the rest takes as long again to compile, and shows in no run.
OPTIMIZED = ["-O1", "-finline-small-functions", "-fipa-cp", "-fthread-jumps"]

HELPERS = "fiberscope.sim._cyutility"  # Cython's own helper code, compiled once instead of into every module


# Their compiled form stands in the .pxd and goes into the modules that use it; the .py is for the others.
INLINE = (Path("fiberscope/sim/inline.py"), Path("fiberscope/sim/words.py"))


def _extensions() -> list[Extension]:
    typed = map(Path, glob("fiberscope/**/*.pxd", recursive=True))  # unlike Path.rglob it goes into links
    sources = sorted({pxd.with_suffix(".py") for pxd in typed}.difference(INLINE))
    modules = {".".join(source.with_suffix("").parts): str(source) for source in sources}
    modules[HELPERS] = HELPERS.replace(".", "/") + ".c"
    return [
        Extension(
            name,
            [source],
            extra_compile_args=[*OPTIMIZED, "-g0", "-fno-strict-aliasing"],  # no symbols: a third of the time
        )
        for name, source in modules.items()
    ]


COMPILING = {"build", "build_ext", "bdist_wheel", "editable_wheel", "install", "develop"}


def _require_compiler() -> None:
    """Say in one line what is missing, before anything is made."""
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        sys.exit(
            f"fiberscope: compiling needs a C compiler, and there is no {compiler} "
            "(on Debian: apt install gcc); to use another, set CC, as in CC=clang"
        )
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        sys.exit(
            f"fiberscope: compiling needs the headers of {sys.executable} "
            "(on Debian: apt install python3-dev)"
        )


if COMPILING & set(sys.argv):
    _require_compiler()


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
