"""Reader of ``sparse_optimizations``, as a section or on the nodes of the architecture."""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.models.analytic.architecture import Architecture
from fiberscope.models.analytic.problem import Problem
from fiberscope.models.analytic.read_architecture import NodeOptimizations
from fiberscope.models.analytic.safs import Condition, Format, RankFormat, ReadOmission, SparseFeatures
from fiberscope.models.analytic.schema import FeatureSchema, FormatSchema, OptimizationsSchema, RankSchema
from fiberscope.models.analytic.source import Location
from fiberscope.workloads.errors import suggest


def read_features(
    optimizations: Sequence[NodeOptimizations], architecture: Architecture, problem: Problem
) -> SparseFeatures:
    """Read the sparse optimizations of a design.

    Args:
        optimizations: of nodes and of the section, each with the name of its level and its location. Features
            of a level add up; of several formats of a tensor at a level, the last counts.
        architecture: names the levels and the compute unit.
        problem: names the tensors and the dimensions.

    Raises:
        ConfigurationError: a level or a tensor does not exist, or an optimization is not possible.
    """
    reader = _Reader(architecture, problem)
    for name, optimization, location in optimizations:
        reader.read(name, optimization, location)
    return SparseFeatures(
        reader.formats,
        {level: tuple(features) for level, features in reader.features.items()},
        reader.gating,
        reader.skipping,
    )


class _Reader:
    """Reader of sparse optimizations: formats by level and tensor, gating and skipping."""

    def __init__(self, architecture: Architecture, problem: Problem) -> None:
        self.architecture, self.problem = architecture, problem
        self.levels = [level.name for level in architecture.levels]
        self.tensors = [tensor.name for tensor in problem.tensors]
        self.formats: dict[tuple[int, int], Format] = {}
        self.features: dict[int, list[ReadOmission]] = {}
        self.gating = self.skipping = False

    def read(self, name: str, optimization: OptimizationsSchema, location: Location) -> None:
        """Read the optimizations of one level, or of the compute unit."""
        level_name = name.partition("[")[0]  # without the range of instances, as in PE[0..15]
        if level_name == self.architecture.compute.name:
            self.compute(optimization, location)
            return
        if level_name not in self.levels:
            names = [*self.levels, self.architecture.compute.name]
            raise location.error(f"there is no level {name}; {suggest(name, names)}")
        level = self.levels.index(level_name)
        if optimization.compute_optimization:
            raise (location / "compute_optimization").error(
                f"{name} does not compute; move it to the compute unit"
            )
        data_spaces = location / "representation_format" / "data_spaces"
        for number, schema in enumerate(optimization.representation_format.data_spaces):
            self.formats[level, self.tensor(schema.name, data_spaces / number / "name")] = self.format(
                level, schema, data_spaces / number
            )
        for number, feature in enumerate(optimization.action_optimization):
            feature_location = location / "action_optimization" / number
            self.features.setdefault(level, []).append(self.feature(feature, feature_location))

    def compute(self, optimization: OptimizationsSchema, location: Location) -> None:
        """Read the gating and skipping of the compute unit; they replace those of an earlier entry."""
        if optimization.action_optimization or optimization.representation_format.data_spaces:
            raise location.error("a compute unit stores nothing; it can have a compute_optimization")
        kinds = [option.type for option in optimization.compute_optimization]
        self.gating, self.skipping = "gating" in kinds, "skipping" in kinds

    def tensor(self, name: str, location: Location) -> int:
        return location.index_of(name, self.tensors, "data space")

    def format(self, level: int, schema: FormatSchema, location: Location) -> Format:
        """Return the format of a tensor at a level, with its ranks from the innermost out."""
        width = self.architecture.levels[level].metadata_width  # 0: the level stores no metadata
        ranks = [
            self.rank(rank_schema, location / "ranks" / index, width)
            for index, rank_schema in enumerate(schema.ranks)
        ]
        is_compressed = False
        for number, rank in enumerate(ranks):  # as in the file: outermost first
            if is_compressed and rank.kind in ("U", "UB"):
                message = "an uncompressed rank inside a compressed one has no coordinates to go by"
                raise (location / "ranks" / number).error(message)
            is_compressed = is_compressed or rank.is_compressed
        # the schema allows inner-to-outer with hyphens and with underscores
        is_inner_first = schema.rank_application_order.startswith("inner")
        return Format(tuple(reversed(ranks)), is_inner_first)  # a ``Format`` has the innermost rank first

    def rank(self, schema: RankSchema, location: Location, width: int) -> RankFormat:
        """Return the format of a rank; ``width`` is the width of a row of metadata in bits."""
        for key, bits in (
            ("metadata_word_bits", schema.metadata_word_bits),
            ("payload_word_bits", schema.payload_word_bits),
        ):
            if bits is not None and width and bits > width:
                raise (location / key).error(f"a word of {bits} bits is wider than a row of {width} bits")
        flattened = tuple(
            tuple(
                (location / "flattened_rankIDs" / index).index_of(name, self.problem.dimensions, "dimension")
                for name in names
            )
            for index, names in enumerate(schema.flattened)
        )
        return RankFormat(schema.format, schema.metadata_word_bits, schema.payload_word_bits, flattened)

    def feature(self, schema: FeatureSchema, location: Location) -> ReadOmission:
        """Return the gating or skipping of reads, with its alternative conditions."""
        options = [
            (option.target, option.condition_on, location / "options" / index)
            for index, option in enumerate(schema.options)
        ]
        # the short form, which may stand beside ``options``: the target and its leaders without ``options``
        if schema.target is not None and schema.condition_on:
            options.append((schema.target, schema.condition_on, location))
        if not options:
            raise location.error(f"{schema.type} needs options: a target and what it is conditioned on")
        conditions = tuple(self.condition(*option) for option in options)
        if schema.type in ("skipping_spatial", "spatial_skipping"):
            raise (location / "type").error(f"{schema.type} is not modelled; it should be gating or skipping")
        return ReadOmission(schema.type == "skipping", conditions)

    def condition(self, target: str, leaders: list[str], location: Location) -> Condition:
        """Return the condition on the leaders under which reads of the target are omitted."""
        follower = self.tensor(target, location / "target")
        leader_tensors = tuple(
            self.tensor(name, location / "condition_on" / index) for index, name in enumerate(leaders)
        )
        if follower in leader_tensors:
            raise (location / "condition_on").error(f"{target} cannot be conditioned on itself")
        return Condition(follower, leader_tensors)
