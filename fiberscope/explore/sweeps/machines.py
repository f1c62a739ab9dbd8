"""Machines of a study, each with a name, an accelerator, settings and parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from fiberscope.accelerators.yaml_layer import read_scalar
from fiberscope.base.errors import InputError
from fiberscope.results.provenance.source_digest import format_named_parts

NAME = r"[^\s=:/\\]+"
PART = "part."  # prefix of the key of a part
_NAMED = re.compile(rf"({NAME})=(.*)", re.DOTALL)
_KEY = r"(?=[\w.-]+=)"  # a colon or a comma separates settings only before a key
_FORM = "NAME=MACHINE:KEY=VALUE,KEY=VALUE, for example gamma-16=gamma:pe.count=16"


def _name_classes(parts: object) -> object:
    """Convert classes of parts to their modules and names, as workers import parts by these texts."""
    if not isinstance(parts, Mapping):
        return parts
    classes = {name: part for name, part in parts.items() if callable(part)}
    return {**parts, **format_named_parts(classes)}


# ``module:Class`` or ``file.py:Class`` by the name of the part.
PartNames: TypeAlias = Annotated[dict[str, str], BeforeValidator(_name_classes)]


class NamedMachine(BaseModel):
    """A machine of a study.

    Args:
        name: the name in tables, legends and stores.
        accelerator: a name, ``spec:NAME``, or a path, as for the command of the study.
        set: parameters by dotted key, which override the settings of the study.
        parts: the user's components, ``module:Class`` or ``file.py:Class``, by the name of the part.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=rf"^{NAME}$")]
    accelerator: Annotated[str, Field(min_length=1)]
    set: dict[str, Any] = {}
    parts: PartNames = {}

    @property
    def distinct_name(self) -> str:
        """Return the name; empty if the name is that of the accelerator."""
        return "" if self.name == self.accelerator else self.name


AnyMachine: TypeAlias = str | Mapping[str, Any] | NamedMachine


def parse_machine(machine: AnyMachine) -> NamedMachine:
    """Parse a machine from its text, or from a mapping with the keys of ``NamedMachine``.

    The text is ``MACHINE`` or ``NAME=MACHINE[:KEY=VALUE[,KEY=VALUE...]]``. The settings begin at the first
    colon before a ``KEY=``; a comma ends a value only before a ``KEY=``. ``part.NAME`` is the key of a part.
    Whether the accelerator and the parameters exist is not checked here.

    Raises:
        InputError: the form is invalid, a parameter is given twice, or a parameter has no value.
    """
    if isinstance(machine, NamedMachine):
        return machine
    if isinstance(machine, Mapping):
        return _validate_machine(dict(machine))
    match = _NAMED.fullmatch(machine)
    if match is None:
        if re.search(f":{_KEY}", machine):
            raise InputError(f"{machine}: a machine with settings needs a name; write it as {_FORM}")
        # Not validated: the path of a machine has characters that a given name must not have.
        return NamedMachine.model_construct(name=machine, accelerator=machine)
    name, definition = match.groups()
    accelerator, *settings = re.split(f":{_KEY}", definition, maxsplit=1)
    if not accelerator:
        raise InputError(f"{machine}: {name} has no machine; write it as {_FORM}")
    settings_by_key, parts = _parse_settings(machine, settings[0] if settings else "")
    keys = {"name": name, "accelerator": accelerator, "set": settings_by_key, "parts": parts}
    return _validate_machine(keys)


def _parse_settings(machine: str, text: str) -> tuple[dict[str, object], dict[str, str]]:
    """Parse the settings and parts of a machine's text.

    Raises:
        InputError: a parameter is given twice, or has no value.
    """
    settings: dict[str, object] = {}
    parts: dict[str, str] = {}
    for setting in re.split(f",{_KEY}", text) if text else ():
        key, _, value = setting.partition("=")
        if key in settings or key in {f"{PART}{name}" for name in parts}:
            raise InputError(f"{machine}: {key} is given twice; leave one out")
        if not value.strip():
            raise InputError(f"{machine}: {key} has no value; write it as {_FORM}")
        if key.startswith(PART):
            parts[key.removeprefix(PART)] = value.strip()
        else:
            settings[key] = read_scalar(value.strip())
    return settings, parts


def _validate_machine(document: dict[str, Any]) -> NamedMachine:
    try:
        return NamedMachine.model_validate(document)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in fault["loc"])
        message = fault["msg"].removeprefix("Value error, ").replace("Input should be", "it should be", 1)
        name = document.get("name") or document
        raise InputError(f"machine {name}: {key}: {message[0].lower()}{message[1:]}") from error


def _expand_text(machine: object) -> object:
    """Expand the text of a machine in a study file to a mapping; pydantic then checks both alike."""
    return parse_machine(machine).model_dump() if isinstance(machine, str) else machine


MachineText: TypeAlias = Annotated[NamedMachine, BeforeValidator(_expand_text)]


def check_names(machines: Iterable[NamedMachine], locate: Callable[[int], str] = lambda _number: "") -> None:
    """Check that all machines have different names.

    Args:
        machines: the machines in order.
        locate: returns the location of a machine in a file by its number; empty without a file.

    Raises:
        InputError: two machines have the same name; the message has the name.
    """
    names: set[str] = set()
    for number, machine in enumerate(machines):
        if machine.name in names:
            message = f"two machines are called {machine.name}; give each its own name"
            raise InputError(": ".join([*filter(None, [locate(number)]), message]))
        names.add(machine.name)
