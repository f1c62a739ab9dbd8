"""Specification, checked and complete: the types that lowering, execution and the models read.

``fiberscope.models.trace.load`` makes a ``Specification`` of a YAML file. Every default is filled in, every
symbol is its number, and every name that stands in it is known to exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from fiberscope.workloads.expressions.expression import Alias, Equation, Expression, accesses

__all__ = [
    "OPERATORS",
    "Bindings",
    "Component",
    "ComputeBinding",
    "Configuration",
    "Einsum",
    "Flatten",
    "Follow",
    "Format",
    "Function",
    "IntersectorBinding",
    "Iteration",
    "MergerBinding",
    "Partition",
    "RankFormat",
    "SequencerBinding",
    "SpaceTimeRank",
    "Spacetime",
    "Specification",
    "Split",
    "StorageBinding",
    "Tensor",
    "UniformOccupancy",
    "UniformShape",
]

# Default function of each operator, and the action that it is always counted as
OPERATORS: Mapping[str, str] = {"*": "mul", "+": "add", "-": "sub"}


@dataclass(frozen=True)
class RankFormat:
    """Format of the fibers of one rank.

    Args:
        kind: C holds what is there, U the whole shape, B coordinates as a bitmap and payloads as C.
        layout: coordinates and payloads in arrays of their own, or side by side.
        cbits, pbits: bits of a coordinate and of a payload, 0 where none is stored.
        fhbits: bits of a header of each fiber; ``rhbits``: of one of the rank.
    """

    kind: Literal["C", "U", "B"] = "C"
    layout: Literal["contiguous", "interleaved"] = "contiguous"
    cbits: int = 0
    pbits: int = 0
    fhbits: int = 0
    rhbits: int = 0

    def entry_bits(self, kind: str) -> int:
        """Return the bits of a ``coord``, ``payload`` or ``elem``; 0 if the format stores none."""
        return {"coord": self.cbits, "payload": self.pbits, "elem": self.cbits + self.pbits}[kind]


@dataclass(frozen=True)
class Format:
    """One way in which a tensor is stored; ``ranks`` by name, as its tree has them in an Einsum."""

    name: str
    rank_order: tuple[str, ...]
    ranks: Mapping[str, RankFormat]

    def stored_kinds(self, root: str) -> list[tuple[str, str]]:
        """Return the ranks from ``root`` down, each with the kinds of entries that the format stores."""
        kinds = []
        for rank in self.rank_order[self.rank_order.index(root) :]:
            stored = self.ranks[rank]
            names = ("elem",) if stored.layout == "interleaved" else ("coord", "payload")
            kinds += [(rank, kind) for kind in names if stored.entry_bits(kind)]
        return kinds


@dataclass(frozen=True)
class Tensor:
    """A tensor of the cascade.

    Args:
        ranks: as declared; the rows of an input's file are the first.
        rank_order: from the root of its tree, as it is stored.
        uncompressed: ranks of which an iterator visits the whole shape.
        empty: the value that is not stored: 0, or the neutral one of a redefined ``+``.
        formats: the formats by name.
    """

    name: str
    ranks: tuple[str, ...]
    rank_order: tuple[str, ...]
    uncompressed: tuple[str, ...] = ()
    empty: float = 0.0
    formats: Mapping[str, Format] = field(default_factory=dict)


@dataclass(frozen=True)
class UniformShape:
    """Ranges of ``size`` coordinates; of ``nway_shape``, ``ways`` ranges of ceil(shape / ways)."""

    size: int = 0
    ways: int = 0


@dataclass(frozen=True)
class UniformOccupancy:
    """Pieces of ``size`` elements of the leader's fibers; other tensors are cut where the leader is."""

    leader: str
    size: int


@dataclass(frozen=True)
class Split:
    """A rank cut once by each directive, the outermost first: ``K`` becomes ``K2``, ``K1``, ``K0``."""

    rank: str
    names: tuple[str, ...]
    directives: tuple[UniformShape | UniformOccupancy, ...]


@dataclass(frozen=True)
class Flatten:
    """Ranks that become one, the upper first: ``M``, ``K0`` become ``MK0``, its coordinates pairs."""

    ranks: tuple[str, ...]
    name: str


@dataclass(frozen=True)
class Follow:
    """A rank that is cut as ``leader`` is: ``W`` by ``Q`` in ``I[q + s]``, each piece with its halo.

    ``names`` are those of its pieces, the outermost first, as many as the leader has.
    """

    rank: str
    leader: str
    names: tuple[str, ...]


Partition: TypeAlias = Split | Flatten | Follow


@dataclass(frozen=True)
class SpaceTimeRank:
    """A loop rank's place in space or time, by position (ordinal) or by relative coordinate."""

    rank: str
    by: Literal["pos", "coord"] = "pos"


@dataclass(frozen=True)
class Spacetime:
    """Loops in space and loops in time; with ``slip``, the loops in space run out of step."""

    space: tuple[SpaceTimeRank, ...]
    time: tuple[SpaceTimeRank, ...]
    slip: bool = False


@dataclass(frozen=True)
class StorageBinding:
    """A component holds a rank of a tensor: its coordinates, its payloads, or its elements (both).

    ``evict_on``, of buffets alone, is the loop rank whose next iteration drains it (``root``: none does).
    Eager: the whole subtree is moved when its ``root``, a rank, is reached; a binding of a root in a file
    stands for one of each rank from there down, and of each kind that the format stores.
    """

    component: str
    tensor: str
    rank: str
    kind: Literal["coord", "payload", "elem"]
    format: str
    evict_on: str | None = None
    style: Literal["lazy", "eager"] = "lazy"
    root: str | None = None


@dataclass(frozen=True)
class IntersectorBinding:
    """A component intersects at a loop rank; ``leader`` is a tensor, of leader-follower alone."""

    component: str
    rank: str
    leader: str | None = None


@dataclass(frozen=True)
class MergerBinding:
    """A component brings a tensor from one order of ranks into another."""

    component: str
    tensor: str
    init_ranks: tuple[str, ...]
    final_ranks: tuple[str, ...]


@dataclass(frozen=True)
class ComputeBinding:
    """A component does an operation of the body: ``mul``, ``add``, ``sub`` or a function by its name."""

    component: str
    operation: str


@dataclass(frozen=True)
class SequencerBinding:
    """A component starts the bodies of a loop rank."""

    component: str
    rank: str


@dataclass(frozen=True)
class Bindings:
    """Bindings of one Einsum, each in the order of the file.

    ``config`` is the name of the architecture's configuration; empty where nothing is bound.
    """

    config: str = ""
    storage: tuple[StorageBinding, ...] = ()
    intersectors: tuple[IntersectorBinding, ...] = ()
    mergers: tuple[MergerBinding, ...] = ()
    compute: tuple[ComputeBinding, ...] = ()
    sequencers: tuple[SequencerBinding, ...] = ()


@dataclass(frozen=True)
class Component:
    """A unit of the architecture; of its attributes only those of its class are set.

    Args:
        path: names from the root to itself, without counts.
        instances: the instances of the level that holds it, levels above not counted.
        all_instances: the all instances of all levels above multiplied.
        bandwidth: bits a second; None is unlimited.
        width: bits of a line; ``depth``: lines, None is unlimited.
        ways: the ways of a set of a cache, None is one set, and ``replacement``, by which policy: for
            ``semantics: machine``.
        operations: the operations of a compute unit.
        intersection: how an intersector works.
        inputs, outputs: lists of a merger, None is unlimited; ``radix``: lists it merges at once, alike.
        order: ``fifo`` or ``opt``, of a merger; ``reduces``: whether what it merged is scaled and added up
            before it is merged again.
        num_ranks: the num ranks of a sequencer.
    """

    name: str
    kind: Literal["DRAM", "Buffet", "Cache", "Compute", "Intersector", "Merger", "Sequencer"]
    path: tuple[str, ...]
    instances: int
    all_instances: int
    bandwidth: float | None = None
    width: int = 0
    depth: int | None = None
    ways: int | None = None
    replacement: str = ""
    operations: tuple[str, ...] = ()
    intersection: Literal["", "two-finger", "leader-follower", "skip-ahead"] = ""
    inputs: int | None = None
    outputs: int | None = None
    radix: int | None = None
    order: str = ""
    reduces: bool = False
    num_ranks: int | None = None


@dataclass(frozen=True)
class Configuration:
    """One form that the machine takes: its clock in hertz, and its components by name, the root's first."""

    name: str
    clock_frequency: float
    components: Mapping[str, Component]

    @property
    def memories(self) -> tuple[str, ...]:
        """Return the names of the DRAMs; without any, the first store with a bandwidth is the memory."""
        stores = [each for each in self.components.values() if each.kind in ("DRAM", "Buffet", "Cache")]
        dram = tuple(each.name for each in stores if each.kind == "DRAM")
        return dram or tuple(each.name for each in stores if each.bandwidth is not None)[:1]


@dataclass(frozen=True)
class Function:
    """A function of the specification's own; its body has arguments as scalars and no tensors."""

    name: str
    arguments: tuple[str, ...]
    body: Expression


@dataclass(frozen=True)
class Einsum:
    """One equation of the cascade with its mapping and bindings.

    Args:
        name: the name of its output; a later one of the same output is ``Z@2``.
        equation: or the alias; an alias has neither loops nor bindings.
        ranks: the ranks of its iteration space: those of the output, then those that are reduced.
        loop_order: every loop, from the outside in, partitions and flattenings by their names.
        partitioning: in the order in which they are done.
        operators: what ``*``, ``+`` and ``-`` compute, by names of built-in or own functions.
    """

    name: str
    equation: Equation | Alias
    ranks: tuple[str, ...] = ()
    loop_order: tuple[str, ...] = ()
    partitioning: tuple[Partition, ...] = ()
    spacetime: Spacetime | None = None
    operators: Mapping[str, str] = field(default_factory=lambda: dict(OPERATORS))
    bindings: Bindings = field(default_factory=Bindings)

    @property
    def output(self) -> str:
        """The tensor that it makes."""
        return self.equation.output if isinstance(self.equation, Alias) else self.equation.output.tensor

    @property
    def computed(self) -> Equation:
        """The equation, of what is no alias."""
        assert isinstance(self.equation, Equation)
        return self.equation

    @property
    def inputs(self) -> frozenset[str]:
        """The tensors that it reads."""
        if isinstance(self.equation, Alias):
            return frozenset({self.equation.source})
        return frozenset(access.tensor for access in accesses(self.equation.expression))


@dataclass(frozen=True)
class Iteration:
    """The cascade runs again and again.

    Args:
        carry: input of the next round by which tensor of this one it is: ``{"A0": "A1"}``.
        until_empty: the tensor that ends it by having no element left; None: it ends when a round changes
            nothing of what is carried.
        limit: rounds at the most.
    """

    carry: Mapping[str, str]
    until_empty: str | None
    limit: int


@dataclass(frozen=True)
class Specification:
    """A cascade with its mapping, formats, architecture and bindings.

    Args:
        name: the name of the file or the accelerator.
        tensors: all of the cascade, by name, in the order of declaration.
        einsums: in their order.
        symbols: numbers that settings can change, by name.
        functions: the functions of its own.
        shapes: the shapes of ranks whose size is declared; that of others is known from the inputs.
        configurations: the configurations of the architecture.
        iteration: None where the cascade runs once.
        parameters: of the machine that it refers to, by dotted key.
    """

    name: str
    tensors: Mapping[str, Tensor]
    einsums: tuple[Einsum, ...]
    symbols: Mapping[str, float] = field(default_factory=dict)
    functions: Mapping[str, Function] = field(default_factory=dict)
    shapes: Mapping[str, int] = field(default_factory=dict)
    configurations: Mapping[str, Configuration] = field(default_factory=dict)
    iteration: Iteration | None = None
    parameters: Mapping[str, object] = field(default_factory=dict)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Tensors that are read before the cascade has made them, in the order of declaration."""
        outputs: set[str] = set()
        read: set[str] = set()
        for einsum in self.einsums:
            read |= einsum.inputs - outputs
            outputs.add(einsum.output)
        return tuple(name for name in self.tensors if name in read)
