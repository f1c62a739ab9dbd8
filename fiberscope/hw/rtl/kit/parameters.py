"""Parameters of twins: numbers and named choices that are checked, and set by name on the command line."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import Field, asdict, dataclass, field, fields, replace
from typing import Any, TypeVar

from fiberscope.base.whole_numbers import read_whole_number
from fiberscope.sim.names import nearest

# Keys of the metadata of a parameter's dataclass field:
CHOICES = "choices"  # the allowed names
BOUNDS = "bounds"  # the minimum and maximum of a number
WITHIN = "within"  # a function of all parameters that returns tighter bounds
NUMBERS = "numbers"  # the allowed numbers
UNNAMED = "unnamed"  # present if the head of the Verilog omits the parameter with its default value


class Refusals:
    """Collect the errors of several checks and raise them as one error.

    Run each check within ``collected``, and call ``check`` after all of them.
    """

    def __init__(self) -> None:
        self._messages: dict[str, None] = {}

    def add(self, message: str) -> None:
        """Add a message; equal messages count once."""
        self._messages[message] = None

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Add the message of a ValueError within the context, and continue after the context."""
        try:
            yield
        except ValueError as error:
            self.add(str(error))

    def check(self) -> None:
        """Raise the collected messages as one error.

        Raises:
            ValueError: there is a message.
        """
        if self._messages:
            raise ValueError("; ".join(self._messages))


@dataclass(frozen=True)
class Parameters:
    """Base class of the parameters of a block: a dataclass with defaults, named after the block.

    A parameter is a number, or one of several names, which its field lists under ``CHOICES`` in its metadata.

    Raises:
        ValueError: a value that ``number``, ``one_of`` or ``choice`` does not allow.
    """

    def __post_init__(self) -> None:
        """Check all parameters; report all faults together."""
        refusals = Refusals()
        for own_field in fields(self):
            with refusals.collected():
                self._check(own_field)
        refusals.check()
        for own_field in fields(self):
            if WITHIN in own_field.metadata:
                bounds = own_field.metadata[WITHIN](self)
                check_range(self.block_name, own_field.name, getattr(self, own_field.name), *bounds)

    def _check(self, own_field: Field[Any]) -> None:
        """Check a parameter against the bounds, numbers or choices of its field."""
        block, value = self.block_name, getattr(self, own_field.name)
        if BOUNDS in own_field.metadata:
            check_range(block, own_field.name, value, *own_field.metadata[BOUNDS])
        if NUMBERS in own_field.metadata:
            _check_number(block, own_field.name, value, own_field.metadata[NUMBERS])
        if CHOICES in own_field.metadata:
            check_choice(block, own_field.name, value, own_field.metadata[CHOICES])

    @property
    def header(self) -> str:
        """Return the parameters for the head of the Verilog, each as ``name=value``."""
        values = asdict(self)
        return " ".join(
            f"{own.name}={values[own.name]}"
            for own in fields(self)
            if UNNAMED not in own.metadata or values[own.name] != own.default
        )

    @property
    def block_name(self) -> str:
        """The name of the block in messages."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__.removesuffix("Parameters")).lower()


def number(
    default: int, least: int, most: int, within: Callable[[Any], tuple[int, int]] | None = None
) -> int:
    """Declare a parameter that is a number within bounds, as the default value of a dataclass field.

    Args:
        least, most: minimum and maximum.
        within: returns a tighter minimum and maximum from all parameters; None for none.
    """
    metadata = {BOUNDS: (least, most)} | ({WITHIN: within} if within else {})
    parameter: int = field(default=default, metadata=metadata)
    return parameter


def one_of(default: int, *numbers: int) -> int:
    """Declare a parameter that is one of ``numbers``, as the default value of a dataclass field."""
    parameter: int = field(default=default, metadata={NUMBERS: numbers})
    return parameter


def choice(default: str, names: Sequence[str]) -> str:
    """Declare a parameter that is one of ``names``, as the default value of a dataclass field."""
    parameter: str = field(default=default, metadata={CHOICES: names})
    return parameter


Kind = TypeVar("Kind", bound=Parameters)


def check_range(block: str, name: str, number: int, least: int, most: int) -> None:
    """Check that a number is within its range.

    Args:
        block: name of the block, for the message.
        name: name of the parameter, for the message.
        number: its value.
        least, most: minimum and maximum.

    Raises:
        ValueError: naming the block, the parameter and the range.
    """
    if not least <= number <= most:
        raise ValueError(f"{block}: {name} must be from {least} to {most}, not {number}")


def _check_number(block: str, name: str, value: int, numbers: Sequence[int]) -> None:
    if value not in numbers:
        *others, last = map(str, numbers)
        raise ValueError(f"{block}: {name} must be {', '.join(others)} or {last}, not {value}")


def check_choice(block: str, name: str, chosen: str, choices: Sequence[str]) -> None:
    """Check that a name is one of the choices.

    Raises:
        ValueError: naming the block, the parameter and the choices.
    """
    if chosen not in choices:
        raise ValueError(f"{block}: {name} must be one of {', '.join(choices)}, not {chosen}")


def least(kind: type[Kind]) -> Kind:
    """Return the smallest parameters: each number in turn gets its minimum, if that is valid.

    A minimum may be invalid with the parameters before it, or with the defaults of those after it. The number
    then keeps its default.
    """
    parameters = kind()
    for own_field in fields(kind):
        metadata = own_field.metadata
        numbers = metadata.get(BOUNDS) or metadata.get(NUMBERS) or [getattr(parameters, own_field.name)]
        with suppress(ValueError):
            parameters = replace(parameters, **{own_field.name: min(numbers)})
    return parameters


def described(kind: type[Parameters]) -> list[str]:
    """Return a line with all parameters and their defaults, and a line for each parameter with choices."""
    listed = fields(kind)
    defaults = " ".join(f"{parameter.name}={parameter.default}" for parameter in listed)
    return [defaults] + [
        f"{parameter.name}: {', '.join(parameter.metadata[CHOICES])}"
        for parameter in listed
        if CHOICES in parameter.metadata
    ]


def payload_widths(reference_bits: int, value_bits: int) -> dict[str, int]:
    """Return the fields of a stream with an optional reference and value; 0 bits omit a field."""
    widths = {"reference": reference_bits, "value": value_bits}
    return {name: bits for name, bits in widths.items() if bits}


def parse(block: str, kind: type[Kind], settings: Sequence[str]) -> Kind:
    """Return parameters from settings ``name=number`` or ``name=choice``; others keep their defaults.

    Args:
        block: name of the block, for messages.
        kind: class of the parameters.
        settings: the settings; of equal names, the last one counts.

    Raises:
        ValueError: an unknown name (naming the nearest), a malformed number, a value out of range, an unknown
            choice, or a list.
    """
    parsed = combinations(block, kind, settings)
    if len(parsed) > 1:
        listed = next(setting for setting in settings if "," in setting)
        raise ValueError(f"--set {listed}: write one value; several are for fiberscope rtl area")
    return parsed[0]


def combinations(block: str, kind: type[Kind], settings: Sequence[str]) -> list[Kind]:
    """Return every combination of settings with several values each: ``name=number,number``.

    The values of the last setting vary fastest.

    Raises:
        ValueError: see ``parse``, except for lists; for any combination.
    """
    values_by_name = _values_by_name(block, kind, settings)
    return [
        kind(**dict(zip(values_by_name, values, strict=True)))
        for values in itertools.product(*values_by_name.values())
    ]


def _values_by_name(
    block: str, kind: type[Parameters], settings: Sequence[str]
) -> dict[str, list[int | str]]:
    """Return the values of each parameter in the settings."""
    parameters_by_name = {parameter.name: parameter for parameter in fields(kind)}
    values_by_name: dict[str, list[int | str]] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise ValueError(_advice(setting, next(iter(parameters_by_name.values()))))
        if name not in parameters_by_name:
            raise ValueError(f"{block} has no parameter {name}; {nearest(name, parameters_by_name)}")
        values_by_name[name] = [
            _parse_value(setting, value.strip(), parameters_by_name[name]) for value in text.split(",")
        ]
    return values_by_name


def _parse_value(setting: str, text: str, parameter: Field[Any]) -> int | str:
    """Return the text of a choice, or the number in the text of another parameter."""
    if CHOICES in parameter.metadata:
        return text
    number = read_whole_number(text.removeprefix("-"))
    if number is None:
        raise ValueError(_advice(setting, parameter))
    return -number if text.startswith("-") else number


def _advice(setting: str, parameter: Field[Any]) -> str:
    kind = "choice" if CHOICES in parameter.metadata else "number"
    return f"--set {setting}: write name={kind}, as in {parameter.name}={parameter.default}"
