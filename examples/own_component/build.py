"""Compiles slow_merger.py with the C types of slow_merger.pxd, beside it: ``python build.py``."""

from Cython.Build import cythonize
from Cython.Compiler import Options
from setuptools import setup

Options.buffer_max_dims = 2  # as in the build of Fiberscope; the number changes the layout of its objects

DIRECTIVES = {
    "language_level": 3,
    "infer_types": True,  # locals take the C type of what is assigned to them
    "annotation_typing": False,  # the C types stand in the .pxd
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
}

setup(
    name="slow_merger",
    ext_modules=cythonize("slow_merger.py", compiler_directives=DIRECTIVES),
    script_args=["--quiet", "build_ext", "--inplace"],
)
