"""Python subclasses of compiled blocks with the same behaviour, whose methods count their calls."""

import ast
import importlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from fiberscope.sim import Component, SimulationError
from fiberscope.sim.overrides import refuse_overrides

ROOT = Path(__file__).parents[2]


@cache
def compiled_blocks() -> tuple[type[Component], ...]:
    """Return all component classes of modules that are compiled."""
    blocks = []
    for path in sorted((ROOT / "fiberscope").rglob("*.pxd")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        module = importlib.import_module(name)
        blocks += [value for value in vars(module).values() if _is_block(value) and value.__module__ == name]
    return tuple(blocks)


def _is_block(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Component)


@cache
def methods_in_source(cls: type) -> frozenset[str]:
    """Return the methods that the sources of a class and of its bases define, without properties."""
    names: set[str] = set()
    for base in cls.__mro__[:-1]:
        if not base.__module__.startswith("fiberscope."):
            continue
        source = ROOT.joinpath(*base.__module__.split(".")).with_suffix(".py")
        node = next(node for node in _classes(source) if node.name == base.__name__)
        names |= {item.name for item in node.body if isinstance(item, ast.FunctionDef) and _is_method(item)}
    return frozenset(names)


@cache
def _classes(source: Path) -> list[ast.ClassDef]:
    return [node for node in ast.parse(source.read_text("utf-8")).body if isinstance(node, ast.ClassDef)]


def _is_method(item: ast.FunctionDef) -> bool:
    return not item.decorator_list and not item.name.startswith("__")


def refusal(cls: type, method: str) -> str:
    """Return the message that refuses a subclass that overrides a method; empty if it is accepted."""
    subclass = type("Mine", (cls,), {method: lambda *_: None})
    try:
        refuse_overrides("block", subclass.__new__(subclass))
    except SimulationError as error:
        return str(error)
    return ""


def counting(cls: type, counts: Counter[str]) -> type:
    """Return a subclass that overrides every method that may be overridden, and counts the calls."""

    def wrap(name: str) -> Callable[..., Any]:
        def method(self: Any, *arguments: Any, **options: Any) -> Any:
            counts[f"{cls.__name__}.{name}"] += 1
            return getattr(cls, name)(self, *arguments, **options)

        return method

    names = sorted(name for name in methods_in_source(cls) if not refusal(cls, name))
    return type(cls.__name__, (cls,), {"__module__": cls.__module__, **{name: wrap(name) for name in names}})


def substitute(modules: list[ModuleType], counts: Counter[str]) -> None:
    """Replace blocks by counting subclasses, wherever modules create components."""
    classes = [(block, counting(block, counts)) for block in _named_blocks(modules)]
    replacement = dict(classes)
    for module in modules:
        for holder in [vars(module), *_parts(module)]:
            for name, value in list(holder.items()):
                if isinstance(value, type) and value in replacement:
                    holder[name] = replacement[value]


def _named_blocks(modules: list[ModuleType]) -> Iterator[type]:
    blocks = {
        value
        for module in modules
        for holder in [vars(module), *_parts(module)]
        for value in holder.values()
        if _is_block(value) and value is not Component and value.__module__ != module.__name__
    }
    return iter(sorted(blocks, key=lambda block: block.__qualname__))


def _parts(module: ModuleType) -> Iterator[dict[str, Any]]:
    """Return the part tables of the machines in a module."""
    for value in vars(module).values():
        if isinstance(value, type) and value.__module__ == module.__name__ and "PARTS" in vars(value):
            yield vars(value)["PARTS"]


def plain_modules(*packages: str) -> list[ModuleType]:
    """Return the imported modules of packages that are not compiled: their names can be replaced."""
    return [
        module
        for name, module in sorted(sys.modules.items())
        if name.startswith(packages) and not path_of(module).with_suffix(".pxd").is_file()
    ]


def path_of(module: ModuleType) -> Path:
    """Return the path of a module's source."""
    file = Path(str(module.__file__))
    return file.with_name(f"{file.name.partition('.')[0]}.py")
