"""Documents as pydantic models: the first value that is not of its kind, with its place."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from fiberscope.accelerators.yaml_document import Document, Path
from fiberscope.workloads.errors import nearest

AnySchema = TypeVar("AnySchema", bound=BaseModel)
MISSPELT = 0.75  # likeness of two keys, by difflib, from which one is taken for the other misspelt


def validate_document(
    schema: type[AnySchema], document: Document, *, ignore_unknown: bool = False
) -> AnySchema:
    """The document as its schema has it; a key without a value is as if absent.

    Args:
        schema: the sections and their kinds.
        document: the file.
        ignore_unknown: leave out keys that are not known, with a warning each; but not one that is spelt
            almost as a known key.

    Raises:
        ConfigurationError: the first value that is not of its kind, or key that is not known.
    """
    try:
        data = _filled(document.data)
        while True:
            try:
                return schema.model_validate(data)
            except ValidationError as error:
                fault = _first_fault(error)
                if not (ignore_unknown and _left_out(schema, document, fault, data)):
                    raise _explained(schema, document, fault) from error
    except RecursionError as error:
        raise document.error((), "sections within sections, too deep to read") from error


def _first_fault(error: ValidationError) -> Any:  # noqa: ANN401
    """The first fault of a document, unknown keys before others."""
    faults = error.errors(include_url=False)
    faults = [fault for fault in faults if fault["type"] not in _CONSEQUENCES] or faults
    return min(faults, key=lambda fault: fault["type"] != "extra_forbidden")


def _filled(value: object) -> object:
    """Leave out the keys that have no value, at every depth."""
    if isinstance(value, Mapping):
        return {key: _filled(entry) for key, entry in value.items() if entry is not None}
    return [_filled(entry) for entry in value] if isinstance(value, list) else value


_CONSEQUENCES = ("none_required",)  # of a union whose other part has the better message


def _explained(schema: type[BaseModel], document: Document, fault: Any) -> Exception:  # noqa: ANN401
    """One line for a fault: where, what was given, what would be right."""
    path = _path(document, fault)
    where = ".".join(str(part) for part in path) or "the file"
    if fault["type"] == "missing":
        return document.error(path, f"{where} is missing")
    if fault["type"] == "extra_forbidden":
        keys = _keys_beside(schema, path)
        return document.error(path, f"there is no {where}; {nearest(str(path[-1]), keys)}", key=True)
    message = " ".join(fault["msg"].removeprefix("Value error, ").split())
    if fault["type"] == "value_error" and isinstance(fault["input"], dict):  # of values that are at odds
        return document.error(path, f"{where}: {message}")
    message = message.replace("Input should be", "it should be", 1)
    if fault["type"] == "too_short":
        message = "it should have one entry or more"
    return document.error(path, f"{where} is {' '.join(_shown(fault['input']).split())}; {message}")


def _left_out(schema: type[BaseModel], document: Document, fault: Any, data: Any) -> bool:  # noqa: ANN401
    """Remove an unknown key from the data, with a warning; return whether it was one, and no misspelt key."""
    path = _path(document, fault)
    if fault["type"] != "extra_forbidden":
        return False
    *section, key = path
    keys = _keys_beside(schema, path)
    if difflib.get_close_matches(str(key).lower(), [name.lower() for name in keys], cutoff=MISSPELT):
        return False
    for part in section:
        data = data[part]
    del data[key]
    where = f"{document.place(path, key=True)}: there is no {'.'.join(map(str, path))}"
    warnings.warn(f"{where}, and it is left out; {nearest(str(key), keys)}", stacklevel=4)
    return True


def _path(document: Document, fault: Any) -> Path:  # noqa: ANN401
    """The location as the document has it: pydantic adds what it tried, of a union."""
    path: Path = ()
    for part in fault["loc"]:
        if (*path, part) in document.keys:
            path = (*path, part)
    return (*path, fault["loc"][-1]) if fault["type"] == "missing" else path


def _keys_beside(schema: type[BaseModel], path: Path) -> list[str]:
    """The keys that the section of ``path`` knows."""
    section: type[BaseModel] = schema
    for part in path[:-1]:
        for name, field in section.model_fields.items():
            if part in (field.alias, name):
                section = _section_in(field.annotation) or section
    return [field.alias or name for name, field in section.model_fields.items()]


def _section_in(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401
    """The section that a field holds, be it in a list, a mapping or an option."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    sections = [_section_in(part) for part in getattr(annotation, "__args__", ())]
    return next((section for section in sections if section), None)


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "a section"
    if isinstance(value, list):
        return "a list"
    text = "empty" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
