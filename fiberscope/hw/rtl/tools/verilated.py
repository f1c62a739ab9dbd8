"""A module that Verilator compiles into a library of this process: the fastest simulation of Verilog.

Verilator writes the module in C++. A generated wrapper runs one clock cycle with a single function call
through ctypes, with the words of all ports in one array for each direction (``fiberscope.hw.rtl.kit.words``).
No HDL simulator runs, and therefore no cocotb bench.
"""

from __future__ import annotations

import ctypes
import os
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from fiberscope.hw.rtl.kit.codec import WORD
from fiberscope.hw.rtl.kit.interface import Interface, Wire
from fiberscope.hw.rtl.kit.waves import is_shown
from fiberscope.hw.rtl.kit.words import Piece, Words, joined, pieces
from fiberscope.hw.rtl.tools.ports import check_ports
from fiberscope.hw.rtl.tools.simulator import include_folders, run_compiler
from fiberscope.hw.rtl.tools.verilator import COVERAGE, Verilator, root
from fiberscope.hw.rtl.tools.verilator_objects import (
    FLAGS,
    compile_object,
    compile_runtime,
    digest,
    include_lines,
)
from fiberscope.sim.errors import SimulationError

SLOW = "__Slow"  # in the names of Verilator's files that run once, at the start

_WRAPPER = r"""
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
%(includes)s

void vl_fatal(const char* file, int line, const char*, const char* message) {
    throw std::runtime_error(std::string(message) + " (" + file + ":" + std::to_string(line) + ")");
}
void vl_stop(const char* file, int line, const char* scope) { vl_fatal(file, line, scope, "$stop"); }
void vl_finish(const char* file, int line, const char* scope) { vl_fatal(file, line, scope, "$finish"); }

namespace {
struct Instance {
    VerilatedContext context;
    Vtop* top;
    bool due = false;  // the edge that ends the cycle run last
    std::string fault;
};
constexpr uint64_t ones(int width) { return ~uint64_t{0} >> (64 - width); }
void put(uint32_t* port, int low, int width, uint64_t word) {  // so many bits, from this one on
    for (int done = 0; done < width;) {
        int at = (low + done) %% 32, bits = width - done < 32 - at ? width - done : 32 - at;
        uint32_t mask = ones(bits) << at;
        port[(low + done) / 32] &= ~mask;
        port[(low + done) / 32] |= word >> done << at & mask;
        done += bits;
    }
}
uint64_t get(const uint32_t* port, int low, int width) {
    uint64_t word = 0;
    for (int done = 0; done < width;) {
        int at = (low + done) %% 32;
        word |= static_cast<uint64_t>(port[(low + done) / 32] >> at) << done;
        done += 32 - at;
    }
    return word & ones(width);
}
void edge(Instance& it) {
    if (it.due) {
        it.top->clk = 1;
        it.top->eval();
    }
    it.due = true;
}
}  // namespace

extern "C" {
void* module_new() {
    auto* it = new Instance;
    it->context.randReset(1);  // what is never reset begins as ones
    it->top = new Vtop{&it->context};
    return it;
}
const char* module_fault(void* handle) { return static_cast<Instance*>(handle)->fault.c_str(); }
#if VM_COVERAGE
void module_coverage(void* handle, const char* file) {
    static_cast<Instance*>(handle)->context.coveragep()->write(file);
}
#endif
void module_delete(void* handle) {
    auto* it = static_cast<Instance*>(handle);
    delete it->top;
    delete it;
}
int module_cycle(void* handle, int reset, const uint64_t* in, uint64_t* out) {
    auto* it = static_cast<Instance*>(handle);
    Vtop& top = *it->top;
    try {
        edge(*it);
        top.clk = 0;
        top.rst = reset;
%(inputs)s
        top.eval();
%(outputs)s
        return 0;
    } catch (const std::exception& fault) {
        it->fault = fault.what();
        return 1;
    }
}
int module_idle(void* handle, int cycles, uint64_t* out, uint64_t* before) {
    auto* it = static_cast<Instance*>(handle);
    Vtop& top = *it->top;
    try {
        for (int ran = 1; ran <= cycles; ++ran) {
            std::memcpy(before, out, %(bytes)s);
            edge(*it);
            top.clk = 0;
            top.eval();
%(outputs)s
            if (std::memcmp(before, out, %(bytes)s)) return ran;
        }
        return cycles;
    } catch (const std::exception& fault) {
        it->fault = fault.what();
        return 0;
    }
}
void module_sample(void* handle, uint64_t* inner) {
    Vtop___024root& root = *static_cast<Instance*>(handle)->top->rootp;
    (void)root;
%(inner)s
}
}
"""
_WITHIN = re.compile(  # an inner wire in Verilator's C++
    r"^ +(?:[CSIQ]Data|VlWide<\d+>)/\*(?P<high>\d+):0\*/ (?P<name>\w+?__DOT__\w+);", re.MULTILINE
)


class VerilatedModule:
    """A module as a loaded library, from which any number of instances are created (``VerilatedBackend``).

    The constructor compiles the library, unless the folder has one of the same sources.

    Args:
        sources: Verilog files.
        interface: the module's ports.
        folder: folder of the build.
        watched: whether a waveform shows inner wires.
        covered: whether the runs of lines and branches and the toggles of bits are counted.

    Attributes:
        instances: the instances whose counts are wanted; empty if ``covered`` is off.

    Raises:
        SimulationError: the module has other ports than required.
        HdlError: Verilator or a compiler is missing, or does not accept the sources.
    """

    def __init__(
        self,
        sources: Sequence[Path],
        interface: Interface,
        folder: Path,
        *,
        watched: bool = False,
        covered: bool = False,
    ) -> None:
        check_ports(interface, Verilator().ports(sources, interface.module, folder))
        self.interface = interface
        self.watched = watched
        self.covered = covered
        self.instances: list[VerilatedBackend] = []
        self.inner: dict[str, Wire] = {}  # inner wires by their names in C++
        path = _compile(sources, self, folder.resolve() / f"verilated_{interface.module}")
        self.library = ctypes.CDLL(str(path))
        self.library.module_new.restype = ctypes.c_void_p
        self.library.module_fault.restype = ctypes.c_char_p
        self.library.module_fault.argtypes = self.library.module_delete.argtypes = [ctypes.c_void_p]
        self.library.module_idle.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
        self.library.module_sample.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        self.library.module_cycle.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]


class VerilatedBackend:
    """An instance of a verilated module, after reset; see ``fiberscope.hw.rtl.kit.backend.Backend``.

    Raises:
        SimulationError: in a cycle, if the module calls ``$fatal``, ``$stop`` or ``$finish``.
    """

    def __init__(self, module: VerilatedModule) -> None:
        self.words = Words(module.interface)
        self._library = module.library
        self._run = module.library.module_cycle
        self._handle = module.library.module_new()
        self._inner_wires = pieces(module.inner.values(), {})
        self._signals = {wire.name: wire.width for wire in module.inner.values()}
        self._sampled = array("Q", bytes(8 * len(self._inner_wires)))
        self._before = array("Q", self.words.outputs)
        self._arrays = self.words.inputs.buffer_info()[0], self.words.outputs.buffer_info()[0]
        if module.covered:
            module.instances.append(self)
        if self._run(self._handle, 1, *self._arrays):
            self._fail()

    def __del__(self) -> None:
        """Free the instance."""
        self._library.module_delete(self._handle)

    def cycle(self) -> None:
        """Run one clock cycle; see ``Backend``."""
        if self._run(self._handle, 0, *self._arrays):
            self._fail()

    def idle(self, cycles: int) -> int:
        """Run cycles with unchanged inputs; see ``Backend``."""
        ran: int = self._library.module_idle(
            self._handle, cycles, self._arrays[1], self._before.buffer_info()[0]
        )
        if ran == 0:
            self._fail()
        return ran

    def signals(self) -> Mapping[str, int]:
        """See ``Backend``."""
        return self._signals

    def sample(self) -> Sequence[int]:
        """See ``Backend``."""
        self._library.module_sample(self._handle, self._sampled.buffer_info()[0])
        return list(joined(self._inner_wires, self._sampled).values())

    def write_coverage(self, file: Path) -> None:
        """Write the counts of lines, branches and toggles so far, in Verilator's format.

        Only for a module that was compiled with ``covered``.
        """
        self._library.module_coverage(ctypes.c_void_p(self._handle), os.fsencode(file))

    def _fail(self) -> NoReturn:
        """Raise the error that ended the last cycle."""
        raise SimulationError(self._library.module_fault(self._handle).decode(errors="replace"))


def _compile(sources: Sequence[Path], module: VerilatedModule, folder: Path) -> Path:
    """Compile Verilator's C++ and the wrapper to a library."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("Vtop*"):  # a previous module of this name may have more files
        old.unlink()
    name, environment = module.interface.module, os.environ | Verilator().environment()
    options = ["--cc", "-O3", "--no-timing", "--x-initial", "unique", "-Wno-fatal", "--prefix", "Vtop"]
    options += ["--public-flat-rw", "--flatten"] if module.watched else []
    options += COVERAGE if module.covered else []
    includes = [f"-I{place}" for place in include_folders(sources)]
    files = [str(source.resolve()) for source in sources]
    run_compiler(
        ["verilator", *options, *includes, "-Mdir", str(folder), "--top-module", name, *files],
        name,
        environment,
    )
    if module.watched:
        module.inner = _header_wires((folder / "Vtop___024root.h").read_text(encoding="utf-8"))
    parts = sorted(folder.glob("Vtop*.cpp"))
    wrapper, slow = folder / "wrapper.cc", folder / "slow.cc"
    wrapper.write_text(_wrapper(module, [part for part in parts if SLOW not in part.name]), encoding="utf-8")
    slow.write_text(include_lines(part.name for part in parts if SLOW in part.name), encoding="utf-8")
    flags = (*FLAGS, f"-DVM_COVERAGE={int(module.covered)}")
    steps = [(flags, "-O1", wrapper, folder / "wrapper.o"), (flags, "-O0", slow, folder / "slow.o")]
    library, key = folder / "module.so", folder / "module.key"
    content = digest([*steps, root()], [*folder.glob("Vtop*"), wrapper, slow])
    if library.is_file() and key.is_file() and key.read_text(encoding="utf-8") == content:
        return library
    key.unlink(missing_ok=True)
    with ThreadPoolExecutor() as pool:
        runtime = pool.submit(compile_runtime, folder.parent, flags, covered=module.covered)
        objects = [*pool.map(compile_object, *zip(*steps, strict=True)), runtime.result()]
    library.unlink(missing_ok=True)  # unlink, as a loaded library still uses its file
    run_compiler(["g++", "-shared", *map(str, objects), "-o", str(library), "-lpthread"], name, os.environ)
    key.write_text(content, encoding="utf-8")
    return library


def _wrapper(module: VerilatedModule, parts: Sequence[Path]) -> str:
    """Return one C++ file with everything that runs in a cycle, as headers dominate the compile time."""
    includes = ["Vtop.h", "Vtop___024root.h", "verilated.h", *(part.name for part in parts)]
    includes += ["verilated_cov.h"] if module.covered else []
    wires = {wire.name: wire for wire in module.interface.wires()}
    layout = Words(module.interface).layout
    return _WRAPPER % {
        "includes": include_lines(includes),
        "inputs": "\n".join(_input_lines(layout["input"], wires)),
        "outputs": "\n".join(_read("top.", layout["output"], wires, "out")),
        "bytes": str(8 * len(layout["output"])),
        "inner": "\n".join(_samples(module.inner)),
    }


def _header_wires(header: str) -> dict[str, Wire]:
    """Return the named inner wires by their names in C++, sorted by their names in Verilog."""
    wires = {}
    for match in _WITHIN.finditer(header):
        _top, _, path = match["name"].partition("__DOT__")
        name = path.replace("__DOT__", ".")
        if is_shown(name):
            wires[match["name"]] = Wire(name, "output", int(match["high"]) + 1)
    return dict(sorted(wires.items(), key=lambda item: item[1].name))


def _samples(inner: Mapping[str, Wire]) -> Iterator[str]:
    """Yield lines that read the inner wires in the order of their pieces."""
    by_name = {name: replace(wire, name=name) for name, wire in inner.items()}
    return _read("root.", pieces(by_name.values(), {}), by_name, "inner")


def _input_lines(plan: Sequence[Piece], wires: Mapping[str, Wire]) -> Iterator[str]:
    """Yield lines that write words into the inputs, pieces from the lowest on."""
    for i, piece in enumerate(plan):
        port, word = f"top.{piece.wire}", f"in[{i}]"
        if wires[piece.wire].width > WORD:
            yield f"        put(&{port}[0], {piece.low}, {piece.width}, {word});"
        elif piece.low:
            yield f"        {port} |= {word} << {piece.low};"
        else:
            yield f"        {port} = {word};"


def _read(scope: str, plan: Sequence[Piece], wires: Mapping[str, Wire], words: str) -> Iterator[str]:
    """Yield lines that read words from wires."""
    for i, piece in enumerate(plan):
        port, width = f"{scope}{piece.wire}", wires[piece.wire].width
        if width > WORD:
            yield f"        {words}[{i}] = get(&{port}[0], {piece.low}, {piece.width});"
        elif piece.width < width:
            yield f"        {words}[{i}] = {port} >> {piece.low} & {(1 << piece.width) - 1}ull;"
        else:
            yield f"        {words}[{i}] = {port};"
