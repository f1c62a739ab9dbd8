"""Schema of a specification: sections, keys and types of values; consistency is checked later."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from fiberscope.accelerators.quantities import BANDWIDTH, FREQUENCY, Quantity, plain_number


def _to_kebab_case(name: str) -> str:
    return name.removesuffix("_").replace("_", "-")


class Section(BaseModel):
    """A mapping with known keys.

    A key is the name of the field with hyphens in place of underscores. A final underscore, which keeps a
    field apart from a Python keyword (``class_``), is not part of the key.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=_to_kebab_case)


def _parse_unlimited(value: object) -> object:
    """Return None for ``inf``, which means no limit; other values must be plain numbers."""
    return None if value in ("inf", math.inf) else plain_number(value)


def _make_bits_validator(quantity: Quantity, factor: int) -> BeforeValidator:
    """Return a validator of quantities: a number is in the default unit, a text has its own unit.

    Args:
        quantity: the kind of quantity, which parses a text.
        factor: units of the field in a unit of ``quantity``; 8 for a text in bytes and a field in bits.
    """

    def read(value: object) -> object:
        return quantity.parse(value) * factor if isinstance(value, str) else plain_number(value)

    return BeforeValidator(read)


Count = Annotated[int, BeforeValidator(plain_number), Field(ge=1, le=2**62)]
Bits = Annotated[int, BeforeValidator(plain_number), Field(ge=0, le=2**31)]
Unlimited = Annotated[Annotated[int, Field(ge=1, le=2**62)] | None, BeforeValidator(_parse_unlimited)]
# In bits per second: plain numbers are bits, and a text such as "68 GB/s" is bytes.
Bandwidth = Annotated[float, _make_bits_validator(BANDWIDTH, 8), Field(gt=0, allow_inf_nan=False)]
Frequency = Annotated[float, _make_bits_validator(FREQUENCY, 1), Field(gt=0, allow_inf_nan=False)]
Number = Annotated[float, BeforeValidator(lambda value: math.inf if value == "inf" else plain_number(value))]


class IterateSchema(Section):
    """``iterate``: the inputs of the next round, and the condition under which the iteration ends.

    ``specification.Iteration`` describes the keys.
    """

    carry: Annotated[dict[str, str], Field(min_length=1)]
    until_empty: str | None = None
    limit: Count = 1000


class EinsumSchema(Section):
    """``einsum``: the cascade. Keys are tensors in ``declaration`` and ``empty``, ranks in ``shape``.

    Keys of ``operators`` are Einsums, each with function names by operator. Keys of ``functions`` are
    signatures such as ``f(x, y)``, with the expression as the value.
    """

    declaration: Annotated[dict[str, list[str]], Field(min_length=1)]
    expressions: Annotated[list[str], Field(min_length=1)]
    shape: dict[str, Count] = {}
    operators: dict[str, dict[str, str]] = {}
    functions: dict[str, str] = {}
    empty: dict[str, Number] = {}
    iterate: IterateSchema | None = None


class SpacetimeSchema(Section):
    """``spacetime`` of an Einsum: loops in space and in time, as ``K``, ``K.pos`` or ``K.coord``."""

    space: list[str] = []
    time: list[str] = []
    opt: Literal["slip"] | None = None


class MappingSchema(Section):
    """``mapping``: rank orders, partitions, loop orders and spacetime.

    Keys are tensors in ``rank-order`` and ``uncompressed``, and Einsums in the other sections. A partitioning
    has a list of directives for each rank, or for ranks that are flattened, such as ``(M, K)``.
    """

    rank_order: dict[str, list[str]] = {}
    uncompressed: dict[str, list[str]] = {}
    partitioning: dict[str, dict[str, list[str]]] = {}
    loop_order: dict[str, list[str]] = {}
    spacetime: dict[str, SpacetimeSchema] = {}


class RankFormatSchema(Section):
    """One rank of a format; ``storage_format.RankFormat`` describes the keys."""

    format: Literal["C", "U", "B", "L"] = "C"
    layout: Literal["contiguous", "interleaved"] = "contiguous"
    cbits: Bits = 0
    pbits: Bits = 0
    fhbits: Bits = 0
    rhbits: Bits = 0


class FormatSchema(BaseModel):
    """A format of a tensor; every key other than ``rank-order`` is a rank."""

    model_config = ConfigDict(extra="allow", frozen=True, alias_generator=_to_kebab_case)
    __pydantic_extra__: dict[str, RankFormatSchema]

    rank_order: list[str]

    @property
    def ranks(self) -> dict[str, RankFormatSchema]:
        """Return the formats of the ranks by name."""
        return self.__pydantic_extra__


class AttributesSchema(BaseModel):
    """Attributes of components of all classes, under the names of the language.

    The keys have underscores, unlike the keys of a ``Section``. Which attributes a class accepts is checked
    later.
    """

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
    comparator_radix: Annotated[
        Annotated[int, Field(ge=2, le=2**62)] | None, BeforeValidator(_parse_unlimited)
    ] = None
    order: Literal["fifo", "opt"] | None = None
    reduce: bool | None = None
    num_ranks: Count | None = None


class ComponentSchema(Section):
    """A component at a level; ``class`` determines which attributes it has."""

    name: str
    class_: str
    attributes: AttributesSchema = AttributesSchema()


class LevelSchema(Section):
    """A level of the architecture: its components (``local``), and the levels below (``subtree``)."""

    name: str
    attributes: AttributesSchema = AttributesSchema()
    local: list[ComponentSchema] = []
    subtree: list[LevelSchema] = []


class BindingSchema(Section):
    """Binding of one component; the component's class determines the keys, see ``BindingReader``."""

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
    prefix: str | None = None  # prefix of the public tool's trace files; unused
    component: str | None = None
    bindings: list[BindingSchema] = []


class SpecificationSchema(Section):
    """A whole file, after the overlay of the requested variant."""

    machine: str | None = None
    symbols: dict[str, object] = {}  # read separately, as references need them
    einsum: EinsumSchema
    mapping: MappingSchema = MappingSchema()
    format: dict[str, dict[str, FormatSchema]] = {}
    architecture: dict[str, list[LevelSchema]] = {}
    bindings: dict[str, list[StepSchema]] = {}
    timing: dict[str, object] = {}  # read only by ``fiberscope.models.from_spec``
