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
from fiberscope.workloads.errors import WorkloadError, suggest
from fiberscope.workloads.graphs import rmat_graph
from fiberscope.workloads.tensor import SparseTensor

MAX_RANK_SIZE = 2**28  # largest size of a rank
UNIFORM: Final = "uniform"  # default values of a generator
VALUES_SEED = 1  # second element of the seed of other values, so that positions and values are independent
VIEWS = {"graph": "graph", "windows": "image"}  # keyword of a view, and the noun for its workload


def _check_sizes(text: object) -> object:
    sizes = str(text).split("x")
    # nine digits hold the limit, and ``int`` refuses texts above 4,300 digits
    if not all(s.isascii() and s.isdecimal() and len(s) < 10 and 1 <= int(s) <= MAX_RANK_SIZE for s in sizes):
        raise ValueError(f"sizes, each of at most {MAX_RANK_SIZE:,}, have an x between them, as 250x100")
    return text


Size = Annotated[int, Field(ge=1, le=MAX_RANK_SIZE)]
Sizes = Annotated[str, BeforeValidator(_check_sizes)]
_Count = Annotated[int, Field(ge=0, le=2**31)]
_Chance = Annotated[float, Field(ge=0, le=1)]


class Spec(BaseModel):
    """Base class of the parameters that have a seed: of all generators, and of views of graphs."""

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


def parse_sizes(text: str) -> tuple[int, ...]:
    """Parse sizes such as ``250x100``."""
    return tuple(map(int, text.split("x")))


def _draw_tensor(shape: str, nonzeros: int, seed: int) -> SparseTensor:
    return generators.tensor(parse_sizes(shape), nonzeros, seed)


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
    """Return whether ``text`` looks like a generator: a word, a colon, and keys with values.

    After the name of a generator, the colon suffices. Otherwise the text may name an unknown generator, or a
    file with such a name: the caller must look for the file first.
    """
    head, colon, tail = text.partition(":")
    return bool(colon) and (head.strip().lower() in _GENERATORS or ("=" in tail and "/" not in head))


def view_keyword(text: str) -> str | None:
    """Return the key of ``VIEWS`` with which ``text`` begins; None without one, or if ``text`` is a file."""
    head, colon, _ = text.partition(":")
    head = head.strip().lower()
    return head if colon and head in VIEWS and not Path(text).exists() else None


def split_view(text: str) -> tuple[str, str]:
    """Split a text into a view and its workload, which is the remainder after the first ``of=``.

    Args:
        text: a text that begins with a key of ``VIEWS`` (see ``view_keyword``) and a colon.

    Raises:
        WorkloadError: the text names no workload.
    """
    head, *workload = re.split(r"(?<=[:,])\s*of\s*=", text, maxsplit=1)
    if not workload or not workload[0].strip():
        noun = VIEWS[text.partition(":")[0].strip().lower()]
        raise WorkloadError(f"no {noun} is named", location=text, fix="end it with of=<a workload>")
    return head, workload[0].strip()


def profile_file(text: str) -> Path | None:
    """Return the file that a generator names as its profile; None for other generators and missing files.

    The generator reads no file if the name is also the name of a shipped profile.
    """
    name, _, tail = text.partition(":")
    if name.strip().lower() != "surrogate":
        return None
    try:
        profile = Path(_parse_pairs(tail, _Surrogate, text).get("profile", ""))
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
        WorkloadError: as for ``describe_spec``, the parameters do not fit each other, or a profile cannot be
            read.
    """
    name, spec = _parse_generator(text)
    if isinstance(spec, _Uniform):
        check_shape(spec.rows, spec.cols, spec.nonzeros, text)
    if isinstance(spec, _Block):
        check_shape(spec.rows, spec.cols, spec.blocks * spec.size**2, text)
    operand = _GENERATORS[name].build(**spec.model_dump(exclude={"values"}))
    return _with_values(operand, spec), format_spec(name, spec)


def _with_values(operand: CsrArray | SparseTensor, spec: _Generated) -> CsrArray | SparseTensor:
    """Return the matrix or tensor with the requested values. Its positions do not depend on the values."""
    if spec.values == UNIFORM:
        return operand
    count = len(operand.values if isinstance(operand, SparseTensor) else operand.data)
    values = DRAWS[spec.values](np.random.default_rng([spec.seed, VALUES_SEED]), count)
    if isinstance(operand, SparseTensor):
        return replace(operand, values=values)
    operand.data = values
    return operand


def describe_spec(text: str) -> str:
    """Return the text of a generator with all defaults, without drawing the matrix.

    Raises:
        WorkloadError: an unknown generator or key (naming the nearest), a wrong type, a value out of range.
    """
    return format_spec(*_parse_generator(text))


def _parse_generator(text: str) -> tuple[str, _Generated]:
    """Return the name and the parameters of a generator."""
    name = text.partition(":")[0].strip().lower()
    if name == "gemm":
        raise WorkloadError("gemm draws both operands; it stands alone", location=text)
    if name not in _GENERATORS:
        raise WorkloadError(f"no generator {name!r}", location=text, fix=suggest(name, _GENERATORS))
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
        return model.model_validate(_parse_pairs(text.partition(":")[2], model, text))
    except ValidationError as error:
        raise WorkloadError(_explain(error), location=text) from None


def format_spec(name: str, spec: Spec) -> str:
    """Return a generator as text with all defaults; the seed is last."""
    arguments = spec.model_dump()
    if isinstance(spec, _Generated):
        values = arguments.pop("values")  # omitted by default, as in releases before this key
        arguments |= {} if values == UNIFORM else {"values": values}
    seed = arguments.pop("seed")
    return f"{name}:{','.join(f'{key}={value}' for key, value in arguments.items())},seed={seed}"


def _parse_pairs(tail: str, model: type[BaseModel], text: str) -> dict[str, str]:
    """Parse ``key=value`` pairs between commas; refuse unknown and repeated keys, and empty values."""
    pairs: dict[str, str] = {}
    for pair in filter(None, (pair.strip() for pair in tail.split(","))):
        key, equals, value = (token.strip() for token in pair.partition("="))
        if key not in model.model_fields:
            raise WorkloadError(f"no key {key!r}", location=text, fix=suggest(key, model.model_fields))
        if not equals or not value:
            raise WorkloadError(f"{key} has no value; write {key}=<number>", location=text)
        if key in pairs:
            raise WorkloadError(f"{key} is given twice", location=text)
        pairs[key] = value
    return pairs


def _explain(error: ValidationError) -> str:
    faults: list[Any] = list(error.errors())
    return "; ".join(_describe_fault(fault) for fault in faults)


def _describe_fault(fault: dict[str, Any]) -> str:
    key = ".".join(map(str, fault["loc"]))
    if fault["type"] == "missing":
        return f"{key} is missing"
    message = fault["msg"].removeprefix("Value error, ")
    return f"{key}={fault['input']}: {message[:1].lower()}{message[1:]}"
