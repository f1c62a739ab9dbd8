"""C types that the compiler derives: one example of each construct, and its declarations by hand."""

import ast
import re
from pathlib import Path

import pytest

from fiberscope.compiler import handwritten_pxd
from fiberscope.compiler.declarations import Generator
from fiberscope.compiler.methods import result_type
from fiberscope.compiler.module_dependencies import find_compiled_imports
from fiberscope.compiler.modules import Modules, UnsupportedError
from fiberscope.compiler.pxd_text import generate_pxd
from fiberscope.compiler.types import Types

HELPERS = """WIDTH = 2 ** 4
_SHARE = 0.5

def pack(first: int, second: float = _SHARE) -> int:  # C: cpdef
    return first

def table(size: int):
    return np.zeros(size, dtype=np.int32)

def python(size: int) -> int:
    return size

def mix(left: int) -> "unsigned":  # C: cdef, return=unsigned long, left=unsigned long
    return left
"""
BASE = """from helpers import WIDTH
LIMIT, DEPTH = 7, WIDTH - 1
FIRST, SECOND, THIRD = range(3)
FOURTH, FIFTH = range(4, 6)
SIZES = (1, 2, 3)
COUNT = len(SIZES)
SHARE = WIDTH / 4
UNKNOWN = compute()
MASK = UNKNOWN  # C: unsigned long
LOW, HIGH = SIZES_OF_OTHERS

class Base:  # C: open
    count: int
    ratio: float  # C: readonly
    names: list[int]
    rows: "Later | None"
    both: int | str
    other: dict[str, int]  # C: hidden

    def reset(self) -> None:
        self.width = self.name = None

    def __init__(self, name: str, later: "Later", rows: "Sequence[float]", width: int = WIDTH) -> None:
        self.name = name
        self.later = later
        self.width, self.half = width, width / 2
        self.rows_held = rows
        self.is_wide = width > LIMIT and self.count == 1
        self._words = array("q", bytes(8))
        self._bytes = np.zeros(4, np.uint8)
        self._doubles = np.ones(width)
        self.wider = self.is_wide + self.count
        self.least = min(self.count, 3)
        self.total = sum([1, 2])
        self.ordered = sorted(rows)
        self.mixed = self.count if rows else self.ratio
        self.first, self.second = [SECOND] * 2, COUNT
        self.flag = not width
        self.shifted = -self.count << DEPTH
        self.share = self.count * SHARE
        self.word = self._words[0]
        self.row = self.rows_held[0]
        self.part = self._words[1:]
        self.child = Later()
        self.later_count = later.total
        self.counted = self.result()
        self.short = 3  # C: said=short
        self.seen = 3  # C: public short

    def result(self) -> int:
        return self.count

    def _begin(self, later: "Later", now: int = 0, last: bool = False) -> None:
        for place in range(self.count):
            now += place
        for held in self.names:
            last = held == now
        if (best := self._pick(now)) > 3:
            return
        ratio, text = self.ratio, self.name

    def _pick(self, now: int) -> int:  # C: noexcept, inline
        least = self.count * now
        least = least > 3
        return least

    def _keywords(self, now: int, *, last: bool = False) -> None:
        self.count = now

    def many(self, *values: int) -> int:
        return self.count

    def named(self, **values: int) -> int:
        return self.count

    def placed(self, value: int, /) -> int:
        return value

    def _label(self) -> str:
        return self.name

    def choose(self, now: int) -> bool:  # C: cdef
        return now > 0

    def open(self, value: object) -> str:
        return str(value)

    def counters(self) -> int:
        return 1

    def sort(self) -> int:
        return max(self.names, key=lambda name: -name)

    def plain(self) -> int:  # C: def
        return SIZES[FIRST]

    @property
    def shape(self) -> int:
        return THIRD + FIFTH

    def finish(self, value: int) -> None:
        large = MASK  # C: unsigned long
        share = self.ratio
        self.count = LIMIT


class Later:  # C: final
    total: int
    rows: "Base | None"


class Last(Base):
    seen: int

    def _begin(self, later: "Later", now: int = 0, last: bool = False) -> None:
        self.extra = now
        self.seen = self.count + LOW
        self.child = 3
        self.something = self._label()
        self.count = now


class Untyped:  # C: object
    x: int


@dataclass
class Decorated:
    x: int


class Foreign(Exception):
    pass
"""
USER = """from collections.abc import Sequence
import helpers as unused
from base import Base, Later as Latest
from helpers import pack, table, python, mix as blend
from package import inner, hold


class User(Base):
    parts: Sequence[Latest]

    def __init__(self, later: Latest) -> None:
        self.table = table(3)
        self.value = python(3)
        self.packed = pack(1)
        self.blended = blend(1)
        self.held = later
        self.deep = self.held.rows
        self.ratio_of_rows = self.deep.ratio
        self.inner = inner.hold(1)
        self.first_part = self.parts[0]

    def choose(self, now: int) -> bool:
        return pack(now) > 0
"""
PACKAGE_INNER = """def hold(value: int) -> int:  # C: cdef
    return value
"""
LAZY = "from package import hold\n"
SOURCES = {"helpers": HELPERS, "base": BASE, "user": USER, "package.inner": PACKAGE_INNER, "lazy": LAZY}
HELPERS_TYPES = """cimport cython
cdef double _SHARE

cpdef long pack(long first, double second=*) except? -2

cdef unsigned long mix(unsigned long left) except? -1
"""
BASE_TYPES = """cimport cython
COUNT = ((long){3})
DEPTH = ((long){15})
FIFTH = ((long){5})
FIRST = ((long){0})
LIMIT = ((long){7})
cdef unsigned long MASK
SECOND = ((long){1})
cdef double SHARE
THIRD = ((long){2})
WIDTH = ((long){16})

cdef class Base:
    cdef dict __dict__
    cdef public long count
    cdef readonly double ratio
    cdef public list names
    cdef public Later rows
    cdef public object both
    cdef dict other
    cdef readonly object name
    cdef readonly Later later
    cdef readonly long width
    cdef readonly double half
    cdef readonly object rows_held
    cdef readonly bint is_wide
    cdef long[::1] _words
    cdef unsigned char[::1] _bytes
    cdef double[::1] _doubles
    cdef readonly long wider
    cdef readonly long least
    cdef readonly long total
    cdef readonly list ordered
    cdef readonly object mixed
    cdef readonly list first
    cdef readonly long second
    cdef readonly bint flag
    cdef readonly long shifted
    cdef readonly double share
    cdef readonly long word
    cdef readonly object row
    cdef readonly object part
    cdef readonly Later child
    cdef readonly long later_count
    cdef readonly long counted
    cdef readonly long short
    cdef public short seen
    cpdef int reset(self) except -1
    cpdef long result(self) except? -2
    @cython.locals(place="long", held="long", ratio="double", best="long")
    cdef void _begin(self, Later later, long now=*, bint last=*) except *
    @cython.locals(least="long")
    cdef inline long _pick(self, long now) noexcept
    cdef _label(self)
    cdef bint choose(self, long now) except -1
    @cython.locals(share="double", large="unsigned long")
    cpdef int finish(self, long value) except -1

@cython.final
cdef class Later:
    cdef public long total
    cdef public Base rows

cdef class Last(Base):
    cdef readonly long extra
    cdef readonly object something
    cdef void _begin(self, Later later, long now=*, bint last=*) except *
"""
USER_TYPES = """cimport cython
from base cimport Base
from base cimport Later as Latest
from helpers cimport mix as blend
from helpers cimport pack
from package cimport inner
from package.inner cimport hold

cdef class User(Base):
    cdef public object parts
    cdef readonly int[::1] table
    cdef readonly long value
    cdef readonly long packed
    cdef readonly unsigned long blended
    cdef readonly Latest held
    cdef readonly Base deep
    cdef readonly double ratio_of_rows
    cdef readonly long inner
    cdef readonly Latest first_part
    cdef bint choose(self, long now) except -1
"""
PACKAGE_INNER_TYPES = """cimport cython

cdef long hold(long value) except? -2
"""
LAZY_TYPES = "cimport cython\nfrom package.inner cimport hold\n"
TYPES = {
    "helpers": HELPERS_TYPES,
    "base": BASE_TYPES,
    "user": USER_TYPES,
    "package.inner": PACKAGE_INNER_TYPES,
    "lazy": LAZY_TYPES,
}


@pytest.fixture
def modules(tmp_path: Path) -> Modules:
    files = [tmp_path.joinpath(*name.split(".")).with_suffix(".py") for name in SOURCES]
    for file, text in zip(files, SOURCES.values(), strict=True):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    (tmp_path / "package" / "__init__.py").write_text(
        "def __getattr__(name):\n    from package.inner import hold\n    return hold\n"
    )
    return Modules([tmp_path], files)


def shortened(text: str) -> str:
    """Declarations with a line for each constant that is a C literal: NAME = literal."""
    literal = r'cdef extern from \*:\n    """\n    #define (\w+) (.*)\n    """\n    long (\w+) "\1"\n'
    return re.sub(literal, r"\3 = \2\n", text).rstrip() + "\n"


@pytest.mark.parametrize("name", SOURCES)
def test_each_construct_has_its_type(modules: Modules, name: str) -> None:
    module = modules.find(name)
    assert module is not None
    assert shortened(generate_pxd(modules, module)) == TYPES[name]


@pytest.mark.parametrize(
    ("returns", "ctype"),
    [("None", "int"), ('"Base"', "Base"), ("Base", "Base"), ("float", "double"), ("str", "")],
)
def test_only_none_is_no_result(modules: Modules, returns: str, ctype: str) -> None:
    module = modules.find("base")
    assert module is not None
    function = ast.parse(f"def run(self) -> {returns}: pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    assert result_type(Types(modules, module, Generator(modules)), function, set()) == ctype


def test_what_is_read_of_a_handwritten_file_is_what_is_written(modules: Modules) -> None:
    for name in SOURCES:
        module = modules.find(name)
        assert module is not None
        generator = Generator(modules)
        own = generator.declare_module(module)
        text = generate_pxd(modules, module)
        parsed = handwritten_pxd.parse_pxd(text)
        assert parsed.functions == own.functions
        assert {
            key: (value.base, value.final, value.attributes, value.methods)
            for key, value in parsed.classes.items()
        } == {
            key: (value.base, value.final, value.attributes, value.methods)
            for key, value in own.classes.items()
        }


def test_modules_that_a_module_needs_are_those_of_its_imports_and_types(modules: Modules) -> None:
    def names(*roots: str) -> set[str]:
        return {module.name for module in find_compiled_imports(modules, roots)}

    assert names("helpers", "nowhere") == {"helpers"}
    assert names("user") == {"user", "base", "helpers", "package.inner"}
    assert names("lazy") == {"lazy", "package.inner"}
    assert names("package") == set()  # which imports it when it is used


@pytest.mark.parametrize("arguments", ["now, /", "*, now", "*now", "**now"])
def test_a_c_function_has_no_arguments_of_python_alone(tmp_path: Path, arguments: str) -> None:
    path = tmp_path / "part.py"
    path.write_text(f"def run({arguments}):  # C: cdef\n    pass\n")
    modules = Modules([tmp_path], [path])
    module = modules.find("part")
    assert module is not None
    with pytest.raises(UnsupportedError, match=r"part.py:1: run is compiled as a C function"):
        generate_pxd(modules, module)
