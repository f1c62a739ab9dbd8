"""The sections of a specification and the kinds of their values; what they mean together is checked later."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from fiberscope.accelerators.quantities import BANDWIDTH, FREQUENCY, Quantity
from fiberscope.models.trace.document import Document, Path
from fiberscope.workloads.errors import nearest

__all__ = [
    "BindingSchema",
    "ComponentSchema",
    "EinsumSchema",
    "FormatSchema",
    "IterateSchema",
    "LevelSchema",
    "MappingSchema",
    "RankFormatSchema",
    "SpacetimeSchema",
    "SpecificationSchema",
    "StepSchema",
    "checked",
]


def _kebab(name: str) -> str:
    return name.removesuffix("_").replace("_", "-")


class Section(BaseModel):
    """A mapping with known keys, which are written with hyphens."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=_kebab)


def _number(value: object) -> object:
    """``true`` is no number, and a text is one only where it has a unit."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("it should be a number")
    return value


def _unlimited(value: object) -> object:
    return None if value in ("inf", math.inf) else _number(value)


def _in_bits(quantity: Quantity, factor: int) -> BeforeValidator:
    """A plain number is in the language's unit; a text has a unit of its own."""

    def read(value: object) -> object:
        return quantity.parse(value) * factor if isinstance(value, str) else _number(value)

    return BeforeValidator(read)


Count = Annotated[int, BeforeValidator(_number), Field(ge=1, le=2**62)]
Bits = Annotated[int, BeforeValidator(_number), Field(ge=0, le=2**31)]
Unlimited = Annotated[Annotated[int, Field(ge=1, le=2**62)] | None, BeforeValidator(_unlimited)]
Bandwidth = Annotated[float, _in_bits(BANDWIDTH, 8), Field(gt=0, allow_inf_nan=False)]
Frequency = Annotated[float, _in_bits(FREQUENCY, 1), Field(gt=0, allow_inf_nan=False)]
Number = Annotated[float, BeforeValidator(lambda value: math.inf if value == "inf" else _number(value))]


class IterateSchema(Section):
    """``iterate``: what the next round reads, and when there is none."""

    carry: Annotated[dict[str, str], Field(min_length=1)]
    until_empty: str | None = None
    limit: Count = 1000


class EinsumSchema(Section):
    """``einsum``: the cascade."""

    declaration: Annotated[dict[str, list[str]], Field(min_length=1)]
    expressions: Annotated[list[str], Field(min_length=1)]
    shape: dict[str, Count] = {}
    operators: dict[str, dict[str, str]] = {}
    functions: dict[str, str] = {}
    empty: dict[str, Number] = {}
    iterate: IterateSchema | None = None


class SpacetimeSchema(Section):
    """``spacetime`` of an Einsum."""

    space: list[str] = []
    time: list[str] = []
    opt: Literal["slip"] | None = None


class MappingSchema(Section):
    """``mapping``: orders, partitions, space and time."""

    rank_order: dict[str, list[str]] = {}
    uncompressed: dict[str, list[str]] = {}
    partitioning: dict[str, dict[str, list[str]]] = {}
    loop_order: dict[str, list[str]] = {}
    spacetime: dict[str, SpacetimeSchema] = {}


class RankFormatSchema(Section):
    """One rank of a format."""

    format: Literal["C", "U", "B"] = "C"
    layout: Literal["contiguous", "interleaved"] = "contiguous"
    cbits: Bits = 0
    pbits: Bits = 0
    fhbits: Bits = 0
    rhbits: Bits = 0


class FormatSchema(BaseModel):
    """A format of a tensor; what is not its rank order is a rank."""

    model_config = ConfigDict(extra="allow", frozen=True, alias_generator=_kebab)
    __pydantic_extra__: dict[str, RankFormatSchema]

    rank_order: list[str]

    @property
    def ranks(self) -> dict[str, RankFormatSchema]:
        """The ranks by name."""
        return self.__pydantic_extra__


class AttributesSchema(BaseModel):
    """Attributes of any class of component, under the names that the language has for them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    clock_frequency: Frequency | None = None
    bandwidth: Bandwidth | None = None
    width: Count | None = None
    depth: Unlimited = None
    ways: Count | None = None
    replacement: str | None = None
    type: str | list[str] | None = None
    inputs: Unlimited = None
    outputs: Unlimited = None
    comparator_radix: Unlimited = None
    order: Literal["fifo", "opt"] | None = None
    reduce: bool | None = None
    num_ranks: Count | None = None


class ComponentSchema(Section):
    """A unit at a level."""

    name: str
    class_: str
    attributes: AttributesSchema = AttributesSchema()


class LevelSchema(Section):
    """A level of the tree: its units, and the levels below."""

    name: str
    attributes: AttributesSchema = AttributesSchema()
    local: list[ComponentSchema] = []
    subtree: list[LevelSchema] = []


class BindingSchema(Section):
    """What one unit does or holds; which keys belong together is for its class to say."""

    tensor: str | None = None
    rank: str | None = None
    type: Literal["coord", "payload", "elem"] | None = None
    format: str | None = None
    evict_on: str | None = None
    style: Literal["lazy", "eager"] | None = None
    leader: str | None = None
    init_ranks: list[str] | None = None
    final_ranks: list[str] | None = None
    op: str | None = None


class StepSchema(Section):
    """An entry of an Einsum's bindings: the configuration, first, or a component."""

    config: str | None = None
    prefix: str | None = None  # of the public tool's trace files, which are not written here
    component: str | None = None
    bindings: list[BindingSchema] = []


class SpecificationSchema(Section):
    """A whole file."""

    machine: str | None = None
    symbols: dict[str, object] = {}  # read before, as references need them
    einsum: EinsumSchema
    mapping: MappingSchema = MappingSchema()
    format: dict[str, dict[str, FormatSchema]] = {}
    architecture: dict[str, list[LevelSchema]] = {}
    bindings: dict[str, list[StepSchema]] = {}


AnySchema = TypeVar("AnySchema", bound=BaseModel)


def checked(schema: type[AnySchema], document: Document) -> AnySchema:
    """The document as its schema has it.

    Raises:
        ConfigurationError: the first value that is not of its kind, or key that is not known.
    """
    try:
        return schema.model_validate(document.data)
    except ValidationError as error:
        faults = [fault for fault in error.errors(include_url=False) if fault["type"] not in _CONSEQUENCES]
        faults.sort(key=lambda fault: fault["type"] != "extra_forbidden")
        raise _explained(schema, document, (faults or error.errors(include_url=False))[0]) from error
    except RecursionError as error:
        raise document.error((), "sections within sections, too deep to read") from error


_CONSEQUENCES = ("none_required",)  # of a union whose other part has the better message


def _explained(schema: type[BaseModel], document: Document, fault: Any) -> Exception:  # noqa: ANN401
    """One line for a fault: where, what was given, what would be right."""
    path = _path(document, fault)
    where = ".".join(str(part) for part in path) or "the file"
    if fault["type"] == "missing":
        return document.error(path, f"{where} is missing")
    if fault["type"] == "extra_forbidden":
        known = _keys_beside(schema, path)
        return document.error(path, f"there is no {where}; {nearest(str(path[-1]), known)}", key=True)
    message = " ".join(fault["msg"].removeprefix("Value error, ").split())
    if fault["type"] == "value_error" and isinstance(fault["input"], dict):  # of values that are at odds
        return document.error(path, f"{where}: {message}")
    message = message.replace("Input should be", "it should be", 1)
    if fault["type"] == "too_short":
        message = "it should have one entry or more"
    return document.error(path, f"{where} is {_shown(fault['input'])}; {message}")


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
    found = [_section_in(part) for part in getattr(annotation, "__args__", ())]
    return next((section for section in found if section), None)


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "a section"
    if isinstance(value, list):
        return "a list"
    text = "empty" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
