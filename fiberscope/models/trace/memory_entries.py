"""Entries that a specification binds to memory, entries that move nothing, and the size of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from fiberscope.models.trace.specification import Specification
from fiberscope.models.trace.storage_format import Format
from fiberscope.workloads.fibertree import FiberTree

DRAM_ONLY = "bound to DRAM only"
OTHER_ORDER = "its ranks are in another order than its format's"
UNBOUND = "bound to no memory"


@dataclass(frozen=True)
class MemoryEntry:
    """Entries of a rank that an Einsum binds to DRAM, or to the component in the place of DRAM.

    Args:
        einsum: name of the Einsum.
        tensor, rank: names of the tensor, and of the rank in its format.
        kind: ``coord``, ``payload`` or ``elem``.
        format: the format of the tensor that the binding names.
        memory: name of the memory.
        is_buffered: whether another store binds the same entries, so that entries move between the two.
    """

    einsum: str
    tensor: str
    rank: str
    kind: str
    format: Format
    memory: str
    is_buffered: bool


def list_memory_entries(specification: Specification) -> list[MemoryEntry]:
    """Return the entries that the Einsums bind to memory, without entries of 0 bits."""
    entries = []
    for einsum in specification.einsums:
        storage = einsum.bindings.storage
        # an Einsum without bindings names no configuration
        memories = specification.configurations[einsum.bindings.config].memories if storage else ()
        buffered = {
            (binding.tensor, binding.rank, binding.kind)
            for binding in storage
            if binding.component not in memories
        }
        for binding in storage:
            entry = (binding.tensor, binding.rank, binding.kind)
            format = specification.tensors[binding.tensor].formats[binding.format]
            if binding.component in memories and format.ranks[binding.rank].count_entry_bits(binding.kind):
                entries.append(MemoryEntry(einsum.name, *entry, format, binding.component, entry in buffered))
    return entries


def find_unmoved_tensors(
    specification: Specification, reason: Callable[[MemoryEntry], str]
) -> dict[str, str]:
    """Return tensors, or parts of tensors, that do not move between memory and machine, with the reasons.

    Args:
        specification: the cascade with its bindings.
        reason: returns why an entry does not move; an empty text if the entry moves.

    Returns:
        Reasons by name, sorted: ``A`` for a whole tensor, ``A.M`` for a rank, ``A.M.coord`` for its
        coordinates. If several Einsums bind a tensor and only a part does not move, the name ends with
        `` in Z``, for the Einsum Z.
    """
    entries = [(entry, reason(entry)) for entry in list_memory_entries(specification)]
    tensors = dict.fromkeys([*specification.inputs, *(einsum.output for einsum in specification.einsums)])
    unmoved: dict[str, str] = {}
    for tensor in tensors:
        of_tensor = [(entry, reason) for entry, reason in entries if entry.tensor == tensor]
        einsums = dict.fromkeys(entry.einsum for entry, _reason in of_tensor)
        if of_tensor and all(reason for _entry, reason in of_tensor):
            unmoved[tensor] = _join_reasons(of_tensor)  # no Einsum moves any entry of the tensor
            continue
        for einsum in einsums:
            of_einsum = [(entry, reason) for entry, reason in of_tensor if entry.einsum == einsum]
            suffix = f" in {einsum}" if len(einsums) > 1 else ""
            unmoved |= {
                f"{name}{suffix}": reason for name, reason in _find_largest_unmoved(tensor, of_einsum)
            }
    if any(configuration.memories for configuration in specification.configurations.values()):
        # intermediate tensors may stay in the machine, but inputs and results should be bound to memory
        end_tensors = _find_inputs_and_results(specification)
        unmoved |= {
            name: UNBOUND for name in end_tensors if name not in {entry.tensor for entry, _reason in entries}
        }
    return {name: unmoved[name] for name in sorted(unmoved)}


def _find_largest_unmoved(tensor: str, entries: list[tuple[MemoryEntry, str]]) -> Iterator[tuple[str, str]]:
    """Yield the largest parts of a tensor that do not move in an Einsum, with the reasons."""
    if all(reason for _entry, reason in entries):
        yield tensor, _join_reasons(entries)
        return
    for rank in dict.fromkeys(entry.rank for entry, _reason in entries):
        entries_of_rank = [(entry, reason) for entry, reason in entries if entry.rank == rank]
        if all(reason for _entry, reason in entries_of_rank):
            yield f"{tensor}.{rank}", _join_reasons(entries_of_rank)
        else:
            yield from (
                (f"{tensor}.{rank}.{entry.kind}", reason) for entry, reason in entries_of_rank if reason
            )


def _join_reasons(entries: Iterable[tuple[MemoryEntry, str]]) -> str:
    return "; ".join(dict.fromkeys(reason for _entry, reason in entries))


def _find_inputs_and_results(specification: Specification) -> list[str]:
    """Return the inputs of a cascade, and its results: outputs that no Einsum reads."""
    inputs = {name for einsum in specification.einsums for name in einsum.inputs}
    outputs = dict.fromkeys(einsum.output for einsum in specification.einsums)
    return [*specification.inputs, *(name for name in outputs if name not in inputs)]


def count_least_bytes(specification: Specification, trees: Mapping[str, FiberTree]) -> int:
    """Return a lower bound of the bytes that a machine moves: each operand once, and each result once.

    Of several formats of a tensor that are bound to memory, the smallest counts. Headers of fibers and ranks
    are not counted. The bytes of each tensor are rounded up.

    Args:
        specification: the specification; all entries bound to DRAM count, whether the machine moves them or
            not.
        trees: operands and results by name, their ranks as declared; a missing tensor counts 0.
    """
    entries, least = list_memory_entries(specification), 0
    for name in _find_inputs_and_results(specification):
        if name not in trees:
            continue
        formats, by_format = specification.tensors[name].formats, dict[str, set[tuple[str, str]]]()
        for entry in entries:
            if entry.tensor == name:  # a set: several Einsums may bind the same entries
                by_format.setdefault(entry.format.name, set()).add((entry.rank, entry.kind))
        sizes = [
            _count_bits(trees[name], formats[format_name], kinds) for format_name, kinds in by_format.items()
        ]
        least += -(-min(sizes, default=0) // 8)
    return least


def _count_bits(tree: FiberTree, format: Format, kinds: Iterable[tuple[str, str]]) -> int:
    """Return the bits of entries of an unpartitioned tensor.

    A rank of kind U has an entry for each coordinate of its shape, other ranks for each element. An outer
    piece of a rank (``K1``) counts the coordinates of the ranks above it only, which is a lower bound.
    """
    # the format may name pieces of ranks, and the tree has the declared ranks only
    declared = {rank: _find_declared_rank(rank, tree.names) for rank in format.rank_order}
    order = list(dict.fromkeys(name for name in declared.values() if name))
    ordered = tree.swizzle([*order, *(name for name in tree.names if name not in order)])
    bits = 0
    for rank, kind in kinds:
        outer_ranks = format.rank_order[: format.rank_order.index(rank) + 1]
        depth = len({declared[name] for name in outer_ranks if declared[name]})
        entries = 1  # of an outer piece at the root
        if declared[rank] and format.ranks[rank].kind == "U":
            # a fiber for each segment, the whole shape in each fiber
            entries = (len(ordered.segments[depth - 1]) - 1) * ordered.ranks[depth - 1].shape
        elif depth:
            entries = len(ordered.coordinates[depth - 1])
        bits += entries * format.ranks[rank].count_entry_bits(kind)
    return bits


def _find_declared_rank(rank: str, names: Iterable[str]) -> str:
    """Return the declared rank of a rank or of its innermost piece (``K0``); empty for outer pieces."""
    return next((name for name in names if rank in (name, f"{name}0")), "")
