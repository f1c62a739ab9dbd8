"""Execution of a cascade on tensors: each Einsum runs as its mapped loop nest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fiberscope.base.errors import InputError
from fiberscope.models.trace.build import Nest
from fiberscope.models.trace.cursor import Cursor
from fiberscope.models.trace.instances import Multicast
from fiberscope.models.trace.levels import build_tree, store_output
from fiberscope.models.trace.plan import LoopPlan, rank_shapes, uses_of
from fiberscope.models.trace.prepare import Operand, prepare
from fiberscope.models.trace.recorder import Recorder
from fiberscope.models.trace.reference import Computation
from fiberscope.models.trace.specification import Einsum, Specification
from fiberscope.models.trace.verify import Verification, verify
from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.expressions.expression import Access, Alias, accesses
from fiberscope.workloads.fibertree import FiberTree, Rank
from fiberscope.workloads.tree_blocks import Reordered


@dataclass(frozen=True)
class Attachment:
    """A recorder, and the accesses that it records.

    Args:
        tensor, rank: names of the tensor and of its rank, as in ``Prepared``.
        kind: ``coord`` and ``elem`` record every element that is read, ``payload`` only elements for which
            the body runs.
        root: of an eager binding, the rank of the fibers that are moved with their whole subtrees. For an
            input the recorder gets these fibers alone; for an output, every element of ``rank`` in them.
        by_coordinate: whether an element of an input lies at the address of its coordinate, not of its
            position.
    """

    tensor: str
    rank: str
    kind: str
    recorder: Recorder
    root: str | None = None
    by_coordinate: bool = False


@dataclass(frozen=True)
class BodyAttachment:
    """A recorder of each body of the innermost loop; without a loop, it records nothing."""

    recorder: Recorder


def attach(nest: Nest, attachment: Attachment | BodyAttachment) -> None:
    """Attach a recorder to the cursors of its rank; without such a rank in the nest nothing is recorded.

    A tensor that the equation reads several times has a cursor for each access, and all of them record.

    Args:
        nest: a nest that has not run.
        attachment: the recorder, and the accesses or bodies that it records.
    """
    if isinstance(attachment, BodyAttachment):
        for innermost in nest.loops[-1:]:
            innermost.body_recorders.append(attachment.recorder)
        return
    if attachment.tensor == nest.plan.einsum.output:
        _attach_to_output(nest, attachment)
    for operand, levels in zip(nest.operands, nest.inputs, strict=True):
        if operand.name != attachment.tensor:
            continue
        for level in levels:
            if operand.format_names.get(level.name, level.name) == (attachment.root or attachment.rank):
                # one recorder by coordinate decides for all recorders of the cursor
                level.cursor.by_coordinate |= attachment.by_coordinate
                if isinstance(attachment.recorder, Multicast):
                    attachment.recorder.begun = int(
                        _is_read_inside(nest, level.cursor, attachment.recorder.level)
                    )
                if attachment.root is not None:
                    level.cursor.fiber_recorders.append(attachment.recorder)
                elif attachment.kind == "payload":
                    level.cursor.payload_recorders.append(attachment.recorder)
                else:
                    level.cursor.coordinate_recorders.append(attachment.recorder)


def _is_read_inside(nest: Nest, cursor: Cursor, number: int) -> bool:
    """Return whether bodies of a loop read a rank, and not the loop itself or the loops outside.

    Args:
        nest: the nest.
        cursor: the cursor of the rank.
        number: depth of the loop, from 1.
    """
    earlier = [item for loop in nest.loops[:number] for item in loop.cursors]
    earlier += [item for loop in nest.loops[: number - 1] for item in loop.lookups]
    return cursor not in earlier


def _attach_to_output(nest: Nest, attachment: Attachment) -> None:
    """Attach a recorder to the writes of an output's rank, or of a subtree."""
    fibers = {level.rank.name: level.fibers for level in nest.output}
    rank = fibers.get(attachment.rank)
    if rank is None:
        return
    if attachment.root is not None:
        rank.subtree_recorders.append(attachment.recorder)
        root = fibers[attachment.root]  # its subtrees move as often as the innermost of their buffers evicts
        root.move_level = max(root.move_level, attachment.recorder.evict_level)
        nest.mark_bodies()
    elif attachment.kind == "payload":
        rank.payload_recorders.append(attachment.recorder)
    else:
        rank.coordinate_recorders.append(attachment.recorder)


@dataclass(frozen=True)
class Prepared:
    """An Einsum that is about to run, as an observer sees it.

    Args:
        einsum: the Einsum with its bindings.
        trees: the trees of the inputs by tensor, partitioned and in loop order.
        output: ranks of the output as the nest builds it.
        levels: by loop, and for ``root``, the ``evict_level`` of a recorder.
        serials: number of bodies begun, by level; the array of the running nest itself.
    """

    einsum: Einsum
    trees: Mapping[str, Reordered]
    output: tuple[Rank, ...]
    levels: Mapping[str, int]
    serials: Integers


@dataclass(frozen=True)
class IntersectionCounts:
    """Steps of the intersections at a loop, by type of intersector.

    Args:
        two_finger: of two fibers, the matches and the advances of a single finger; of more fibers, the
            coordinates that the loop visits.
        skip_ahead: the matches, and the runs of advances of the same finger, of two fibers.
        leader_follower: elements of the leader, each of which is looked up in the other fibers.
    """

    two_finger: int
    skip_ahead: int
    leader_follower: int


@dataclass(frozen=True, eq=False)  # two rounds of an iteration are different runs, even if all is equal
class EinsumRun:
    """Activity of one Einsum.

    Args:
        prepared: the Einsum before its run.
        bodies: the number of bodies of each loop.
        operations: the number of operations by name: ``mul``, ``add``, ``sub``, and functions. Accumulation
            in the output counts as ``add``.
        zero_sums: updates after which an element of the output was empty.
        intersections: by loop, where two tensors or more are intersected.
        result: the output as the nest built it.
        stored: the output in its order of storage.
        verification: the verification of the output.
    """

    prepared: Prepared
    bodies: Mapping[str, int]
    operations: Mapping[str, int]
    zero_sums: int
    intersections: Mapping[str, IntersectionCounts]
    result: FiberTree
    stored: FiberTree
    verification: Verification


@dataclass(frozen=True)
class CascadeRun:
    """A cascade's run.

    Args:
        runs: the runs of the Einsums in their order, of every round.
        tensors: all tensors at the end, by name: inputs as they were given, outputs in their order of
            storage. Inputs that an iteration replaces are those of the last round, or of the round that would
            follow. After an interrupt, outputs that the last round did not reach are those of the round
            before, or missing.
        rounds: number of complete executions of the cascade.
        interrupted: whether Ctrl-C ended the run early; ``runs`` then has the Einsums that ended.
    """

    runs: tuple[EinsumRun, ...]
    tensors: Mapping[str, FiberTree]
    rounds: int
    interrupted: bool = False

    @property
    def wrong(self) -> Verification | None:
        """Return the verification of the first Einsum with a wrong output, or None."""
        return next((run.verification for run in self.runs if not run.verification.passed), None)


Observer = Callable[[Prepared], Sequence[Attachment | BodyAttachment]]


def _attach_nothing(prepared: Prepared) -> Sequence[Attachment | BodyAttachment]:
    return ()


def run(
    specification: Specification, tensors: Mapping[str, FiberTree], observer: Observer = _attach_nothing
) -> CascadeRun:
    """Run a cascade, to its end or until Ctrl-C, and verify the output of each Einsum.

    A wrong output does not raise an error, see ``CascadeRun.wrong``.

    Args:
        specification: the cascade and its mapping.
        tensors: the inputs by name, with the ranks of their declarations, in any order.
        observer: returns the recorders of each Einsum before the Einsum runs.

    Raises:
        InputError: tensors do not fit the specification, or a feature is not supported.
    """
    cascade = _Cascade(specification, dict(tensors), observer)
    interrupted = False
    try:
        cascade.run_all()
    except KeyboardInterrupt:
        interrupted = True
    return CascadeRun(tuple(cascade.runs), cascade.tensors, cascade.rounds, interrupted)


class _Cascade:
    """Execution of a cascade; the results so far remain after an interrupt."""

    def __init__(
        self, specification: Specification, tensors: dict[str, FiberTree], observer: Observer
    ) -> None:
        self.specification = specification
        self.tensors = tensors
        self.observer = observer
        self.runs: list[EinsumRun] = []
        self.rounds = 0

    def run_all(self) -> None:
        """Run the cascade for all its rounds."""
        iteration = self.specification.iteration
        self._run_once()
        while iteration is not None and self.rounds < iteration.limit and self._carry():
            self._run_once()

    def _carry(self) -> bool:
        """Make results the inputs of the next round; return whether another round is due.

        Another round is due if an input changes; with ``until_empty``, instead, if that tensor has elements.
        The inputs are replaced even if no round is due.
        """
        iteration = self.specification.iteration
        assert iteration is not None
        changed = False
        results = select_next_inputs(self.specification, self.tensors)
        for name, tree in results.items():
            changed = changed or not _have_same_elements(self.tensors.get(name), tree)
        if iteration.until_empty is not None:
            # read before the results replace the inputs: the tensor as this round left it
            changed = self.tensors[iteration.until_empty].nonzeros > 0
        self.tensors |= results
        return changed

    def _run_once(self) -> None:
        """Run the Einsums once, in order; each result replaces the tensor of its name."""
        for einsum in self.specification.einsums:
            if isinstance(einsum.equation, Alias):
                name, source = einsum.equation.output, einsum.equation.source
                self.tensors[name] = _rename_tensor(self.specification, self.tensors, name, source)
            else:
                einsum_run = self._run_einsum(einsum)
                self.runs.append(einsum_run)
                self.tensors[einsum.output] = einsum_run.stored
        self.rounds += 1

    def _run_einsum(self, einsum: Einsum) -> EinsumRun:
        """Prepare, run and verify an Einsum; its inputs are in ``tensors``."""
        plan = LoopPlan(einsum, rank_shapes(self.specification, einsum, self.tensors))
        access_list = accesses(einsum.computed.expression)
        operands = [rename_operand(self.specification, access, self.tensors) for access in access_list]
        prepare(plan, operands)  # partitions the trees, which the nest then reads
        nest = Nest(plan, operands, self.specification)
        prepared = _prepare(einsum, nest)
        for attachment in self.observer(prepared):
            attach(nest, attachment)
        nest.run()
        declared = self.specification.tensors[einsum.output]
        result = build_tree(nest.output)
        stored = store_output(result, declared.rank_order)
        # ``tensors`` still has the inputs of this Einsum, even of an output that the Einsum reads
        work = Computation(self.specification, einsum, self.tensors, plan.shapes)
        return EinsumRun(
            prepared,
            # entry 0 of ``serials`` is for the root, not for a loop
            {name: int(nest.state.serials[depth + 1]) for depth, name in enumerate(plan.loops)},
            _count_operations(nest),
            nest.body.zero_sums,
            _count_intersections(nest),
            result,
            stored,
            verify(work, stored),
        )


def select_next_inputs(
    specification: Specification, tensors: Mapping[str, FiberTree]
) -> dict[str, FiberTree]:
    """Return the inputs of the next round that a round has computed, by name.

    Args:
        specification: specification of an iterated cascade.
        tensors: all tensors of the round, by name.
    """
    iteration = specification.iteration
    assert iteration is not None
    return {
        name: _rename_tensor(specification, tensors, name, source) for name, source in iteration.carry.items()
    }


def _rename_tensor(
    specification: Specification, tensors: Mapping[str, FiberTree], name: str, source: str
) -> FiberTree:
    """Return a tensor under another name, with the ranks that the declaration gives to that name."""
    declared = specification.tensors
    names = dict(zip(declared[source].ranks, declared[name].ranks, strict=True))
    tree = tensors[source]
    ranks = tuple(replace(rank, name=names[rank.name], tensor_rank=names[rank.name]) for rank in tree.ranks)
    return replace(tree, ranks=ranks)


def rename_operand(specification: Specification, access: Access, tensors: Mapping[str, FiberTree]) -> Operand:
    """Return a tensor whose ranks have the names of an equation's indices, not yet partitioned.

    Args:
        specification: has the declaration of the tensor.
        access: the access of the tensor in the equation.
        tensors: trees by name, with the ranks of their declarations.

    Raises:
        InputError: ``tensors`` lacks the tensor.
    """
    declared = specification.tensors[access.tensor]
    tree = tensors.get(access.tensor)
    if tree is None:
        raise InputError(f"there is no tensor {access.tensor}; there are {', '.join(tensors)}")
    uses = uses_of(access, declared.ranks)
    names = {use.declared: use.name for use in uses}
    ranks = tuple(replace(rank, name=names[rank.name], tensor_rank=names[rank.name]) for rank in tree.ranks)
    return Operand(access.tensor, uses, replace(tree, ranks=ranks), declared.empty, declared.uncompressed)


def _have_same_elements(previous: FiberTree | None, current: FiberTree) -> bool:
    """Return whether two trees of one tensor have the same elements; a NaN equals another NaN."""
    if previous is None or previous.nonzeros != current.nonzeros:
        return False
    previous = previous.swizzle(current.names)  # the input may be stored in another order of ranks
    return np.array_equal(previous.values, current.values, equal_nan=True) and all(
        np.array_equal(previous_column, column)
        for previous_column, column in zip(previous.columns(), current.columns(), strict=True)
    )


def _prepare(einsum: Einsum, nest: Nest) -> Prepared:
    levels = {"root": 0} | {name: depth + 1 for depth, name in enumerate(nest.plan.loops)}
    trees = {operand.name: operand.formatted_tree for operand in nest.operands}
    output = tuple(level.rank for level in nest.output)
    return Prepared(einsum, trees, output, levels, np.asarray(nest.state.serials))


def _count_operations(nest: Nest) -> dict[str, int]:
    """Return the operations by name; accumulations count as ``add``, whatever function ``+`` stands for."""
    counts = {name: int(count) for name, count in zip(nest.program.counters, nest.body.counts, strict=True)}
    if nest.body.adds:
        counts["add"] = counts.get("add", 0) + nest.body.adds
    return counts


def _count_intersections(nest: Nest) -> dict[str, IntersectionCounts]:
    return {
        name: IntersectionCounts(int(loop.steps), int(loop.skips), int(loop.leader_steps))
        for name, loop in zip(nest.plan.loops, nest.loops, strict=True)
        if loop.intersects
    }
