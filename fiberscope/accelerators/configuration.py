"""The parameters of a machine, read from layers: ``config.yaml``, a user's file, and settings.

A later layer takes precedence over an earlier layer. The parameters of a machine are a ``Configuration``. Its
fields are numbers, quantities, names, or sections, which are themselves ``Configuration`` models. A *dotted
key* names a parameter by its sections, for example ``pe.count``. The machine's ``config.yaml`` has every
parameter, with its unit in the key, the value or the comment, and with its source in the comment.
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
from fiberscope.workloads.errors import suggest

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
    """Parameters of a machine or of a section. Unknown keys are errors; instances are immutable."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, validate_default=True)

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_truth_as_number(cls, value: object, info: ValidationInfo) -> object:
        """Refuse a truth value for a number: pydantic would read ``count: true`` as 1."""
        annotation = cls.model_fields[str(info.field_name)].annotation
        if isinstance(value, bool) and annotation in (int, float):
            raise ValueError("it should be a number")
        return value


def integer_field(limits: tuple[int, int]) -> Any:  # noqa: ANN401 - what pydantic's Field gives
    """Return a pydantic field for an integer within limits.

    Args:
        limits: smallest and largest value, both inclusive, usually a constant of the block in ``hw``.
    """
    return Field(ge=limits[0], le=limits[1])


@dataclass(frozen=True)
class Parameter:
    """One parameter in a machine's ``config.yaml``: dotted key, value as written, and comment."""

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
    """Load the parameters of a machine; ``settings`` override ``file``, and ``file`` overrides ``shipped``.

    Args:
        model: configuration class of the machine.
        shipped: path of the machine's ``config.yaml``.
        name: name of the machine, for error messages.
        file: path of a user's YAML file, which needs only the parameters that differ, or of a run's report.
        settings: values by dotted key, for example ``{"pe.count": 64, "fibercache.size": "6 MiB"}``. A value
            may be an ``Entry``; error messages then name the origin of the entry.

    Raises:
        ConfigurationError: if a file cannot be read, a key does not exist, or a value is invalid.
        ConflictError: if several values are valid alone, but not together.
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
    """Merge the layers that ``load`` reads, without checking keys or values.

    Args:
        shipped, name, file, settings: as of ``load``.
        preset: values by dotted key that override ``shipped`` only.

    Returns:
        The entry with the highest precedence of each dotted key.

    Raises:
        ConfigurationError: if a file cannot be read, is not YAML or not a mapping, or has a key twice.
    """
    entries = dict(  # a copy, since later calls get the same cached layer
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
    """Read a machine's ``config.yaml`` once, since a sweep needs it at every point.

    ``_written`` is the file's time of modification: the cache then notices a change of the file.
    """
    return read_yaml(path, name)


def validate(model: type[AnyModel], entries: Mapping[str, Entry], name: str) -> AnyModel:
    """Build a model from entries, and check all keys and values.

    Args:
        model: configuration class, or another pydantic model with plain values.
        entries: entries by dotted key.
        name: name of the machine or problem that has the parameters, for error messages.

    Raises:
        ConfigurationError: if a key does not exist or is missing, or a value is invalid.
        ConflictError: if several values are valid alone, but not together.
    """
    _check_keys(model, entries, name)
    try:
        return model.model_validate(_nested(entries))
    except ValidationError as error:
        raise _to_error(error, entries, name) from error


def parse_settings(settings: Iterable[str]) -> dict[str, Entry]:
    """Parse the settings of a command line, each written ``key=value``, for ``load``.

    Of several settings with the same key, the last counts.

    Raises:
        ConfigurationError: if a setting has no ``=`` or no key.
    """
    parsed: dict[str, Entry] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise ConfigurationError(f"--set {setting}: write it as key=value, for example pe.count=64")
        parsed[key.strip()] = Entry(read_scalar(value.strip()), "--set")
    return parsed


def parameters(shipped: Path) -> list[Parameter]:
    """Return every parameter in a machine's ``config.yaml``, in the order of the file.

    Raises:
        ConfigurationError: as of ``layers``.
    """
    return [Parameter(key, entry.value, entry.comment) for key, entry in read_yaml(shipped).items()]


def header(shipped: Path) -> list[str]:
    """Return the comment lines at the start of a ``config.yaml``, without ``#``; empty if it has none."""
    lines = shipped.read_text(encoding="utf-8").splitlines()
    return [line.lstrip("# ") for line in itertools.takewhile(lambda line: line.startswith("#"), lines)]


def format_value(value: object) -> str:
    """Return a value as written in a configuration file, for example ``true``; ``empty`` for None."""
    if value is None:
        return "empty"
    return str(value).lower() if isinstance(value, bool) else str(value)


def digest(parameters: Mapping[str, object]) -> str:
    """Return the SHA-256 digest of parameters, in hexadecimal; the order of the keys does not matter.

    Raises:
        TypeError: if JSON cannot represent a value.
    """
    text = json.dumps(parameters, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def leaf_keys(model: type[BaseModel]) -> Iterator[str]:
    """Return the dotted keys of all parameters of a model, in the order of declaration."""
    return (key for key, _field in leaf_fields(model))


def values(configured: BaseModel) -> dict[str, Any]:
    """Return all parameters of a configuration by dotted key, in base units (bytes, hertz, picoseconds)."""
    return {key: reduce(getattr, key.split("."), configured) for key in leaf_keys(type(configured))}


def leaf_fields(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Yield the dotted key and the field of every parameter of a model, in the order of declaration.

    Args:
        model: configuration class, or another pydantic model.
        prefix: prefix of the keys: the dotted key of the section and a dot, or empty.
    """
    for name, field in model.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, BaseModel):
            yield from leaf_fields(section, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", field


def _check_keys(model: type[BaseModel], entries: Mapping[str, Entry], name: str) -> None:
    keys = list(leaf_keys(model))
    for key, entry in entries.items():
        # Before the next check, which would refuse a section as an unknown key
        subkeys = [parameter for parameter in keys if parameter.startswith(f"{key}.")]
        if subkeys:
            raise ConfigurationError(f"{entry.origin}: {key} is a section; set {', '.join(subkeys)}")
        if key not in keys:
            raise ConfigurationError(f"{entry.origin}: {name} has no parameter {key}; {suggest(key, keys)}")


def _nested(entries: Mapping[str, Entry]) -> dict[str, Any]:
    """Return the values as nested dictionaries, one level for each section of the dotted keys."""
    tree: dict[str, Any] = {}
    for key, entry in entries.items():
        *sections, leaf = key.split(".")
        branch = tree
        for section in sections:
            branch = branch.setdefault(section, {})
        branch[leaf] = entry.value
    return tree


def _to_error(error: ValidationError, entries: Mapping[str, Entry], name: str) -> ConfigurationError:
    """Return the error for the first fault, in one line: origin, key, value, and what would be right.

    A fault of several values together comes from one of Fiberscope's own validators, which names the keys.
    """
    fault = error.errors(include_url=False)[0]
    # The path from the validated model to the fault; joined by dots, it is the key as users write it
    key = ".".join(map(str, fault["loc"]))
    message = " ".join(fault["msg"].removeprefix("Value error, ").split())
    message = message.replace("Input should be", "it should be", 1)
    # "a valid integer, unable to parse string as an integer": the tail says nothing new
    message = message.replace("a valid integer", "an integer").partition(", unable to parse")[0]
    entry = _entry_of(key, entries)
    if entry is not None:
        return ConfigurationError(f"{entry.origin}: {key} is {_abbreviate(fault['input'])}; {message}")
    # No entry: a parameter is missing, or the fault is that of a validator of a whole section.
    if fault["type"] == "missing":
        return ConfigurationError(f"{name}: {key} is missing; its config.yaml should give every parameter")
    return ConflictError(f"{name}: {message}")


def _entry_of(key: str, entries: Mapping[str, Entry]) -> Entry | None:
    """Return the entry of a key, or of the list that contains the key's element; None if there is none."""
    while key and key not in entries:
        key = key.rpartition(".")[0]
    return entries.get(key)


def _abbreviate(value: object) -> str:
    text = format_value(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
