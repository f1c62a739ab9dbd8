"""Settings within the ranges that a machine tells, drawn at random: extremes, and neighbours of its own."""

import random
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from fiberscope.accelerators.configuration import ConfigurationError, load
from fiberscope.accelerators.machine import Accelerator
from fiberscope.accelerators.quantities import in_base_units
from fiberscope.accelerators.ranges import Range, ranges
from fiberscope.hw.dram import ADDRESS_MAPS, standards

MOST_CHANGES = 12
WORDS = {
    "memory.standard": tuple(standards()),
    "memory.address_map": tuple(ADDRESS_MAPS),
    "apply.write_all": ("auto", "true", "false"),
}


def drawn(kind: Accelerator[Any], under: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Settings of which a few are drawn, each anywhere in its range, but for those that are refused.

    Args:
        kind: the machine.
        under: settings that the drawn ones lie over.
        seed: of the draw.
    """
    generator = random.Random(seed)
    told, settings = ranges(kind.configuration), dict(under)
    for key in generator.sample(sorted(told), generator.randint(1, min(MOST_CHANGES, len(told)))):
        present = _of(load(kind.configuration, kind.shipped, name=kind.name, settings=settings), key)
        with suppress(ConfigurationError):
            tried = settings | {key: _value(generator, told[key], present, key)}
            load(kind.configuration, kind.shipped, name=kind.name, settings=tried)
            settings = tried
    return settings


def _of(parameters: Any, key: str) -> Any:
    for part in key.split("."):
        parameters = getattr(parameters, part)
    return parameters


def _value(generator: random.Random, told: Range, present: Any, key: str) -> Any:
    if words := told.choices or WORDS.get(key):
        return generator.choice(words)
    if isinstance(present, float):
        return generator.choice([told.minimum, told.maximum, present, generator.random()])
    least = _number(told.minimum)
    most = _number(told.maximum) or 64 * present + 64
    near = present * 2 ** generator.randint(-6, 6)
    value = generator.choice([least, most, least + 1, int(near), generator.randint(least, most)])
    value = min(max(value, least), most)
    return f"{value} ps" if key == "memory.simple_latency" else value


def _number(bound: Any) -> int:
    """A bound in base units, 0 where there is none."""
    return int(in_base_units(bound) or 0)
