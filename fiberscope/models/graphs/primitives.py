"""The primitives of the Sparse Abstract Machine as nodes of a graph: their ports, and how a file shows them.

Source: O. Hsu et al., "The Sparse Abstract Machine", ASPLOS 2023, Section 3; types, attributes, labels and
colours are those of the graph files that its compiler writes (github.com/weiya711/sam).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

__all__ = ["BROADCAST", "COMMON", "KINDS", "PRIMITIVES", "Port", "Primitive", "is_values_writer"]

CRD, REF, VAL, REPSIG, BV = KINDS = ("crd", "ref", "val", "repsig", "bv")
COMMON = {"phase": "1"}  # of all types, and ours: which of the runs after one another a node is in
BROADCAST = "broadcast"  # a fork in a drawing: streams fan out by themselves


@dataclass(frozen=True)
class Port:
    """One port of a primitive.

    Args:
        name: an array's ends in ``[]``: its ports are ``name[0]``, ``name[1]``, ...
        kinds: the streams that it takes, or the one that it makes.
        optional: whether it may be left open; every output may.
    """

    name: str
    kinds: tuple[str, ...]
    optional: bool = False


Attributes = Mapping[str, str]


@dataclass(frozen=True)
class Primitive:
    """A type of nodes.

    Args:
        inputs, outputs: its ports.
        attributes: the names of its own attributes; those with a value here may be left out.
        label: what a drawing shows, with the node's attributes in braces.
        colour: of the drawing, as graphviz names it.
        makes: the kind of an output, if that follows from the node's attributes.
    """

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    attributes: Mapping[str, str | None] = field(default_factory=dict)
    label: str = ""
    colour: str = "brown"
    makes: Callable[[str, Attributes], str | None] = lambda _port, _attributes: None


def is_values_writer(attributes: Attributes) -> bool:
    """Whether a writer's attributes say that it writes values."""
    return attributes.get("mode", "") in ("vals", "val")


def _words(port: str, attributes: Attributes) -> str | None:
    """Scanners of bit vectors make words in the place of coordinates."""
    return BV if port == CRD and attributes.get("format") == "bitvector" else None


def _inner(port: str, attributes: Attributes) -> str | None:
    """What a dropper or hold passes inside is coordinates, or values where it says so."""
    values = attributes.get("inner") in ("val", "vals") or attributes.get("vals") == "true"
    return VAL if port == "inner" and values else None


def _alu() -> Primitive:
    own = {"sub": "0", "in2": "", "const0": "", "scalar": ""}
    return Primitive((Port("val[]", (VAL,)),), (Port("val", (VAL,)),), own, "{Type}")


def _unary() -> Primitive:
    return Primitive((Port("val[]", (VAL,)),), (Port("val", (VAL,)),), {"rb_const": ""}, "{Type}")


_LEVEL = {"index": None, "tensor": None, "mode": None, "format": "compressed"}
_ROOT = {"root": "false"}
_ANY = (CRD, REF, VAL, BV)
_PAIR_IN = (Port("crd[]", (CRD,)), Port("ref[]", (REF,)))
_PAIR_OUT = (Port("crd", (CRD,)), Port("ref[]", (REF,)))
_FIBERS = {"outer": None, "inner": None, "mode": "0", "vals": ""}

PRIMITIVES: Mapping[str, Primitive] = {
    "fiberlookup": Primitive(
        (Port("ref", (REF, CRD, BV)), Port("skip", (CRD,), optional=True)),
        (Port("crd", (CRD,)), Port("ref", (REF,))),
        {**_LEVEL, "src": "true", **_ROOT},
        "FiberLookup {index}: {tensor}{mode}\n{format}",
        "green4",
        _words,
    ),
    "fiberwrite": Primitive(
        (Port("crd", (CRD, REF)), Port("bv", (BV,)), Port("val", (VAL,))),
        (),
        {**_LEVEL, "index": "", "segsize": "", "crdsize": "", "size": "", "sink": "true", "ends": "true"},
        "FiberWrite {index}: {tensor}{mode}\n{format}",
        "green3",
    ),
    "locate": Primitive(
        (Port("crd", (CRD,)), Port("ref", (REF, CRD)), Port("base", (REF, CRD), optional=True)),
        (Port("crd", (CRD,)), Port("located", (REF,))),
        {"index": None, "tensor": None, "mode": None},
        "Locate {index}: {tensor}{mode}",
        "green4",
    ),
    "arrayvals": Primitive(
        (Port("ref", (REF, CRD)),),
        (Port("val", (VAL,)),),
        {"tensor": None, **_ROOT},
        "Array Vals: {tensor}",
        "green2",
    ),
    "repeat": Primitive(
        (Port("ref", (REF, CRD)), Port("repsig", (REPSIG,))),
        (Port("ref", (REF,)),),
        {"index": None, "tensor": None, **_ROOT},
        "Repeat {index}: {tensor}",
        "cyan2",
    ),
    "repsiggen": Primitive(
        (Port("crd", (CRD, REF)),),
        (Port("repsig", (REPSIG,)),),
        {"index": ""},
        "RepeatSignalGenerator {index}",
        "cyan3",
    ),
    "intersect": Primitive(
        _PAIR_IN,
        (*_PAIR_OUT, Port("skip[]", (CRD,))),
        {"index": None},
        "intersect {index}",
        "purple",
    ),
    "union": Primitive(_PAIR_IN, _PAIR_OUT, {"index": None}, "union {index}", "purple"),
    **{
        name: _alu()
        for name in ("mul", "add", "fp_mul", "fp_add", "max", "fp_max", "smax", "div", "fp_div", "take")
    },
    **{name: _unary() for name in ("exp", "fp_exp", "sqrt", "neg", "abs")},
    "reduce": Primitive(
        (Port("val", (VAL,)), Port("crd", (CRD,), optional=True)),
        (Port("val", (VAL,)),),
        {"fp": "", "empty": ""},
        "Reduce",
    ),
    "crddrop": Primitive(
        (Port("outer", (CRD,)), Port("inner", (CRD, VAL))),
        (Port("outer", (CRD,)), Port("inner", (CRD, VAL))),
        _FIBERS,
        "CrdDrop {outer},{inner}",
        "orange",
        _inner,
    ),
    "crdhold": Primitive(
        (Port("outer", (CRD,)), Port("inner", (CRD, VAL))),
        (Port("outer", (CRD,)), Port("inner", (CRD, VAL))),
        _FIBERS,
        "CrdHold {outer},{inner}",
        "orange",
        _inner,
    ),
    "spaccumulator": Primitive(
        (Port("crd_outer", (CRD,)), Port("crd_inner", (CRD,)), Port("val", (VAL,))),
        (Port("crd_outer", (CRD,)), Port("crd_inner", (CRD,)), Port("val", (VAL,))),
        {"order": None, "in0": None, "in1": ""},
        "SparseAccumulator {order}\n0={in0} 1={in1}",
    ),
    "accumulate": Primitive(
        (Port("crd[]", (CRD,)), Port("val", (VAL,))),
        (Port("crd[]", (CRD,)), Port("val", (VAL,))),
        {"order": None, "in0": None},
        "Accumulate {order}",
    ),
    "stopdrop": Primitive((Port("in", _ANY),), (Port("out", _ANY),), {}, "StopDrop", "orange"),
    "emptystopdrop": Primitive((Port("in", _ANY),), (Port("out", _ANY),), {}, "EmptyFiberStopDrop", "orange"),
    "pointtofiber": Primitive(
        (Port("outer", (CRD,)), Port("inner", (CRD,))),
        (Port("outer", (CRD,)), Port("inner", (CRD,))),
        {},
        "PointToFiber",
        "orange",
    ),
    "scatter": Primitive(
        (Port("in", _ANY),),
        (Port("out[]", _ANY),),
        {"index": "", "ways": None},
        "Scatter {index} {ways}",
        "orange",
    ),
    "merge": Primitive(
        (Port("crd[]", (CRD,)),),
        (Port("crd", (CRD,)), Port("ref", (REF,))),
        {"index": "", "ways": None},
        "Merge {index} {ways}",
        "orange",
    ),
    "gather": Primitive(
        (Port("stream[]", _ANY), Port("ref", (REF,))),
        (Port("out", _ANY),),
        {"index": "", "ways": None},
        "Gather {index} {ways}",
        "orange",
    ),
    "split": Primitive(
        (Port("crd", (CRD,)),),
        (Port("outer", (CRD,)), Port("inner", (CRD,))),
        {"index": "", "factor": None, "orig_crd": "false"},
        "Split {index} by {factor}",
        "orange",
    ),
    "flatten": Primitive(
        (Port("outer", (CRD,)), Port("inner", (CRD,))),
        (Port("crd", (CRD,)),),
        {"index": "", "factor": None},
        "Flatten {index} by {factor}",
        "orange",
    ),
    "bitvector": Primitive(
        (Port("crd", (CRD,)),), (Port("bv", (BV,)),), {"index": ""}, "BitVector {index}", "cyan3"
    ),
    "chunk": Primitive(
        (Port("bv", (BV,)),),
        (Port("bv", (BV,)), Port("ref", (REF,))),
        {"index": "", "width": "64", "size": None},
        "Chunk {index} by {width}",
        "cyan3",
    ),
    "bvexpand": Primitive(
        (Port("bv", (BV,)), Port("ref", (REF,), optional=True)),
        (Port("crd", (CRD,)), Port("ref", (REF,))),
        {"index": ""},
        "bvexpand {index}",
        "cyan3",
    ),
    "bvintersect": Primitive(
        (Port("bv[]", (BV,)), Port("ref[]", (REF,))),
        (Port("bv", (BV,)), Port("ref[]", (REF,))),
        {"index": "", "emit_zeros": "false"},
        "bvintersect {index}",
        "purple",
    ),
    "bvdrop": Primitive(
        (Port("outer", (BV,)), Port("inner", (BV,))),
        (Port("outer", (BV,)), Port("inner", (BV,))),
        _FIBERS,
        "BVDrop {outer},{inner}",
        "orange",
    ),
}
