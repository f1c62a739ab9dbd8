"""Generators as text: ``uniform:rows=1000,cols=1000,nonzeros=5000,seed=1``.

The word before the colon names a generator, and the keys are its parameters. A *view* such as
``graph:order=degree,of=wiki-Vote`` has the same syntax, but names another workload after ``of=``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeVar

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from fiberscope.workloads import generators
from fiberscope.workloads.canonical import CsrArray, check_shape
from fiberscope.workloads.drawn_values import DRAWS, ValueKind
from fiberscope.workloads.errors import WorkloadError, nearest
from fiberscope.workloads.graphs import rmat_graph
from fiberscope.workloads.tensor import SparseTensor

MOST = 2**28  # largest size of a rank
UNIFORM: Final = "uniform"  # default values of a generator
OF_VALUES = 1  # second word of the seed for other values, so that positions and values are independent
VIEWS = {"graph": "graph", "windows": "image"}  # first word of a view, and the noun for its workload


def _sizes(text: object) -> object:
    if not all(part.isdecimal() and 1 <= int(part) <= MOST for part in str(text).split("x")):
        raise ValueError(f"sizes, each of at most {MOST:,}, have an x between them, as 250x100")
    return text


Size = Annotated[int, Field(ge=1, le=MOST)]
Sizes = Annotated[str, BeforeValidator(_sizes)]
_Count = Annotated[int, Field(ge=0, le=2**31)]
_Chance = Annotated[float, Field(ge=0, le=1)]


class Spec(BaseModel):
    """Base class of the parameters of generators and views. Each has a seed."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")
    seed: Annotated[int, Field(ge=0)] = 0


AnySpec = TypeVar("AnySpec", bound=BaseModel)


class _Generated(Spec):
    values: ValueKind = UNIFORM


class _Shaped(_Generated):
    rows: Size
    cols: Size


class _Uniform(_Shaped):
    nonzeros: _Count


class _Banded(_Uniform):
    bandwidth: _Count


class _Block(_Shaped):
    blocks: _Count
    size: Size


class _Rmat(_Generated):
    scale: Annotated[int, Field(ge=0, le=28)]
    nonzeros: _Count
    a: _Chance = 0.57
    b: _Chance = 0.19
    c: _Chance = 0.19


class _RmatGraph(_Generated):
    vertices: Size
    edges: _Count
    tail: Annotated[int, Field(ge=0, le=2**24)] = 0
    duplicates: Literal["drop", "keep"] = "drop"
    a: _Chance = 0.57
    b: _Chance = 0.19
    c: _Chance = 0.19


class _ChungLu(_Uniform):
    exponent: Annotated[float, Field(gt=1, le=100)] = 2.1


class _Structured(_Shaped):
    n: _Count
    m: Size


class _Runs(_Uniform):
    length: Size


class _Tensor(_Generated):
    shape: Sizes
    nonzeros: _Count


class _Surrogate(_Generated):
    profile: Annotated[str, Field(min_length=1)]


def sizes_in(text: str) -> tuple[int, ...]:
    """Parse sizes such as ``250x100``."""
    return tuple(map(int, text.split("x")))


def _draw_tensor(shape: str, nonzeros: int, seed: int) -> SparseTensor:
    return generators.tensor(sizes_in(shape), nonzeros, seed)


def _draw_surrogate(profile: str, seed: int) -> CsrArray:
    from fiberscope.workloads.surrogate import draw_like  # noqa: PLC0415  (few generators read a profile)

    return draw_like(profile, seed)


class _Generator(NamedTuple):
    model: type[_Generated]
    build: Callable[..., CsrArray | SparseTensor]


_GENERATORS = {
    "uniform": _Generator(_Uniform, generators.uniform),
    "banded": _Generator(_Banded, generators.banded),
    "block": _Generator(_Block, generators.block),
    "rmat": _Generator(_Rmat, generators.rmat),
    "rmat-graph": _Generator(_RmatGraph, rmat_graph),
    "chung-lu": _Generator(_ChungLu, generators.chung_lu),
    "structured": _Generator(_Structured, generators.structured),
    "runs": _Generator(_Runs, generators.runs),
    "tensor": _Generator(_Tensor, _draw_tensor),
    "surrogate": _Generator(_Surrogate, _draw_surrogate),
}


def is_spec(text: str) -> bool:
    """Return whether ``text`` looks like a generator: a word, a colon, and keys with values."""
    head, colon, tail = text.partition(":")
    return bool(colon) and (head.strip().lower() in _GENERATORS or ("=" in tail and "/" not in head))


def view_in(text: str) -> str | None:
    """Return the word of ``VIEWS`` at the beginning of ``text``, if it is a view of another workload."""
    head, colon, _ = text.partition(":")
    head = head.strip().lower()
    return head if colon and head in VIEWS and not Path(text).exists() else None


def split_view(text: str) -> tuple[str, str]:
    """Split a text into a view and its workload, which is the remainder after ``of=``.

    Raises:
        WorkloadError: the text names no workload.
    """
    head, *of = re.split(r"(?<=[:,])\s*of\s*=", text, maxsplit=1)
    if not of or not of[0].strip():
        fault = VIEWS[text.partition(":")[0].strip().lower()]
        raise WorkloadError(f"no {fault} is named", location=text, fix="end it with of=<a workload>")
    return head, of[0].strip()


def file_of(text: str) -> Path | None:
    """Return the profile that a generator would read; None for other generators and missing files."""
    name, _, tail = text.partition(":")
    if name.strip().lower() != "surrogate":
        return None
    try:
        profile = Path(_pairs(tail, _Surrogate, text).get("profile", ""))
    except WorkloadError:
        return None
    return profile if profile.is_file() else None


def generate(text: str) -> tuple[CsrArray | SparseTensor, str]:
    """Draw the matrix or tensor of a generator.

    Args:
        text: the name and the parameters of the generator.

    Returns:
        The matrix or tensor, and the text of the generator with all defaults.

    Raises:
        WorkloadError: see ``describe_spec``; or the parameters do not fit each other.
    """
    name, spec = _read(text)
    if isinstance(spec, _Uniform):
        check_shape(spec.rows, spec.cols, spec.nonzeros, text)
    if isinstance(spec, _Block):
        check_shape(spec.rows, spec.cols, spec.blocks * spec.size**2, text)
    operand = _GENERATORS[name].build(**spec.model_dump(exclude={"values"}))
    return _with_values(operand, spec), full_text(name, spec)


def _with_values(operand: CsrArray | SparseTensor, spec: _Generated) -> CsrArray | SparseTensor:
    """Return the matrix or tensor with the requested values. Its positions do not depend on the values."""
    if spec.values == UNIFORM:
        return operand
    count = len(operand.values if isinstance(operand, SparseTensor) else operand.data)
    values = DRAWS[spec.values](np.random.default_rng([spec.seed, OF_VALUES]), count)
    if isinstance(operand, SparseTensor):
        return replace(operand, values=values)
    operand.data = values
    return operand


def describe_spec(text: str) -> str:
    """Return the text of a generator with all defaults, without drawing the matrix.

    Raises:
        WorkloadError: an unknown generator or key (naming the nearest), a wrong type, a value out of range.
    """
    return full_text(*_read(text))


def _read(text: str) -> tuple[str, _Generated]:
    """Return the name and the parameters of a generator."""
    name = text.partition(":")[0].strip().lower()
    if name == "gemm":
        raise WorkloadError("gemm draws both operands; it stands alone", location=text)
    if name not in _GENERATORS:
        raise WorkloadError(f"no generator {name!r}", location=text, fix=nearest(name, _GENERATORS))
    return name, parse_parameters(text, _GENERATORS[name].model)


def parse_parameters(text: str, model: type[AnySpec]) -> AnySpec:
    """Parse the parameters of a generator or view.

    Args:
        text: the whole text; the part up to the first colon is skipped.
        model: the type of the parameters.

    Raises:
        WorkloadError: an unknown key (naming the nearest), a wrong type, a value out of range.
    """
    try:
        return model.model_validate(_pairs(text.partition(":")[2], model, text))
    except ValidationError as error:
        raise WorkloadError(_explain(error), location=text) from None


def full_text(name: str, spec: Spec) -> str:
    """Return a generator as text with all defaults; the seed is last."""
    arguments = spec.model_dump()
    if isinstance(spec, _Generated):
        values = arguments.pop("values")  # omitted by default, as in releases before this key
        arguments |= {} if values == UNIFORM else {"values": values}
    seed = arguments.pop("seed")
    return f"{name}:{','.join(f'{key}={value}' for key, value in arguments.items())},seed={seed}"


def _pairs(tail: str, model: type[BaseModel], text: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in tail.split(","))):
        key, equals, value = (word.strip() for word in part.partition("="))
        if key not in model.model_fields:
            raise WorkloadError(f"no key {key!r}", location=text, fix=nearest(key, model.model_fields))
        if not equals or not value:
            raise WorkloadError(f"{key} has no value; write {key}=<number>", location=text)
        if key in pairs:
            raise WorkloadError(f"{key} is given twice", location=text)
        pairs[key] = value
    return pairs


def _explain(error: ValidationError) -> str:
    faults: list[Any] = list(error.errors())
    return "; ".join(_fault(fault) for fault in faults)


def _fault(fault: dict[str, Any]) -> str:
    key = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "missing":
        return f"{key} is missing"
    message = fault["msg"].removeprefix("Value error, ")
    return f"{key}={fault['input']}: {message[:1].lower()}{message[1:]}"
