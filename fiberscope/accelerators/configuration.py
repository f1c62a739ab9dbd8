"""The parameters of a machine: its ``config.yaml``, a user's file over it, and settings over both.

A machine's parameters are a ``Configuration`` whose fields are numbers, quantities, names or further
``Configuration`` sections. Every one of them stands in the machine's ``config.yaml``, with its unit in the
key, the value or the comment, and its source in the comment.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator
from pydantic.fields import FieldInfo

from fiberscope.accelerators.errors import ConfigurationError, ConflictError
from fiberscope.accelerators.quantities import Bytes, BytesPerSecond, Hertz, Picoseconds
from fiberscope.accelerators.yaml_layer import Entry, read_scalar, read_yaml
from fiberscope.workloads.errors import nearest

__all__ = [
    "Bytes",
    "BytesPerSecond",
    "Configuration",
    "ConfigurationError",
    "ConflictError",
    "Hertz",
    "Parameter",
    "Picoseconds",
    "digest",
    "format_value",
    "header",
    "integer_field",
    "layers",
    "leaf_fields",
    "leaf_keys",
    "load",
    "parameters",
    "parse_settings",
    "validate",
    "values",
]

AnyConfiguration = TypeVar("AnyConfiguration", bound="Configuration")
AnyModel = TypeVar("AnyModel", bound=BaseModel)


class Configuration(BaseModel):
    """A machine's parameters, or a section of them. Unknown keys are refused; instances are immutable."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, validate_default=True)

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_truth_as_number(cls, value: object, info: ValidationInfo) -> object:
        """``count: true`` is a slip, not one."""
        annotation = cls.model_fields[str(info.field_name)].annotation
        if isinstance(value, bool) and annotation in (int, float):
            raise ValueError("it should be a number")
        return value


def integer_field(limits: tuple[int, int]) -> Any:  # noqa: ANN401 - what pydantic's Field gives
    """A field that takes a whole number within the limits that a block of ``hw`` has for it."""
    return Field(ge=limits[0], le=limits[1])


@dataclass(frozen=True)
class Parameter:
    """One parameter of a machine as shipped: dotted key, value as written, and what the file says of it."""

    key: str
    value: object
    comment: str


def load(
    model: type[AnyConfiguration],
    shipped: Path,
    *,
    name: str,
    file: str | Path | None = None,
    settings: Mapping[str, object] | None = None,
) -> AnyConfiguration:
    """The parameters to build a machine from; a later layer wins.

    Args:
        model: the machine's configuration.
        shipped: its ``config.yaml``.
        name: the machine's name, for messages.
        file: a user's YAML file; it need only give what differs.
        settings: dotted keys and values, as in ``{"pe.count": 64, "fibercache.size": "6 MiB"}``; a value may
            be an ``Entry``, which messages then say the origin of.

    Raises:
        ConfigurationError: a key that does not exist, a value that cannot be, or values at odds.
    """
    return validate(model, layers(shipped, name=name, file=file, settings=settings), name)


def layers(
    shipped: Path,
    *,
    name: str,
    preset: Mapping[str, Entry] | None = None,
    file: str | Path | None = None,
    settings: Mapping[str, object] | None = None,
) -> dict[str, Entry]:
    """Return the layers that ``load`` reads, by dotted key, unchecked; ``preset`` overrides what is shipped.

    Raises:
        ConfigurationError: a file that cannot be read.
    """
    entries = dict(
        _shipped(shipped, f"{name}/{shipped.name}", shipped.stat().st_mtime_ns if shipped.is_file() else 0)
    )
    entries |= preset or {}
    if file is not None:
        entries |= read_yaml(Path(file))
    for key, value in (settings or {}).items():
        entries[key] = Entry.wrap(value)
    return entries


@lru_cache(maxsize=64)
def _shipped(path: Path, name: str, _written: int) -> dict[str, Entry]:
    """A machine's own file, read once: a sweep asks for it at every point."""
    return read_yaml(path, name)


def validate(model: type[AnyModel], entries: Mapping[str, Entry], name: str) -> AnyModel:
    """The model with the values of ``entries``.

    Args:
        model: a configuration, or another model of plain values.
        entries: the entries by dotted key.
        name: whose parameters they are, for messages.

    Raises:
        ConfigurationError: as of ``load``.
    """
    _check_keys(model, entries, name)
    try:
        return model.model_validate(_nested(entries))
    except ValidationError as error:
        raise _refusal(error, entries, name) from error


def parse_settings(settings: Iterable[str]) -> dict[str, Entry]:
    """Settings of a command line, written ``key=value``, as ``load`` takes them.

    Raises:
        ConfigurationError: one without ``=`` or without a key.
    """
    parsed: dict[str, Entry] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise ConfigurationError(f"--set {setting}: write it as key=value, for example pe.count=64")
        parsed[key.strip()] = Entry(read_scalar(value.strip()), "--set")
    return parsed


def parameters(shipped: Path) -> list[Parameter]:
    """Every parameter of a machine as shipped, in the file's order."""
    return [Parameter(key, entry.value, entry.comment) for key, entry in read_yaml(shipped).items()]


def header(shipped: Path) -> list[str]:
    """The lines of comment that the file begins with: what the machine is, and what its sources are."""
    lines = shipped.read_text(encoding="utf-8").splitlines()
    return [line.lstrip("# ") for line in itertools.takewhile(lambda line: line.startswith("#"), lines)]


def format_value(value: object) -> str:
    """A value as a configuration file would have it."""
    if value is None:
        return "empty"
    return str(value).lower() if isinstance(value, bool) else str(value)


def digest(parameters: Mapping[str, object]) -> str:
    """The sha256, in hexadecimal, of all parameters as in JSON: equal for equal ones, however written."""
    text = json.dumps(parameters, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def leaf_keys(model: type[BaseModel]) -> Iterator[str]:
    """Dotted keys of all parameters of a model, in the order of declaration."""
    return (key for key, _field in leaf_fields(model))


def values(configured: BaseModel) -> dict[str, Any]:
    """All parameters of a configuration by dotted key, in base units."""
    return {key: reduce(getattr, key.split("."), configured) for key in leaf_keys(type(configured))}


def leaf_fields(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """The same, each with its field."""
    for name, field in model.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, BaseModel):
            yield from leaf_fields(section, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", field


def _check_keys(model: type[BaseModel], entries: Mapping[str, Entry], name: str) -> None:
    keys = list(leaf_keys(model))
    for key, entry in entries.items():
        subkeys = [other for other in keys if other.startswith(f"{key}.")]
        if subkeys:
            raise ConfigurationError(f"{entry.origin}: {key} is a section; set {', '.join(subkeys)}")
        if key not in keys:
            raise ConfigurationError(f"{entry.origin}: {name} has no parameter {key}; {nearest(key, keys)}")


def _nested(entries: Mapping[str, Entry]) -> dict[str, Any]:
    """The tree that dotted keys describe."""
    tree: dict[str, Any] = {}
    for key, entry in entries.items():
        *sections, leaf = key.split(".")
        branch = tree
        for section in sections:
            branch = branch.setdefault(section, {})
        branch[leaf] = entry.value
    return tree


def _refusal(error: ValidationError, entries: Mapping[str, Entry], name: str) -> ConfigurationError:
    """The first fault, in one line: where, which key, what was given, what would be right.

    A fault of several values at once comes from a validator of ours, whose message names the keys.
    """
    fault = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in fault["loc"])
    message = " ".join(fault["msg"].removeprefix("Value error, ").split())
    message = message.replace("Input should be", "it should be", 1)
    message = message.replace("a valid integer", "an integer").partition(", unable to parse")[0]
    entry = _entry_of(key, entries)
    if entry is not None:
        return ConfigurationError(f"{entry.origin}: {key} is {_shown(fault['input'])}; {message}")
    if fault["type"] == "missing":
        return ConfigurationError(f"{name}: {key} is missing; its config.yaml should give every parameter")
    return ConflictError(f"{name}: {message}")


def _entry_of(key: str, entries: Mapping[str, Entry]) -> Entry | None:
    """The entry of a key, or of the list that the key is an element of."""
    while key and key not in entries:
        key = key.rpartition(".")[0]
    return entries.get(key)


def _shown(value: object) -> str:
    text = format_value(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
