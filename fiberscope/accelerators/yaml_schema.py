"""Validation of documents by pydantic models; an error names the line and column of the first fault."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from fiberscope.accelerators.yaml_document import Document, Path
from fiberscope.workloads.errors import suggest

AnySchema = TypeVar("AnySchema", bound=BaseModel)
MISSPELT = 0.75  # similarity of two keys, by difflib, from which an unknown key counts as misspelt


def validate_document(
    schema: type[AnySchema], document: Document, *, ignore_unknown: bool = False
) -> AnySchema:
    """Validate a document, and return it as an instance of its schema.

    A key without a value counts as absent.

    Args:
        schema: pydantic model of the document.
        ignore_unknown: whether to omit unknown keys, with a warning for each. A key that is similar to a
            known key is still an error, since it is probably misspelt.

    Raises:
        ConfigurationError: if a value is invalid or a key is unknown; the error describes the first fault.
    """
    try:
        data = _without_empty(document.data)
        while True:
            try:
                return schema.model_validate(data)
            except ValidationError as error:
                fault = _first_fault(error)
                if not (ignore_unknown and _drop_unknown(schema, document, fault, data)):
                    raise _to_error(schema, document, fault) from error
    except RecursionError as error:
        raise document.error((), "sections within sections, too deep to read") from error


def _first_fault(error: ValidationError) -> Any:  # noqa: ANN401
    """Return the first unknown key of a document, or else its first other fault."""
    faults = error.errors(include_url=False)
    faults = [fault for fault in faults if fault["type"] not in _CONSEQUENCES] or faults
    return min(faults, key=lambda fault: fault["type"] != "extra_forbidden")


def _without_empty(value: object) -> object:
    """Return data without the keys that have no value, at every depth."""
    if isinstance(value, Mapping):
        return {key: _without_empty(entry) for key, entry in value.items() if entry is not None}
    return [_without_empty(entry) for entry in value] if isinstance(value, list) else value


# Types of faults that are shown only if there is no other: for ``X | None``, the fault of X says more.
_CONSEQUENCES = ("none_required",)


def _to_error(schema: type[BaseModel], document: Document, fault: Any) -> Exception:  # noqa: ANN401
    """Return the error for a fault in one line: place, value, and what would be right."""
    path = _path(document, fault)
    path_text = ".".join(str(key) for key in path) or "the file"
    if fault["type"] == "missing":
        return document.error(path, f"{path_text} is missing")
    if fault["type"] == "extra_forbidden":
        keys = _sibling_keys(schema, path)
        return document.error(path, f"there is no {path_text}; {suggest(str(path[-1]), keys)}", key=True)
    message = " ".join(fault["msg"].removeprefix("Value error, ").split())
    if fault["type"] == "value_error" and isinstance(fault["input"], dict):  # of several values together
        return document.error(path, f"{path_text}: {message}")
    message = message.replace("Input should be", "it should be", 1)
    if fault["type"] == "too_short":
        message = "it should have one entry or more"
    return document.error(path, f"{path_text} is {' '.join(_abbreviate(fault['input']).split())}; {message}")


def _drop_unknown(schema: type[BaseModel], document: Document, fault: Any, data: Any) -> bool:  # noqa: ANN401
    """Remove an unknown key with a warning; return False if the fault is another or the key is misspelt."""
    path = _path(document, fault)
    if fault["type"] != "extra_forbidden":
        return False
    *section, key = path
    keys = _sibling_keys(schema, path)
    if difflib.get_close_matches(str(key).lower(), [name.lower() for name in keys], cutoff=MISSPELT):
        return False
    for name in section:
        data = data[name]
    del data[key]
    message = f"{document.location(path, key=True)}: there is no {'.'.join(map(str, path))}"
    warnings.warn(f"{message}, and it is left out; {suggest(str(key), keys)}", stacklevel=4)
    return True


def _path(document: Document, fault: Any) -> Path:  # noqa: ANN401
    """Return the path of a fault in the document, without the members of unions that pydantic adds to it."""
    path: Path = ()
    for key in fault["loc"]:
        if (*path, key) in document.keys:
            path = (*path, key)
    return (*path, fault["loc"][-1]) if fault["type"] == "missing" else path


def _sibling_keys(schema: type[BaseModel], path: Path) -> list[str]:
    """Return the keys that the schema has in the section of ``path``."""
    section: type[BaseModel] = schema
    for key in path[:-1]:
        for name, field in section.model_fields.items():
            if key in (field.alias, name):
                section = _section_in(field.annotation) or section
    return [field.alias or name for name, field in section.model_fields.items()]


def _section_in(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401
    """Return the model of the section in a field, also within a list, mapping or union, or None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    sections = [_section_in(argument) for argument in getattr(annotation, "__args__", ())]
    return next((section for section in sections if section), None)


def _abbreviate(value: object) -> str:
    if isinstance(value, dict):
        return "a section"
    if isinstance(value, list):
        return "a list"
    text = "empty" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
