"""Reader of the section ``mapping`` of a specification: rank orders, partitions, loop orders, spacetime."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from fiberscope.accelerators.yaml_document import Document, Path
from fiberscope.models.trace.cascade import Cascade
from fiberscope.models.trace.schema import MappingSchema
from fiberscope.models.trace.specification import (
    Flatten,
    Follow,
    Partition,
    Spacetime,
    Split,
    Stamp,
    UniformOccupancy,
    UniformShape,
)
from fiberscope.workloads.errors import suggest
from fiberscope.workloads.expressions.expression import Alias, Equation, accesses
from fiberscope.workloads.expressions.grammar import (
    Directive,
    UnreadableTextError,
    parse_directive,
    parse_ranks,
)

_DIRECTIVES = {  # an example of each partitioning directive, for messages
    "uniform_shape": "uniform_shape(128)",
    "nway_shape": "nway_shape(8)",
    "uniform_occupancy": "uniform_occupancy(A.256)",
    "flatten": "flatten()",
    "follow": "follow(Q)",
}
DYNAMIC = "DRT"  # dynamic reflexive tiling (Odemuyiwa et al., ASPLOS 2023)


@dataclass(frozen=True)
class EinsumMapping:
    """Mapping of one Einsum.

    Args:
        ranks: ranks of the iteration space, before partitioning.
        loop_order: ranks of the loops after partitioning, outermost first.
        partitioning: partitions in the order in which they are applied.
        spacetime: the loops in space and in time; None if the specification does not say.
    """

    ranks: tuple[str, ...]
    loop_order: tuple[str, ...]
    partitioning: tuple[Partition, ...]
    spacetime: Spacetime | None


def list_iteration_ranks(equation: Equation) -> tuple[str, ...]:
    """Return the ranks of an Einsum's iteration space: the ranks of the output, then the reduced ranks."""
    ranks = [*equation.output.ranks]
    for access in accesses(equation.expression):
        ranks += access.ranks
    return tuple(dict.fromkeys(ranks))


@dataclass(frozen=True)
class MappingReader:
    """Reader of a section ``mapping``.

    Args:
        schema: the section, checked against its schema.
        cascade: the Einsums and their tensors.
        symbols: values of the symbols that sizes of partitions may name.
        document: the file, for the positions in messages.
    """

    schema: MappingSchema
    cascade: Cascade
    symbols: Mapping[str, float]
    document: Document

    def check_names(self) -> None:
        """Refuse entries for tensors and Einsums that do not exist.

        Raises:
            ConfigurationError: a name does not exist.
        """
        declared = self.cascade.declared
        statements = self.cascade.statements.items()
        einsums = [name for name, (statement, _path) in statements if not isinstance(statement, Alias)]
        sections: Mapping[str, tuple[Iterable[str], Iterable[str], str]] = {
            "rank-order": (self.schema.rank_order, declared, "tensor"),
            "uncompressed": (self.schema.uncompressed, declared, "tensor"),
            "partitioning": (self.schema.partitioning, einsums, "Einsum"),
            "loop-order": (self.schema.loop_order, einsums, "Einsum"),
            "spacetime": (self.schema.spacetime, einsums, "Einsum"),
        }
        for section, (entries, names, kind) in sections.items():
            for name in entries:
                if name not in names:
                    message = f"there is no {kind} {name}; {suggest(name, names)}"
                    raise self.document.error(("mapping", section, name), message, key=True)

    def rank_order(self, tensor: str) -> tuple[str, ...]:
        """Return the ranks of a tensor in the order of storage, by default the declared order.

        Raises:
            ConfigurationError: the order does not have each declared rank once.
        """
        declared = self.cascade.declared[tensor]
        order = tuple(self.schema.rank_order.get(tensor, declared))
        if sorted(order) != sorted(declared):
            message = f"the rank order of {tensor} should have each of {', '.join(declared)} once"
            raise self.document.error(("mapping", "rank-order", tensor), message)
        return order

    def uncompressed(self, tensor: str) -> tuple[str, ...]:
        """Return the ranks of a tensor of which all coordinates are visited, empty ones too.

        Raises:
            ConfigurationError: the tensor has no such rank.
        """
        ranks = tuple(self.schema.uncompressed.get(tensor, ()))
        for position, rank in enumerate(ranks):
            if rank not in self.cascade.declared[tensor]:
                path = ("mapping", "uncompressed", tensor, position)
                advice = suggest(rank, self.cascade.declared[tensor])
                raise self.document.error(path, f"{tensor} has no rank {rank}; {advice}")
        return ranks

    def read_einsum_mapping(self, name: str, equation: Equation) -> EinsumMapping:
        """Return the mapping of one Einsum.

        Args:
            name: name of the Einsum.
            equation: its equation.

        Raises:
            ConfigurationError: a partition, the loop order or the spacetime does not fit the Einsum.
        """
        ranks = list_iteration_ranks(equation)
        partitioning, loops = self._read_partitioning(name, equation, ranks)
        order = self._loop_order(name, loops)
        return EinsumMapping(ranks, order, partitioning, self._read_spacetime(name, order))

    def _loop_order(self, name: str, loops: Sequence[str]) -> tuple[str, ...]:
        """Return the order of loops, by default that of partitioning; refuse one that lacks a loop."""
        order = tuple(self.schema.loop_order.get(name, loops))
        path: Path = ("mapping", "loop-order", name)
        for position, rank in enumerate(order):
            if rank not in loops:
                raise self.document.error(
                    (*path, position), f"{name} has no loop {rank}; {suggest(rank, loops)}"
                )
            if rank in order[:position]:
                raise self.document.error((*path, position), f"loop {rank} appears twice")
        for rank in loops:
            if rank not in order:
                raise self.document.error(path, f"loop {rank} of {name} is missing")
        return order

    def _read_spacetime(self, name: str, loops: Sequence[str]) -> Spacetime | None:
        """Return the loops in space and in time, which together are all loops; None without a section."""
        spacetime = self.schema.spacetime.get(name)
        if spacetime is None:
            return None
        path: Path = ("mapping", "spacetime", name)
        space = self._read_stamps(spacetime.space, loops, (*path, "space"))
        time = self._read_stamps(spacetime.time, loops, (*path, "time"))
        stamped = [stamp.rank for stamp in (*space, *time)]
        for rank in loops:
            if stamped.count(rank) != 1:
                count_fault = (
                    "neither in space nor in time" if rank not in stamped else "there more than once"
                )
                raise self.document.error(path, f"loop {rank} of {name} is {count_fault}")
        return Spacetime(space, time, spacetime.opt == "slip")

    def _read_stamps(self, texts: Sequence[str], loops: Sequence[str], path: Path) -> tuple[Stamp, ...]:
        """Return the stamps of loops; a text is a rank, with ``.pos`` (the default) or ``.coord``."""
        stamps = []
        for position, text in enumerate(texts):
            rank, _dot, kind = text.partition(".")
            if rank not in loops:
                raise self.document.error(
                    (*path, position), f"there is no loop {rank}; {suggest(rank, loops)}"
                )
            if kind not in ("", "pos", "coord"):
                message = f"{text}: a rank is placed by pos or by coord, as in {rank}.coord"
                raise self.document.error((*path, position), message)
            stamps.append(Stamp(rank, "coord" if kind == "coord" else "pos"))
        return tuple(stamps)

    def _read_partitioning(
        self, name: str, equation: Equation, ranks: tuple[str, ...]
    ) -> tuple[tuple[Partition, ...], tuple[str, ...]]:
        """Return the partitions of an Einsum in the order of application, and the loops after them."""
        pending = {
            key: (self._parse_ranks(name, key), self._parse_directives(name, key, equation))
            for key in self.schema.partitioning.get(name, {})
        }
        steps: list[Partition] = []
        loops = ranks
        # a follower has no loops of its own, and is read last: it needs the partition of the rank it follows
        follows = {key: entry for key, entry in pending.items() if entry[1][0].name == "follow"}
        for key in follows:
            pending.pop(key)
        while pending:
            # a partition of ranks that another partition creates waits for the other
            ready = next((key for key, (ranks, _) in pending.items() if set(ranks) <= set(loops)), None)
            if ready is None:
                raise self._make_unknown_rank_error(name, next(iter(pending)), pending, loops)
            step = self._partition(name, ready, *pending.pop(ready))
            steps.append(step)
            loops = _replace_ranks(loops, step)
        steps += [self._follow(name, key, *entry, steps, equation) for key, entry in follows.items()]
        return tuple(steps), loops

    def _make_unknown_rank_error(
        self, name: str, key: str, pending: Mapping[str, tuple[tuple[str, ...], object]], loops: Sequence[str]
    ) -> Exception:
        rank = next(rank for rank in pending[key][0] if rank not in loops)
        path = ("mapping", "partitioning", name, key)
        return self.document.error(
            path, f"{name} has no rank {rank} to partition; {suggest(rank, loops)}", key=True
        )

    def _parse_ranks(self, name: str, key: str) -> tuple[str, ...]:
        path = ("mapping", "partitioning", name, key)
        try:
            ranks = parse_ranks(key)
        except UnreadableTextError as error:
            raise self.document.error(path, f"{key}: {error}; write K or (M, K)", key=True) from error
        if len(set(ranks)) < len(ranks):
            raise self.document.error(path, f"{key}: a rank appears twice", key=True)
        return ranks

    def _parse_directives(self, name: str, key: str, equation: Equation) -> list[Directive]:
        path: Path = ("mapping", "partitioning", name, key)
        texts = self.schema.partitioning[name][key]
        if not texts:
            raise self.document.error(path, f"{key} has no directive, such as {_DIRECTIVES['uniform_shape']}")
        return [self._parse_directive(text, equation, (*path, index)) for index, text in enumerate(texts)]

    def _parse_directive(self, text: str, equation: Equation, path: Path) -> Directive:
        """Return a directive after a check of its name, its size and its leader."""
        if text.partition("(")[0].strip().upper() == DYNAMIC:
            instead = f"write {_DIRECTIVES['uniform_occupancy']}, or use `fiberscope tile --compare drt`"
            message = f"{text}: tiles that grow while the loops run (DRT) are not modelled; {instead}"
            raise self.document.error(path, message)
        try:
            directive = parse_directive(text)
        except UnreadableTextError as error:
            raise self.document.error(path, f"{text}: {error}", offset=error.column) from error
        if directive.name not in _DIRECTIVES:
            raise self.document.error(
                path, f"there is no directive {directive.name}; {suggest(directive.name, _DIRECTIVES)}"
            )
        has_leader = directive.name == "uniform_occupancy"
        has_size = directive.name != "flatten"
        if has_leader != (directive.leader is not None) or has_size != (directive.size is not None):
            raise self.document.error(path, f"{text}: write it as {_DIRECTIVES[directive.name]}")
        if has_leader:
            self._check_leader(str(directive.leader), equation, path)
        return directive

    def _check_leader(self, leader: str, equation: Equation, path: Path) -> None:
        inputs = {access.tensor for access in accesses(equation.expression)}
        if leader not in inputs:
            raise self.document.error(
                path, f"{leader} leads, but is not read by this Einsum; {suggest(leader, inputs)}"
            )

    def _partition(
        self, name: str, key: str, ranks: tuple[str, ...], directives: list[Directive]
    ) -> Partition:
        """Return the partition of ``ranks``; ``K`` split by two directives becomes ``K2``, ``K1``, ``K0``."""
        path: Path = ("mapping", "partitioning", name, key)
        kinds = [directive.name for directive in directives]
        if len(ranks) > 1 or "flatten" in kinds:
            if kinds != ["flatten"] or len(ranks) < 2:
                raise self.document.error(path, f"{key}: flatten() joins two or more ranks, and stands alone")
            return Flatten(ranks, "".join(ranks))
        if "follow" in kinds:
            raise self.document.error(path, f"{key}: follow() stands alone")
        # the sort is stable: it changes the list only if a directive by shape follows one by occupancy
        if kinds != sorted(kinds, key=lambda kind: kind == "uniform_occupancy"):
            raise self.document.error(
                path, f"{key}: a partition by shape cannot lie within a partition by occupancy"
            )
        splits = tuple(self._split_directive(each, (*path, index)) for index, each in enumerate(directives))
        self._check_sizes(splits, path)
        names = tuple(f"{ranks[0]}{level}" for level in range(len(splits), -1, -1))
        return Split(ranks[0], names, splits)

    def _check_sizes(self, splits: tuple[UniformShape | UniformOccupancy, ...], path: Path) -> None:
        """Refuse pieces that are larger than the pieces of the same kind around them."""
        for index, (outer, inner) in enumerate(pairwise(splits), start=1):
            # ``nway_shape`` has size 0 here: the size of its pieces depends on the operands
            comparable = type(outer) is type(inner) and outer.size and inner.size
            if comparable and inner.size > outer.size:
                raise self.document.error(
                    (*path, index), f"a part of {inner.size} does not fit the one of {outer.size} around it"
                )

    def _split_directive(self, directive: Directive, path: Path) -> UniformShape | UniformOccupancy:
        size = self._size(directive, path)
        if directive.name == "uniform_occupancy":
            return UniformOccupancy(str(directive.leader), size)
        return UniformShape(ways=size) if directive.name == "nway_shape" else UniformShape(size)

    def _size(self, directive: Directive, path: Path) -> int:
        size = directive.size
        if isinstance(size, str):
            if size not in self.symbols:
                raise self.document.error(path, f"there is no symbol {size}; {suggest(size, self.symbols)}")
            size = Fraction(self.symbols[size])  # exact, so that 2.5 is refused and 2.0 is not
        if size is None or size.denominator != 1 or not 1 <= size < 2**62:
            raise self.document.error(
                path, f"a size of {float(size or 0):g}; it should be a whole number from 1 on"
            )
        return int(size)

    def _follow(
        self,
        name: str,
        key: str,
        ranks: tuple[str, ...],
        directives: list[Directive],
        steps: Sequence[Partition],
        equation: Equation,
    ) -> Follow:
        """Return a rank that is split like the rank that it follows."""
        path: Path = ("mapping", "partitioning", name, key)
        rank, leader = ranks[0], str(directives[0].size)
        if len(ranks) > 1 or len(directives) > 1:
            raise self.document.error(path, f"{key}: follow() is of one rank, and stands alone")
        split = next((step for step in steps if isinstance(step, Split) and step.rank == leader), None)
        if split is None:
            split_ranks = [step.rank for step in steps if isinstance(step, Split)]
            advice = suggest(leader, split_ranks) if split_ranks else "no rank is"
            raise self.document.error(path, f"{rank} follows {leader}, which is not partitioned; {advice}")
        tensors = {access.tensor for access in accesses(equation.expression)}
        declared = [rank for tensor in sorted(tensors) for rank in self.cascade.declared[tensor]]
        if rank not in declared:
            raise self.document.error(
                path, f"no tensor has a rank {rank}; {suggest(rank, declared)}", key=True
            )
        names = tuple(f"{rank}{level}" for level in range(len(split.directives), -1, -1))
        return Follow(rank, leader, names)


def _replace_ranks(loops: tuple[str, ...], step: Partition) -> tuple[str, ...]:
    """Return the loops after a partition, whose ranks take the place of the first rank that it replaces."""
    old_ranks = step.ranks if isinstance(step, Flatten) else (step.rank,)
    new_ranks = (step.name,) if isinstance(step, Flatten) else step.names
    first = min(loops.index(rank) for rank in old_ranks)
    unchanged = [rank for rank in loops[:first] if rank not in old_ranks]
    return (*unchanged, *new_ranks, *(rank for rank in loops[first:] if rank not in old_ranks))
