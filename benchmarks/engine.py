"""Host nanoseconds of one component tick, compiled and uncompiled.

    python benchmarks/engine.py              both modes
    python benchmarks/engine.py --one        the mode of this process, as JSON

Pipelines of four components (a counter, two increments, a sum) run concurrently in one kernel. One pipeline
shows the kernel's own work per cycle; 32 pipelines show that of the components. ``full`` pipelines move a
token in every cycle; ``sparse`` pipelines have slow channels and sleep most of the time.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import os
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from types import ModuleType

from Cython.Build import cythonize
from Cython.Compiler import Options
from setuptools import Distribution, Extension

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "benchmarks"
sys.path.insert(0, str(ROOT))

from fiberscope.sim import Kernel, import_mode  # noqa: E402  (needs the path above when run as a script)

DIRECTIVES = {
    "language_level": 3,
    "infer_types": True,
    "annotation_typing": False,
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
}
CASES = {  # pipelines, tokens of each, capacity, latency
    "4 components, full": (1, 400_000, 4, 1),
    "128 components, full": (32, 12_500, 4, 1),
    "4 components, sparse": (1, 100_000, 1, 20),
    "128 components, sparse": (32, 4_000, 1, 20),
}
Options.buffer_max_dims = 2  # as for the compilation of the engine

UNCOMPILED_SHARE = 20  # the uncompiled engine runs this fraction of the tokens
ROUNDS = 3


def compile_components() -> Path:
    """Compile the components if they are out of date; return the path of the extension module."""
    sources = Path(__file__).parent / "pipeline.py"
    extension = Extension("pipeline", [str(sources)], extra_compile_args=["-O2"])
    modules = cythonize(
        [extension],
        include_path=[str(ROOT)],
        build_dir=str(BUILD),
        compiler_directives=DIRECTIVES,
        quiet=True,
    )
    command = Distribution({"ext_modules": modules}).get_command_obj("build_ext")
    command.build_lib, command.build_temp = str(BUILD), str(BUILD / "objects")
    command.ensure_finalized()
    command.run()
    return BUILD / f"pipeline{sysconfig.get_config_var('EXT_SUFFIX')}"


def components() -> ModuleType:
    """Load the components in the mode of the engine."""
    path = compile_components() if import_mode.compiled() else Path(__file__).parent / "pipeline.py"
    spec = importlib.util.spec_from_file_location("pipeline", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pipelines(parts: ModuleType, count: int, tokens: int, capacity: int, latency: int) -> Kernel:
    """Return a kernel with ``count`` pipelines."""
    kernel = Kernel()
    kernel.clock("core", 10**9)
    for number in range(count):
        line = [
            kernel.add(parts.Counter(f"counter{number:02}", tokens)),
            kernel.add(parts.Increment(f"first{number:02}")),
            kernel.add(parts.Increment(f"second{number:02}")),
            kernel.add(parts.Total(f"total{number:02}")),
        ]
        for producer, consumer in itertools.pairwise(line):
            kernel.connect(producer, "out", consumer, "in", capacity=capacity, latency=latency)
    kernel.build()
    return kernel


def nanoseconds(parts: ModuleType, count: int, tokens: int, capacity: int, latency: int) -> float:
    """Return the host time of one component tick, the minimum of ``ROUNDS`` rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        kernel = pipelines(parts, count, tokens, capacity, latency)
        start = time.perf_counter()
        kernel.run()
        best = min(best, (time.perf_counter() - start) / kernel.ticks)
    return 1e9 * best


def measure() -> dict[str, float]:
    """Return nanoseconds for each case, in this process's mode."""
    parts = components()
    share = 1 if import_mode.compiled() else UNCOMPILED_SHARE
    return {
        case: nanoseconds(parts, count, tokens // share, capacity, latency)
        for case, (count, tokens, capacity, latency) in CASES.items()
    }


def measure_elsewhere(uncompiled: bool) -> dict[str, float]:
    """Return ``measure`` of a separate process in the requested mode."""
    environment = {**os.environ, import_mode.VARIABLE: "1" if uncompiled else "0"}
    command = [sys.executable, __file__, "--one"]
    process = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(process.stdout.splitlines()[-1]))


def main() -> None:
    """Print the table, or with ``--one`` this mode's numbers."""
    parser = argparse.ArgumentParser(description="nanoseconds for one tick of one component")
    parser.add_argument("--one", action="store_true", help="only this process's mode, as JSON")
    if parser.parse_args().one:
        print(json.dumps(measure()))
        return
    compiled, uncompiled = measure_elsewhere(False), measure_elsewhere(True)
    print(f"{'ns a component tick':26}{'compiled':>10}{'uncompiled':>12}{'ratio':>8}")
    for case, fast in compiled.items():
        slow = uncompiled[case]
        print(f"{case:26}{fast:10.0f}{slow:12.0f}{slow / fast:8.0f}")


if __name__ == "__main__":
    main()
