"""Objects of Verilator's C++: of a module, and of Verilator's runtime, which all builds of a user share."""

from __future__ import annotations

import hashlib
import os
import platform
import secrets
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from fiberscope.hw.rtl.tools.simulator import run_compiler
from fiberscope.hw.rtl.tools.verilator import root
from fiberscope.sim.partial_files import Partial
from fiberscope.workloads.cache import cache_folder

# The wrapper defines the handlers of $fatal, $stop and $finish, as Verilator's own end the process.
OWN_ENDS = ("-DVL_USER_FATAL", "-DVL_USER_STOP", "-DVL_USER_FINISH")
# Macros that the makefile of Verilator would define.
OFF = ("-DVM_SC=0", "-DVM_TIMING=0", "-DVM_TRACE=0")
FLAGS = ("-std=c++20", "-fPIC", *OFF, *OWN_ENDS)
RUNTIME = ("verilated.cpp", "verilated_threads.cpp")  # Verilator's runtime, rarely called in a cycle
COVERED_RUNTIME = (*RUNTIME, "verilated_cov.cpp")


def compile_object(flags: Sequence[str], optimized: str, source: Path, target: Path) -> Path:
    """Compile a C++ file with g++ to an object, and return the path of the object.

    Args:
        flags: flags of the compiler.
        optimized: flag of the optimization, such as ``-O2``.
        source: C++ file; the name of its folder stands for the module in messages.
        target: path of the object.

    Raises:
        HdlError: the compiler does not accept the file.
    """
    own = root() / "include"
    options = [*flags, "-I", str(own), "-I", str(own / "vltstd"), optimized]
    run_compiler(["g++", *options, "-c", str(source), "-o", str(target)], source.parent.name, os.environ)
    return target


def compile_runtime(folder: Path, flags: Sequence[str], *, covered: bool) -> Path:
    """Return the object of Verilator's runtime: from the user's cache, where it is compiled the first time.

    Args:
        folder: for the object if the cache cannot be written.
        flags: of the compiler.
        covered: whether the runtime counts coverage.

    Raises:
        HdlError: Verilator is not installed, or the compiler does not accept the runtime.
    """
    sources = [root() / "include" / file for file in (COVERED_RUNTIME if covered else RUNTIME)]
    compiler = Path(shutil.which("g++") or "g++").resolve()
    version = root() / "include" / "verilated_config.h"
    # An upgrade of the compiler keeps its path; only the time of its file changes.
    key = digest(
        [*flags, root(), compiler, compiler.stat().st_mtime_ns, platform.machine()], [*sources, version]
    )
    target = _runtime_folder(folder) / f"verilated_{key[:16]}.o"
    if not target.is_file():
        ending = f".{secrets.token_hex(4)}"  # several threads may compile the same object
        source, partial = target.with_suffix(f"{ending}.cc"), Partial(target, ending)
        source.write_text(include_lines(map(str, sources)), encoding="utf-8")
        try:
            compile_object(flags, "-O0", source, partial.path)  # a cycle rarely calls the runtime
            partial.keep()
        finally:
            partial.discard()
            source.unlink()
    return target


def _runtime_folder(folder: Path) -> Path:
    """Return the folder of the user's cache if it can be written, else this one."""
    place = cache_folder() / "verilated"
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError:
        return folder
    return place if os.access(place, os.W_OK) else folder


def digest(options: Sequence[object], files: Iterable[Path]) -> str:
    """Return the digest of C++ sources and of what they are compiled with.

    Args:
        options: options of the compilation; their text counts, in their order.
        files: files in any order; the contents of C++ sources and headers count, other files are ignored.
    """
    content = hashlib.sha256(repr(options).encode())
    for file in sorted(files):
        if file.suffix in (".cpp", ".h", ".cc"):
            content.update(file.read_bytes())
    return content.hexdigest()


def include_lines(names: Iterable[str]) -> str:
    """Return C++ that includes these files."""
    return "".join(f'#include "{name}"\n' for name in names)
