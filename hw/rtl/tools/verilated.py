"""A module compiled by Verilator into a library of this process: the fastest way to run Verilog here.

Verilator writes the module in C++; a wrapper of our own gives it one function a clock cycle, called through
ctypes with all ports in one array each way. No HDL simulator runs, and so no bench of cocotb.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hw.rtl.kit.interface import CLOCKING, Interface, Wire, check_ports
from hw.rtl.kit.waves import is_shown
from hw.rtl.tools.simulator import compiled, include_folders
from hw.rtl.tools.verilator import Verilator, root
from sim.errors import SimulationError

WORD = 64  # bits of an entry of the arrays; a port takes as many whole ones as it needs
FLAGS = ("-std=c++20", "-fPIC", "-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TIMING=0", "-DVM_TRACE=0")
SLOW = "__Slow"  # in the names of Verilator's files that run once, at the beginning
OWN_ENDS = ("-DVL_USER_FATAL", "-DVL_USER_STOP", "-DVL_USER_FINISH")  # Verilator's own end the process
RUNTIME = ("verilated.cpp", "verilated_threads.cpp")  # of Verilator, seldom called in a cycle: not optimised

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
void words_into(uint32_t* port, int count, const uint64_t* words) {
    for (int i = 0; i < count; ++i) port[i] = static_cast<uint32_t>(words[i / 2] >> (32 * (i %% 2)));
}
void words_from(const uint32_t* port, int count, uint64_t* words) {
    for (int i = 0; i < count; i += 2)
        words[i / 2] = port[i] | (i + 1 < count ? static_cast<uint64_t>(port[i + 1]) << 32 : 0);
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
_WITHIN = re.compile(  # a wire of the module or of an instance in it, in Verilator's C++
    r"^ +(?:[CSIQ]Data|VlWide<\d+>)/\*(?P<high>\d+):0\*/ (?P<name>\w+?__DOT__\w+);", re.MULTILINE
)


class VerilatedModule:
    """A module as a library: compiled when made, loaded once, with as many instances as are asked for.

    Args:
        sources: Verilog files.
        interface: the module's ports.
        folder: where everything is built.
        watched: whether a waveform is to show what is within.

    Raises:
        SimulationError: if the module's ports are not those expected.
        HdlError: if Verilator or a compiler is missing, or does not accept the sources.
    """

    def __init__(
        self, sources: Sequence[Path], interface: Interface, folder: Path, *, watched: bool = False
    ) -> None:
        check_ports(interface, Verilator().ports(sources, interface.module, folder))
        self.interface = interface
        self.inputs = _places(_ports(interface, "input"))
        self.outputs = _places(_ports(interface, "output"))
        self.watched = watched
        self.inner: dict[str, Wire] = {}  # by the name of each in C++
        path = _compile(sources, self, folder.resolve() / f"verilated_{interface.module}")
        self.library = ctypes.CDLL(str(path))
        self.library.module_new.restype = ctypes.c_void_p
        self.library.module_fault.restype = ctypes.c_char_p
        self.library.module_fault.argtypes = self.library.module_delete.argtypes = [ctypes.c_void_p]
        self.library.module_idle.argtypes = [
            ctypes.c_void_p,
            ctypes.c_int,
            ctypes.c_void_p,
            ctypes.c_void_p,
        ]
        self.library.module_sample.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        self.library.module_cycle.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]


class VerilatedBackend:
    """One instance of a verilated module, reset when made; see ``hw.rtl.kit.backend.Backend``."""

    def __init__(self, module: VerilatedModule) -> None:
        self._library = module.library
        self._handle = module.library.module_new()
        self._places = module.inputs
        self._names = list(module.outputs)
        self._within = _places(list(module.inner.values()))
        self._signals = {wire.name: wire.width for wire in module.inner.values()}
        self._sampled = array("Q", bytes(8 * _length(self._within)))
        self._wide = {name: words for name, words in module.outputs.items() if len(words) > 1}
        self._in = array("Q", bytes(8 * _length(module.inputs)))
        self._out = array("Q", bytes(8 * _length(module.outputs)))
        self._before = array("Q", self._out)
        self._firsts = [words.start for words in module.outputs.values()] if self._wide else None
        self._arrays = self._in.buffer_info()[0], self._out.buffer_info()[0]
        self._run(1)

    def __del__(self) -> None:
        """Free the instance."""
        self._library.module_delete(self._handle)

    def cycle(self, changed: Mapping[str, int]) -> Mapping[str, int]:
        """Run one clock cycle; see ``Backend``."""
        for name, bits in changed.items():
            for i, word in enumerate(self._places[name]):
                self._in[word] = bits >> (WORD * i) & (1 << WORD) - 1
        self._run(0)
        return self._outputs()

    def idle(self, cycles: int) -> tuple[int, Mapping[str, int]]:
        """Run cycles with unchanged inputs; see ``Backend``."""
        ran = self._library.module_idle(self._handle, cycles, self._arrays[1], self._before.buffer_info()[0])
        self._require(ran == 0)
        return ran, self._outputs()

    def _outputs(self) -> dict[str, int]:
        if self._firsts is None:
            return dict(zip(self._names, self._out, strict=True))
        outputs = dict(zip(self._names, map(self._out.__getitem__, self._firsts), strict=True))
        for name, words in self._wide.items():
            outputs[name] = _number(self._out, words)
        return outputs

    def signals(self) -> Mapping[str, int]:
        """See ``Backend``."""
        return self._signals

    def sample(self) -> Sequence[int]:
        """See ``Backend``."""
        self._library.module_sample(self._handle, self._sampled.buffer_info()[0])
        return [_number(self._sampled, words) for words in self._within.values()]

    def _run(self, reset: int) -> None:
        self._require(self._library.module_cycle(self._handle, reset, *self._arrays))

    def _require(self, failed: int) -> None:
        if failed:
            raise SimulationError(self._library.module_fault(self._handle).decode(errors="replace"))


def _ports(interface: Interface, direction: str) -> list[Wire]:
    return [wire for wire in interface.wires() if wire.direction == direction and wire.name not in CLOCKING]


def _number(words: array[int], place: range) -> int:
    return sum(words[word] << (WORD * i) for i, word in enumerate(place))


def _places(wires: Sequence[Wire]) -> dict[str, range]:
    """The entries of the array that hold each port."""
    places: dict[str, range] = {}
    for wire in wires:
        first = _length(places)
        places[wire.name] = range(first, first - (-wire.width // WORD))
    return places


def _length(places: Mapping[str, range]) -> int:
    return max((words.stop for words in places.values()), default=0)


def _compile(sources: Sequence[Path], module: VerilatedModule, folder: Path) -> Path:
    """The library, from Verilator's C++ and the wrapper."""
    folder.mkdir(parents=True, exist_ok=True)
    name, environment = module.interface.module, os.environ | Verilator().environment()
    options = ["--cc", "-O3", "--no-timing", "--x-initial", "unique", "-Wno-fatal", "--prefix", "Vtop"]
    options += ["--public-flat-rw", "--flatten"] if module.watched else []
    includes = [f"-I{place}" for place in include_folders(sources)]
    files = [str(source.resolve()) for source in sources]
    compiled(
        ["verilator", *options, *includes, "-Mdir", str(folder), "--top-module", name, *files],
        name,
        environment,
    )
    if module.watched:
        module.inner = _within((folder / "Vtop___024root.h").read_text(encoding="utf-8"))
    parts = sorted(folder.glob("Vtop*.cpp"))
    wrapper, slow = folder / "wrapper.cc", folder / "slow.cc"
    wrapper.write_text(_wrapper(module, [part for part in parts if SLOW not in part.name]), encoding="utf-8")
    slow.write_text(_included(part.name for part in parts if SLOW in part.name), encoding="utf-8")
    runtime = root() / "include"
    flags = [*FLAGS, *OWN_ENDS, "-I", str(folder), "-I", str(runtime), "-I", str(runtime / "vltstd")]
    steps = [("-O1", wrapper), ("-O0", slow), *(("-O0", runtime / file) for file in RUNTIME)]
    library, key = folder / "module.so", folder / "module.key"
    content = _digest([*steps, flags], [*folder.glob("Vtop*"), wrapper])
    if library.is_file() and key.is_file() and key.read_text(encoding="utf-8") == content:
        return library
    key.unlink(missing_ok=True)

    def assembled(step: tuple[str, Path]) -> str:
        target = str(folder / f"{step[1].stem}.o")
        compiled(["g++", *flags, step[0], "-c", str(step[1]), "-o", target], name, os.environ)
        return target

    with ThreadPoolExecutor() as pool:
        objects = list(pool.map(assembled, steps))
    library.unlink(missing_ok=True)  # one that is loaded keeps its file
    compiled(["g++", "-shared", *objects, "-o", str(library), "-lpthread"], name, os.environ)
    key.write_text(content, encoding="utf-8")
    return library


def _digest(options: Sequence[object], files: Iterable[Path]) -> str:
    """What a library is made of: that of the last run in the folder is taken again if it is the same."""
    digest = hashlib.sha256(repr(options).encode())
    for file in sorted(files):
        if file.suffix in (".cpp", ".h", ".cc"):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _included(names: Iterable[str]) -> str:
    return "".join(f'#include "{name}"\n' for name in names)


def _wrapper(module: VerilatedModule, parts: Sequence[Path]) -> str:
    """One file of C++ with what runs in a cycle, since most of the compiler's time goes into headers."""
    includes = ["Vtop.h", "Vtop___024root.h", "verilated.h", *(part.name for part in parts)]
    wires = {wire.name: wire for wire in module.interface.wires()}
    return _WRAPPER % {
        "includes": _included(includes),
        "inputs": "\n".join(_assignments(module.inputs, wires, "in")),
        "outputs": "\n".join(_assignments(module.outputs, wires, "out")),
        "bytes": str(8 * _length(module.outputs)),
        "inner": "\n".join(_samples(module.inner)),
    }


def _within(header: str) -> dict[str, Wire]:
    """The named wires within, by their names in C++, sorted by those in Verilog."""
    found = {}
    for match in _WITHIN.finditer(header):
        _top, _, path = match["name"].partition("__DOT__")
        name = path.replace("__DOT__", ".")
        if is_shown(name):
            found[match["name"]] = Wire(name, "output", int(match["high"]) + 1)
    return dict(sorted(found.items(), key=lambda item: item[1].name))


def _samples(inner: Mapping[str, Wire]) -> Iterator[str]:
    places = _places(list(inner.values()))
    for name, wire in inner.items():
        words, first = -(-wire.width // 32), places[wire.name].start
        if wire.width > WORD:
            yield f"    words_from(&root.{name}[0], {words}, inner + {first});"
        else:
            yield f"    inner[{first}] = root.{name};"


def _assignments(places: Mapping[str, range], wires: Mapping[str, Wire], words: str) -> Iterator[str]:
    for name, place in places.items():
        first = place.start
        if len(place) > 1:
            function = "words_into" if words == "in" else "words_from"
            yield f"        {function}(&top.{name}[0], {-(-wires[name].width // 32)}, {words} + {first});"
        elif words == "in":
            yield f"        top.{name} = {words}[{first}];"
        else:
            yield f"        {words}[{first}] = top.{name};"
