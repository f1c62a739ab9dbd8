"""Reader of the sections ``format`` and ``bindings``, with checks against mapping and architecture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fiberscope.accelerators.yaml_document import Document, Path
from fiberscope.models.trace.schema import BindingSchema, FormatSchema, RankFormatSchema, StepSchema
from fiberscope.models.trace.specification import (
    Bindings,
    Component,
    ComputeBinding,
    Configuration,
    Einsum,
    IntersectorBinding,
    MergerBinding,
    SequencerBinding,
    Split,
    StorageBinding,
    Tensor,
)
from fiberscope.models.trace.storage_format import Format, RankFormat
from fiberscope.workloads.errors import suggest
from fiberscope.workloads.expressions.expression import iterate_operators

_ROOT = "root"  # as ``evict-on``: no loop evicts
_KEYS = {  # keys of a binding, by class of the component; those in ``_OPTIONAL`` may be missing
    "DRAM": ("tensor", "rank", "type", "format"),
    "Cache": ("tensor", "rank", "type", "format"),
    "Buffet": ("tensor", "rank", "type", "format", "evict_on", "style"),
    "Intersector": ("rank", "leader"),
    "Merger": ("tensor", "init_ranks", "final_ranks"),
    "Compute": ("op",),
    "Sequencer": ("rank",),
}
_OPTIONAL = ("style", "leader")


def read_format(tensor: str, name: str, schema: FormatSchema, document: Document) -> Format:
    """Return a format of a tensor.

    Args:
        tensor: name of the tensor.
        name: name of the format.
        schema: the format in the file; a rank without an entry gets the default format, of 0 bits.
        document: the file, for the places in messages.

    Raises:
        ConfigurationError: a rank is not in the rank order, an interleaved layout lacks bits, or a linked
            list is not the second of at least three ranks or lacks bits for its links.
    """
    path: Path = ("format", tensor, name)
    for rank, stored in schema.ranks.items():
        if rank not in schema.rank_order:
            advice = suggest(rank, [*schema.rank_order, "rank-order"])
            raise document.error((*path, rank), f"{rank} is not in the rank order; {advice}", key=True)
        if stored.layout == "interleaved" and not (stored.cbits and stored.pbits):
            message = f"{rank} is interleaved, and needs both cbits and pbits"
            raise document.error((*path, rank), message)
        if stored.format == "L" and (schema.rank_order.index(rank) != 1 or rank == schema.rank_order[-1]):
            message = f"{rank} is a linked list, and needs one rank above for heads, and a rank below"
            raise document.error((*path, rank), message)
        if stored.format == "L" and not stored.pbits:
            raise document.error((*path, rank), f"{rank} is a linked list, and needs pbits for the links")
    ranks = {
        rank: _rank_format(schema.ranks[rank]) if rank in schema.ranks else RankFormat()
        for rank in schema.rank_order
    }
    return Format(name, tuple(schema.rank_order), ranks)


def _rank_format(schema: RankFormatSchema) -> RankFormat:
    return RankFormat(schema.format, schema.layout, schema.cbits, schema.pbits, schema.fhbits, schema.rhbits)


@dataclass
class _Collected:
    """Bindings of an Einsum, by kind of component."""

    storage: list[StorageBinding] = field(default_factory=list)
    intersectors: list[IntersectorBinding] = field(default_factory=list)
    mergers: list[MergerBinding] = field(default_factory=list)
    compute: list[ComputeBinding] = field(default_factory=list)
    sequencers: list[SequencerBinding] = field(default_factory=list)


@dataclass(frozen=True)
class BindingReader:
    """Reader of the bindings of one Einsum.

    Args:
        einsum: the Einsum with its mapping, without bindings.
        tensors: all tensors with their formats.
        configurations: all configurations of the architecture.
        document: the file, for the places in messages.
    """

    einsum: Einsum
    tensors: Mapping[str, Tensor]
    configurations: Mapping[str, Configuration]
    document: Document

    def read(self, steps: Sequence[StepSchema]) -> Bindings:
        """Return the bindings of a list of entries; the first entry names the configuration.

        Raises:
            ConfigurationError: the first entry is missing or names no configuration, or an entry does not fit
                the Einsum, its formats or its architecture.
        """
        path: Path = ("bindings", self.einsum.name)
        first = steps[0] if steps else StepSchema()
        if first.config is None:
            raise self.document.error(path, f"the first entry of {self.einsum.name} should be config:")
        if first.config not in self.configurations:
            advice = suggest(first.config, self.configurations) if self.configurations else "there is none"
            raise self.document.error((*path, 0, "config"), f"no configuration {first.config}; {advice}")
        components = self.configurations[first.config].components
        collected = _Collected()
        for index, step in enumerate(steps[1:], start=1):
            self._step(step, components, collected, (*path, index))
        return Bindings(
            first.config,
            tuple(collected.storage),
            tuple(collected.intersectors),
            tuple(collected.mergers),
            tuple(collected.compute),
            tuple(collected.sequencers),
        )

    def _step(
        self, step: StepSchema, components: Mapping[str, Component], collected: _Collected, path: Path
    ) -> None:
        """Check the bindings of one component, and add them to ``collected``."""
        if step.component is None:
            raise self.document.error(path, "an entry should name a component:")
        if step.component not in components:
            message = f"there is no component {step.component}; {suggest(step.component, components)}"
            raise self.document.error((*path, "component"), message)
        component = components[step.component]
        for index, binding in enumerate(step.bindings):
            binding_path = (*path, "bindings", index)
            self._check_keys(component, binding, binding_path)
            self._bind(component, binding, collected, binding_path)

    def _check_keys(self, component: Component, binding: BindingSchema, path: Path) -> None:
        """Refuse keys that bindings of this class do not have, and report required keys that are missing."""
        expected = _KEYS[component.kind]
        aliases = {name: str(field.alias) for name, field in type(binding).model_fields.items()}
        for name in binding.model_fields_set:  # the keys in the file, without defaults
            if name not in expected:
                message = f"a binding of a {component.kind} has no {aliases[name]}"
                nearest_key = suggest(aliases[name], [aliases[key] for key in expected])
                raise self.document.error((*path, aliases[name]), f"{message}; {nearest_key}", key=True)
        # an eager binding moves entries of all kinds, so the kind may be missing
        optional = (*_OPTIONAL, "type") if binding.style == "eager" else _OPTIONAL
        for name in expected:
            if name not in optional and getattr(binding, name) is None:
                raise self.document.error(path, f"a binding of a {component.kind} needs {aliases[name]}")

    def _bind(self, component: Component, schema: BindingSchema, collected: _Collected, path: Path) -> None:
        """Check a binding, whose keys are checked before, and collect it by the class of its component."""
        if component.kind in ("DRAM", "Cache", "Buffet"):
            collected.storage += self._read_storage(component, schema, path)
        elif component.kind == "Intersector":
            collected.intersectors.append(self._read_intersector(component, schema, path))
        elif component.kind == "Merger":
            collected.mergers.append(self._read_merger(component, schema, path))
        elif component.kind == "Compute":
            collected.compute.append(self._compute(component, str(schema.op), path))
        else:  # a sequencer
            self._check_loop(str(schema.rank), (*path, "rank"))
            collected.sequencers.append(SequencerBinding(component.name, str(schema.rank)))

    def _read_storage(self, component: Component, schema: BindingSchema, path: Path) -> list[StorageBinding]:
        """Return the binding of a store; an eager one becomes a binding for each kind of entries.

        These are the stored entries of the bound rank and of the ranks below.
        """
        tensor = self._read_tensor(schema, path)
        tensor_format = self._format(tensor, schema, path)
        rank = str(schema.rank)
        if rank not in tensor_format.ranks:
            message = f"format {tensor_format.name} of {tensor.name} has no rank {rank}"
            raise self.document.error((*path, "rank"), f"{message}; {suggest(rank, tensor_format.ranks)}")
        if component.kind == "Cache" and tensor.name == self.einsum.output and rank in tensor_format.linked:
            message = (
                f"{component.name} is a cache, and heads and nodes of lists pass no cache; bind a Buffet"
            )
            raise self.document.error((*path, "rank"), message)
        evict_on = schema.evict_on
        if evict_on is not None and evict_on != _ROOT:
            self._check_loop(evict_on, (*path, "evict-on"), extra_ranks=(_ROOT,))
        # an eager binding fetches whole subtrees: everything that is stored from its rank down
        kinds = (
            tensor_format.list_stored_kinds(rank) if schema.style == "eager" else [(rank, str(schema.type))]
        )
        bindings = []
        for stored_rank, kind in kinds:
            self._check_width(component, tensor_format, stored_rank, kind, path)
            bindings.append(
                StorageBinding(
                    component.name,
                    tensor.name,
                    stored_rank,
                    kind,  # type: ignore[arg-type]
                    tensor_format.name,
                    evict_on,
                    schema.style or "lazy",
                    rank if schema.style == "eager" else None,
                )
            )
        return bindings

    def _read_tensor(self, schema: BindingSchema, path: Path) -> Tensor:
        tensors = {self.einsum.output, *self.einsum.inputs}
        if schema.tensor not in tensors:
            advice = suggest(str(schema.tensor), tensors)
            message = f"{self.einsum.name} has no tensor {schema.tensor}; {advice}"
            raise self.document.error((*path, "tensor"), message)
        return self.tensors[str(schema.tensor)]

    def _format(self, tensor: Tensor, schema: BindingSchema, path: Path) -> Format:
        if schema.format not in tensor.formats:
            advice = suggest(str(schema.format), tensor.formats) if tensor.formats else "it has none"
            message = f"{tensor.name} has no format {schema.format}; {advice}"
            raise self.document.error((*path, "format"), message)
        return tensor.formats[str(schema.format)]

    def _check_width(
        self, component: Component, tensor_format: Format, rank: str, kind: str, path: Path
    ) -> None:
        """Check that a line holds an element, and that the layout of the rank has the bound kind of data."""
        rank_format = tensor_format.ranks[rank]
        # an interleaved rank stores coordinate and payload side by side, as one entry
        if (kind == "elem") != (rank_format.layout == "interleaved"):
            expected = "elem" if rank_format.layout == "interleaved" else "coord or payload"
            message = (
                f"{rank} of {tensor_format.name} is {rank_format.layout}; its type is {expected}, not {kind}"
            )
            raise self.document.error((*path, "type"), message)
        bits = rank_format.count_entry_bits(kind)
        if component.kind != "DRAM" and bits > component.width:  # a DRAM has no lines
            message = f"a line of {component.name} has {component.width} bits"
            raise self.document.error(path, f"{message}, and {kind} of {rank} needs {bits}")

    def _check_loop(self, rank: str, path: Path, extra_ranks: Iterable[str] = ()) -> None:
        """Check that a rank is a loop of the Einsum, or one of ``extra_ranks``."""
        ranks = (*self.einsum.loop_order, *extra_ranks)
        if rank not in ranks:
            message = f"{self.einsum.name} has no loop {rank}; {suggest(rank, ranks)}"
            raise self.document.error(path, message)

    def _read_intersector(
        self, component: Component, schema: BindingSchema, path: Path
    ) -> IntersectorBinding:
        """Return the binding of an intersector; only a leader-follower intersector has a leader."""
        self._check_loop(str(schema.rank), (*path, "rank"))
        # the other types read all fibers alike
        is_leader_follower = component.intersection == "leader-follower"
        if is_leader_follower != (schema.leader is not None):
            message = f"{component.name} is {component.intersection}, and "
            message += "needs leader:, a tensor" if is_leader_follower else "takes no leader"
            raise self.document.error(path, message)
        if schema.leader is not None and schema.leader not in self.einsum.inputs:
            message = f"{self.einsum.name} does not read {schema.leader}"
            advice = suggest(schema.leader, self.einsum.inputs)
            raise self.document.error((*path, "leader"), f"{message}; {advice}")
        return IntersectorBinding(component.name, str(schema.rank), schema.leader)

    def _read_merger(self, component: Component, schema: BindingSchema, path: Path) -> MergerBinding:
        """Return the binding of a merger; its two orders differ, and are of the same distinct ranks."""
        tensor = self._read_tensor(schema, path)
        initial, final = tuple(schema.init_ranks or ()), tuple(schema.final_ranks or ())
        if sorted(initial) != sorted(final) or len(set(initial)) < len(initial):
            raise self.document.error(path, "init-ranks and final-ranks should have the same ranks")
        if initial == final:
            raise self.document.error(path, "init-ranks and final-ranks are the same order")
        if component.reduces:
            self._check_sums(component, initial, final, path)
        return MergerBinding(component.name, tensor.name, initial, final)

    def _check_sums(
        self, component: Component, initial: Sequence[str], final: Sequence[str], path: Path
    ) -> None:
        """Check that a reducing merger exchanges the last two ranks, and that the last rank is reduced."""
        reduced_ranks = set(self.einsum.ranks) - set(self.einsum.computed.output.ranks)
        splits = [
            split
            for split in self.einsum.partitioning
            if isinstance(split, Split) and split.rank in reduced_ranks
        ]
        # the merger's ranks may be pieces: a piece of a reduced rank is reduced, too
        reduced_ranks |= {name for split in splits for name in split.names}
        if initial[:-2] != final[:-2]:
            message = f"{component.name} reduces: it exchanges the last two ranks, and no others"
            raise self.document.error((*path, "final-ranks"), message)
        if final[-1] not in reduced_ranks:
            message = f"{component.name} reduces, and {self.einsum.output} is not summed over {final[-1]}"
            raise self.document.error((*path, "final-ranks"), message)

    def _compute(self, component: Component, operation: str, path: Path) -> ComputeBinding:
        """Return the binding of a compute unit to an operation that the unit and the Einsum have."""
        if operation not in component.operations:
            message = f"{component.name} does no {operation}; {suggest(operation, component.operations)}"
            raise self.document.error((*path, "op"), message)
        operations = _list_operations(self.einsum)
        if operation not in operations:
            message = f"{self.einsum.name} does no {operation}"
            advice = suggest(operation, operations) if operations else "it only copies"
            raise self.document.error((*path, "op"), f"{message}; {advice}")
        return ComputeBinding(component.name, operation)


def _list_operations(einsum: Einsum) -> set[str]:
    """Return the names of the functions that an Einsum computes; a summed rank adds that of ``+``."""
    expression = einsum.computed.expression
    operations = {einsum.operators.get(operator, operator) for operator in iterate_operators(expression)}
    reduces = set(einsum.ranks) - set(einsum.computed.output.ranks)
    return operations | ({einsum.operators["+"]} if reduces else set())
