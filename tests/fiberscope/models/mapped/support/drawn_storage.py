"""Formats, and buffers beside each processing element that hold what these store, drawn."""

from dataclasses import replace

from drawn_specifications import merging, programs
from hypothesis import assume
from hypothesis import strategies as st

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.models.from_spec.build import build_graphs
from fiberscope.models.trace.specification import Component, Split, StorageBinding
from fiberscope.models.trace.storage_format import Format, RankFormat
from fiberscope.workloads.expressions.expression import Take, iterate_operators

BITS = st.sampled_from([0, 8, 16])
POINTERS = RankFormat("U", "contiguous", 0, 32)


@st.composite
def stored_programs(draw, source=None):
    """A specification whose buffers tell what comes from memory, its tensors, and its graph.

    Left out are: ranks that are visited whole, where nothing is read that is known to be absent; leaders;
    coordinates that are intersected, of which the trace does not read those behind the last match; values
    that a take does not take; several loops in space on several instances, which trace and machine deal
    otherwise; and what is cut as another one while the loops run, as the trace knows in which pieces it is
    empty.
    """
    specification, trees = draw(programs() if source is None else source)
    specification = plain(specification)
    try:
        ((stage, graph),) = build_graphs(specification, trees)
    except ConfigurationError:
        assume(False)
    (einsum,) = specification.einsums
    orders = {name: order for name, order in graph.orders.items() if "'" not in name}
    cuts = [part for part in einsum.partitioning if isinstance(part, Split)]
    assume(not any(follows(part, orders) for part in cuts))
    tensors, bindings = dict(specification.tensors), []
    for name, order in orders.items():
        ranks = {rank: RankFormat("C", "contiguous", draw(BITS), draw(BITS)) for rank in order}
        tensors[name] = replace(tensors[name], formats={"stored": Format("stored", order, ranks)})
        for rank in order:
            loop = graph.plan.loop_of(rank)
            inner = loop not in stage.outer or stage.instances == 1
            for kind in kinds_held(einsum, orders, name, rank, inner=inner):
                loops = einsum.loop_order[: einsum.loop_order.index(loop)]
                known = [loop for loop in loops if loop not in stage.outer[:-1]]
                until = draw(st.sampled_from(["root", *known]))
                bindings.append(StorageBinding("DRAM", name, rank, kind, "stored"))
                bindings.append(StorageBinding("Buffer", name, rank, kind, "stored", until))
    width = draw(st.sampled_from([16, 32, 64]))
    bound = replace(einsum, bindings=replace(einsum.bindings, storage=tuple(bindings)))
    return with_memory(replace(specification, tensors=tensors, einsums=(bound,)), width), trees


def follows(part, orders):
    """Whether a tensor has the pieces of a rank in one, as they are cut while the loops run."""
    return any(part.names[-1] in order and part.names[0] not in order for order in orders.values())


def plain(specification):
    """Without leaders and ranks that are visited whole; one instance if several loops are in space."""
    (einsum,) = specification.einsums
    tensors = {name: replace(one, uncompressed=()) for name, one in specification.tensors.items()}
    einsum = replace(einsum, bindings=replace(einsum.bindings, intersectors=()))
    chip = specification.configurations["Chip"]
    if len(einsum.spacetime.space) > 1:
        alone = {name: replace(one, instances=1, all_instances=1) for name, one in chip.components.items()}
        chip = replace(chip, components=alone)
    return replace(specification, tensors=tensors, einsums=(einsum,), configurations={"Chip": chip})


def kinds_held(einsum, orders, name, rank, *, inner):
    """What of a rank is bound: what each instance reads by itself, or all if there is one."""
    output, expression = einsum.equation.output, einsum.equation.expression
    if name == output.tensor:
        return ()
    sharing = sum(rank in orders[one] for one in einsum.inputs)
    together = sharing == 1 or set(iterate_operators(expression)) & set("+-")
    kinds = ("coord", "payload") if together else ("payload",)
    if isinstance(expression, Take) and expression.operands[expression.selected].tensor != name:
        kinds = tuple(kind for kind in kinds if kind == "coord" or rank != orders[name][-1])
    return kinds if inner else ()


def with_memory(specification, width):
    """The same with a memory, and a buffer beside each processing element whose lines are so wide."""
    chip = specification.configurations["Chip"]
    number = chip.components["ALU"].instances
    memory = Component("DRAM", "DRAM", ("Chip", "DRAM"), 1, 1, bandwidth=64e9 * 8)
    path = ("Chip", "PE", "Buffer")
    buffer = Component("Buffer", "Buffet", path, number, number, width=width)
    components = {"DRAM": memory, "Buffer": buffer, **chip.components}
    return replace(specification, configurations={"Chip": replace(chip, components=components)})


@st.composite
def stored_merging(draw):
    """Row-wise products through a merger: rows of B by a cache, A and Z by buffers beside the merger.

    B's fibers begin where a pointer for each coordinate says, which is looked up.
    """
    specification, trees = draw(merging(pieces=st.just(0)))
    stored = {
        "A": Format("stored", ("M", "K"), {"M": POINTERS, "K": RankFormat("C", "contiguous", 32, 64)}),
        "B": Format("stored", ("K", "N"), {"K": POINTERS, "N": RankFormat("C", "contiguous", 32, 64)}),
        "Z": Format("stored", ("M", "N"), {"M": POINTERS, "N": RankFormat("C", "contiguous", 32, 64)}),
    }
    tensors = dict(specification.tensors)
    for name, format in stored.items():
        tensors[name] = replace(tensors[name], formats={"stored": format})
    first, second = specification.einsums
    read = [*moved("A", "MK", "Buffer", "M"), *moved("B", "KN", "Cache")]
    first = replace(first, bindings=replace(first.bindings, storage=tuple(read)))
    second = replace(
        second, bindings=replace(second.bindings, storage=tuple(moved("Z", "MN", "Buffer", "M")))
    )
    chip = specification.configurations["Chip"]
    cache = Component("Cache", "Cache", ("Chip", "Cache"), 1, 1, width=64, depth=1 << 15)
    number = chip.components["Merger"].instances
    path = ("Chip", "PE", "Buffer")
    components = {
        "DRAM": Component("DRAM", "DRAM", ("Chip", "DRAM"), 1, 1, bandwidth=64e9 * 8),
        "Cache": cache,
        "Buffer": Component("Buffer", "Buffet", path, number, number, width=64),
        **chip.components,
    }
    chips = {"Chip": replace(chip, components=components)}
    changed = replace(specification, tensors=tensors, einsums=(first, second), configurations=chips)
    return changed, trees


def moved(tensor, ranks, store, until=None):
    """Bindings of a matrix's pointers, coordinates and values to memory and a store."""
    upper, lower = ranks
    for component, kept in (("DRAM", None), (store, until)):
        yield StorageBinding(component, tensor, upper, "payload", "stored", kept)
        yield StorageBinding(component, tensor, lower, "coord", "stored", kept)
        yield StorageBinding(component, tensor, lower, "payload", "stored", kept)
