"""The catalogue of blocks with twins, by name, collected from all twin modules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import walk_packages

from fiberscope import hw
from fiberscope.hw.rtl.kit import channel
from fiberscope.hw.rtl.kit.block import RtlBlock

_TWIN = "_rtl"  # suffix of a twin's file


def _module_values() -> Iterator[object]:
    for module in walk_packages(hw.__path__, f"{hw.__name__}."):
        if module.name.endswith(_TWIN):
            yield from vars(import_module(module.name)).values()


def _blocks() -> Iterator[RtlBlock]:
    yield channel.BLOCK
    yield from (value for value in _module_values() if isinstance(value, RtlBlock))


def _by_name(*, listed: bool) -> Mapping[str, RtlBlock]:
    blocks = (block for block in _blocks() if block.listed == listed)
    return {block.name: block for block in sorted(blocks, key=lambda unit: unit.name)}


BLOCKS = _by_name(listed=True)
PARTS = _by_name(listed=False)  # blocks that only join others, or belong to one machine
