"""The tables in a machine's folder: what was published of it, its designs, what can be taken away from it."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from fiberscope.accelerators.yaml_layer import read_text, refusing
from fiberscope.errors import InputError

__all__ = ["read_table"]

Schema = TypeVar("Schema")


def read_table(path: Path, schema: type[Schema], machine: str) -> Schema:
    """A table of YAML.

    Args:
        path: of the file.
        schema: what it should hold, as pydantic has it.
        machine: whose it is, for messages.

    Raises:
        InputError, ConfigurationError: it cannot be read, is empty, or not as it should be.
    """
    name = f"{machine}/{path.name}"
    text = read_text(path, name)
    with refusing(name):
        document = yaml.safe_load(text)  # with anchors: many figures are of one source
    if document is None:
        raise InputError(f"{name}: is empty; docs/how_to_add_a_machine.md says what it should hold")
    try:
        return TypeAdapter(schema).validate_python(document)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        place = [name, ".".join(str(part) for part in fault["loc"])]
        raise InputError(": ".join([*filter(None, place), fault["msg"]])) from error
