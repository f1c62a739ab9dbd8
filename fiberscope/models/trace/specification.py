"""Specification of a machine after all checks: the types that execution and the models read.

``fiberscope.models.trace.load`` reads a ``Specification`` from a YAML file. Defaults are filled in, symbols
have values, and every name refers to an existing object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from fiberscope.models.trace.storage_format import Format
from fiberscope.workloads.expressions.expression import Alias, Equation, Expression, accesses

# Default function of each operator; an operator counts under this name whatever its function
OPERATORS: Mapping[str, str] = {"*": "mul", "+": "add", "-": "sub"}


@dataclass(frozen=True)
class Tensor:
    """A tensor of the cascade.

    Args:
        name: name of the tensor.
        ranks: declared ranks; the rows of an input's file are the first rank.
        rank_order: order of storage, from the root of the tree.
        uncompressed: ranks whose whole shape an iterator visits.
        empty: the value that is not stored: 0, or the neutral value of a redefined ``+``.
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
    """Partition by shape; exactly one of the two numbers is not 0.

    Args:
        size: coordinates of a piece, for ``uniform_shape``.
        ways: number of pieces, for ``nway_shape``.
    """

    size: int = 0
    ways: int = 0


@dataclass(frozen=True)
class UniformOccupancy:
    """Partition by occupancy: pieces of ``size`` elements of the leader; other tensors follow the leader.

    The last piece of a fiber may have fewer elements. Pieces of the other tensors have the leader's
    boundaries, and any number of elements.
    """

    leader: str
    size: int


@dataclass(frozen=True)
class Split:
    """A rank split once by each directive, outermost first: ``K`` becomes ``K2``, ``K1``, ``K0``.

    ``names`` has one entry more than ``directives``: the last name is the innermost piece, which has the
    coordinates of the rank.
    """

    rank: str
    names: tuple[str, ...]
    directives: tuple[UniformShape | UniformOccupancy, ...]


@dataclass(frozen=True)
class Flatten:
    """Ranks flattened to one rank, upper first: ``M``, ``K0`` become ``MK0`` with pairs as coordinates."""

    ranks: tuple[str, ...]
    name: str


@dataclass(frozen=True)
class Follow:
    """A rank split like its ``leader``: ``W`` by ``Q`` in ``I[q + s]``, each piece with its halo.

    ``names`` are the pieces, outermost first, as many as the leader has.
    """

    rank: str
    leader: str
    names: tuple[str, ...]


Partition: TypeAlias = Split | Flatten | Follow


@dataclass(frozen=True)
class Stamp:
    """The stamp of a loop rank in space or time, by position (ordinal) or by relative coordinate."""

    rank: str
    by: Literal["pos", "coord"] = "pos"


@dataclass(frozen=True)
class Spacetime:
    """Loops in space and loops in time; with ``slip``, the loops in space are not synchronized."""

    space: tuple[Stamp, ...]
    time: tuple[Stamp, ...]
    slip: bool = False


@dataclass(frozen=True)
class StorageBinding:
    """Binding of a store to the entries of one rank of a tensor.

    Args:
        component: name of the store.
        tensor, rank: the tensor, and its rank by the name in the format.
        kind: coordinates, payloads, or elements (both).
        format: name of the tensor's format.
        evict_on: for buffets only, the loop rank whose next iteration drains the buffet; ``root``: no loop.
        style: an ``eager`` binding moves the whole subtree of ``root`` at the first access.
        root: the upper rank of the subtree. A root in a file stands for a binding of each rank from the root
            down, and of each kind that the format stores.
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
    """Binding of an intersector to a loop rank.

    Args:
        component: name of the intersector.
        rank: the loop rank.
        leader: the tensor that leads a leader-follower intersection; None for other types.
    """

    component: str
    rank: str
    leader: str | None = None


@dataclass(frozen=True)
class MergerBinding:
    """Binding of a component that reorders the ranks of a tensor, from ``init_ranks`` to ``final_ranks``."""

    component: str
    tensor: str
    init_ranks: tuple[str, ...]
    final_ranks: tuple[str, ...]


@dataclass(frozen=True)
class ComputeBinding:
    """Binding of a component that computes an operation: ``mul``, ``add``, ``sub`` or a function."""

    component: str
    operation: str


@dataclass(frozen=True)
class SequencerBinding:
    """Binding of a component that starts the bodies of a loop rank."""

    component: str
    rank: str


@dataclass(frozen=True)
class Bindings:
    """Bindings of one Einsum, each in the order of the file.

    ``config`` is the name of the architecture's configuration; empty without bindings.
    """

    config: str = ""
    storage: tuple[StorageBinding, ...] = ()
    intersectors: tuple[IntersectorBinding, ...] = ()
    mergers: tuple[MergerBinding, ...] = ()
    compute: tuple[ComputeBinding, ...] = ()
    sequencers: tuple[SequencerBinding, ...] = ()


@dataclass(frozen=True)
class Component:
    """A component of the architecture; attributes that its class does not have keep their defaults.

    Args:
        name, kind: its name, and its class.
        path: names from the root to the component, without counts.
        instances: instances of its level, without the levels above.
        all_instances: instances of its level, times those of all levels above.
        bandwidth: bits a second; None is unlimited.
        width, depth: bits of a line, and lines; None is unlimited.
        ways, replacement: ways of a cache set, and replacement policy. The trace model uses ``ways`` only
            with the effect ``replacement``, and takes 16 ways for None.
        operations: the operations of a compute unit.
        intersection: the type of an intersector.
        inputs, outputs, radix: lists of a merger, and lists that it merges at a time; None is unlimited.
        order: ``fifo`` or ``opt``, of a merger.
        reduces: whether a merger scales and sums lists before the next merge.
        num_ranks: ranks of a sequencer.
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
    """A configuration of the machine: its clock in hertz, and its components by name, the root's first."""

    name: str
    clock_frequency: float
    components: Mapping[str, Component]

    @property
    def memories(self) -> tuple[str, ...]:
        """Return the names of the DRAMs; without any, the first store with a bandwidth is the memory.

        The result is empty without either of them.
        """
        stores = [store for store in self.components.values() if store.kind in ("DRAM", "Buffet", "Cache")]
        dram = tuple(store.name for store in stores if store.kind == "DRAM")
        return dram or tuple(store.name for store in stores if store.bandwidth is not None)[:1]


@dataclass(frozen=True)
class Function:
    """A function of the specification; its body has arguments as scalars, and no tensors."""

    name: str
    arguments: tuple[str, ...]
    body: Expression


@dataclass(frozen=True)
class Einsum:
    """One Einsum of the cascade with its mapping and bindings.

    Args:
        name: the name of its output; a later Einsum of the same output is ``Z@2``.
        equation: the equation or the alias; an alias has neither loops nor bindings.
        ranks: the ranks of its iteration space: the ranks of the output, then the reduced ranks.
        loop_order: all loops, outermost first, by the names of partitions and flattened ranks.
        partitioning: partitions in the order of application.
        spacetime: loops in space and time; None if the specification does not say.
        operators: names of the functions for ``*``, ``+`` and ``-``.
        bindings: the components of the Einsum.
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
        """Return the name of the output tensor."""
        return self.equation.output if isinstance(self.equation, Alias) else self.equation.output.tensor

    @property
    def computed(self) -> Equation:
        """Return the equation; the Einsum must be no alias."""
        assert isinstance(self.equation, Equation)
        return self.equation

    @property
    def inputs(self) -> frozenset[str]:
        """Return the names of the input tensors."""
        if isinstance(self.equation, Alias):
            return frozenset({self.equation.source})
        return frozenset(access.tensor for access in accesses(self.equation.expression))


@dataclass(frozen=True)
class Iteration:
    """Iteration of the cascade.

    Args:
        carry: inputs of the next round and the tensors of this round that replace them: ``{"A0": "A1"}``.
        until_empty: the tensor whose emptiness ends the iteration; None: a round without changes does.
        limit: largest number of rounds.
    """

    carry: Mapping[str, str]
    until_empty: str | None
    limit: int


@dataclass(frozen=True)
class Specification:
    """A cascade with its mapping, formats, architecture and bindings.

    Args:
        name: the name of the file or the accelerator.
        tensors: all tensors of the cascade by name, in the order of declaration.
        einsums: in the order of execution.
        symbols: numbers that settings can change, by name.
        functions: functions of the specification.
        shapes: declared shapes of ranks; the inputs determine other shapes.
        configurations: the configurations of the architecture.
        iteration: None if the cascade runs once.
        parameters: parameters of the machine that the file names, by dotted key.
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
        """Return the tensors that are read before any Einsum writes them, in the order of declaration.

        A tensor that its first Einsum both reads and writes is an input.
        """
        outputs: set[str] = set()
        inputs: set[str] = set()
        for einsum in self.einsums:
            inputs |= einsum.inputs - outputs
            outputs.add(einsum.output)
        return tuple(name for name in self.tensors if name in inputs)
