"""Compiles the engine and the blocks: every Python file that has a ``.pxd`` of C types beside it."""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

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
}


def _extensions() -> list[Extension]:
    sources = sorted(
        pxd.with_suffix(".py") for room in ("sim", "hw", "accelerators") for pxd in Path(room).rglob("*.pxd")
    )
    return [
        Extension(
            ".".join(source.with_suffix("").parts),
            [str(source)],
            extra_compile_args=["-O2", "-g0", "-fno-strict-aliasing"],  # no symbols: a third of the time
        )
        for source in sources
    ]


CORES = os.cpu_count() or 1

setup(
    ext_modules=cythonize(_extensions(), compiler_directives=DIRECTIVES, nthreads=CORES),
    options={"build_ext": {"parallel": CORES}},
)
