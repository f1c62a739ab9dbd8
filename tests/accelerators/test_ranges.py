"""The ranges that are told are those that are held: what lies just outside is refused, by name."""

import pytest

from fiberscope import accelerators
from fiberscope.accelerators.configuration import ConfigurationError, leaf_keys, load
from fiberscope.accelerators.ranges import Range, ranges

MACHINES = [accelerators.find(name) for name in accelerators.names()]
BOUNDS = [
    (machine, key, value)
    for machine in MACHINES
    for key, told in ranges(machine.configuration).items()
    for value in (told.minimum, told.maximum)
    if isinstance(value, int) and not isinstance(value, bool)
]


@pytest.mark.parametrize(
    ("machine", "key", "bound"), BOUNDS, ids=lambda value: str(getattr(value, "name", value))
)
def test_what_lies_outside_is_refused(machine, key, bound):
    told = ranges(machine.configuration)[key]
    outside = bound - 1 if bound == told.minimum else bound + 1
    with pytest.raises(ConfigurationError, match=f"settings: {key} is {outside}; it should be"):
        load(machine.configuration, machine.shipped, name=machine.name, settings={key: outside})


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_every_parameter_has_one_and_choices_are_all_taken(machine):
    told = ranges(machine.configuration)
    assert list(told) == list(leaf_keys(machine.configuration))
    for key, values in told.items():
        for choice in values.choices:
            value = {"true": True, "false": False}.get(choice, choice)
            settings = {key: value}
            if choice.startswith("per_bank"):  # which DDR4 refuses
                settings["memory.standard"] = "HBM2_2000"
            load(machine.configuration, machine.shipped, name=machine.name, settings=settings)


def test_quantities_have_their_units():
    told = ranges(accelerators.find("gamma").configuration)
    assert str(told["fibercache.line"]) == "2 B to 4 KiB"
    assert str(told["clock"]) == "at least 1 MHz"


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (Range(1, 256), "1 to 256"),
        (Range(minimum=1), "at least 1"),
        (Range(maximum=7), "at most 7"),
        (Range(choices=("a", "b", "c")), "a, b or c"),
        (Range(choices=("a",)), "a"),
        (Range(), ""),
    ],
)
def test_ranges_in_words(told, text):
    assert str(told) == text
