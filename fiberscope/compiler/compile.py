"""Compile modules in place: ``python -m fiberscope.compiler.compile FOLDER LIBRARY FILE...``."""

from __future__ import annotations

import os
import sys

from fiberscope.compiler.compiler import DIMENSIONS, DIRECTIVES, FLAGS, HELPERS


def main(folder: str, library: str, files: list[str]) -> None:
    """Compile files of a folder, with the C types and the settings of the library."""
    from Cython.Build import cythonize  # noqa: PLC0415  (only builds need Cython)
    from Cython.Compiler import Options  # noqa: PLC0415
    from setuptools import Extension, setup  # noqa: PLC0415

    os.chdir(folder)
    Options.buffer_max_dims = DIMENSIONS
    modules = {file.removesuffix(".py").replace(os.sep, "."): file for file in files}
    extensions = [Extension(name, [file], extra_compile_args=FLAGS) for name, file in modules.items()]
    compiled = cythonize(
        extensions,
        compiler_directives=DIRECTIVES,
        include_path=[library],
        shared_utility_qualified_name=HELPERS,
        quiet=True,
    )
    setup(
        name="built", ext_modules=compiled, script_args=["--quiet", "build_ext", "--inplace"], py_modules=[]
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
