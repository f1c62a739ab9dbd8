"""The catalogue of blocks with twins, by name, collected from all twin modules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType

from fiberscope import hw
from fiberscope.hw.rtl.kit import channel
from fiberscope.hw.rtl.kit.block import RtlBlock

_TWIN = "_rtl"  # suffix of a twin's file


def _modules() -> Iterator[ModuleType]:
    yield channel
    for module in walk_packages(hw.__path__, f"{hw.__name__}."):
        if module.name.endswith(_TWIN):
            yield import_module(module.name)


def _blocks() -> Iterator[tuple[str, RtlBlock]]:
    """Yield the blocks of each module with the name of the module."""
    for module in _modules():
        for value in vars(module).values():
            if isinstance(value, RtlBlock):
                yield module.__name__, value


def module_of(block: str) -> str:
    """Return the name of a module that holds the block of a name."""
    return next(module for module, each in _blocks() if each.name == block)


def _by_name(*, listed: bool) -> Mapping[str, RtlBlock]:
    blocks = (block for _module, block in _blocks() if block.listed == listed)
    return {block.name: block for block in sorted(blocks, key=lambda unit: unit.name)}


BLOCKS = _by_name(listed=True)
PARTS = _by_name(listed=False)  # blocks that only join others, or belong to one machine
