"""Schema of input files: sections, keys and types of values; consistency is checked later.

Keys are those of Timeloop's version 0.4; keys of version 0.3 have hyphens in place of underscores.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from fiberscope.accelerators.quantities import plain_number
from fiberscope.results.costs.energies import ReferenceTableComponent

TAG = "!"  # key under which a node's tag is stored


class Section(BaseModel):
    """A mapping with known keys; a field ``class_`` stands for ``class``, which is a keyword of Python."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=lambda name: name.removesuffix("_")
    )


def parse_number(value: object) -> object:
    """Return the number of a value or of its text; as in the public tools, quotes do not matter.

    Raises:
        ValueError: the value is not a number, or has a leading 0 and a digit 8 or 9.
    """
    if isinstance(value, str):
        if re.fullmatch(r"[-+]?0[\d_]*[89][\d_]*", value.strip()):
            raise ValueError("a leading 0 means octal in YAML 1.1, which has no digits 8 and 9; leave it out")
        value = parse_yaml11_number(value.strip())
    return plain_number(value)


_BASES = {"0x": 16, "0b": 2}


def parse_yaml11_number(text: str) -> object:
    """Return the number of a YAML 1.1 scalar, or else the text.

    A leading 0 means octal, 0x hexadecimal, 0b binary. Integers may have underscores, fractions may not.
    Infinity and NaN are no numbers here.
    """
    digits = text.lstrip("+-").replace("_", "")
    # ``int`` accepts the prefixes 0x and 0b for their bases, and the leading 0 for base 8
    base = _BASES.get(digits[:2].lower(), 8 if re.fullmatch(r"0\d+", digits) else 10)
    with suppress(ValueError):
        return int(text.replace("_", ""), base)
    return float(text) if re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text) else text


_TRUTHS = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


def _parse_truth(value: object) -> object:
    """Return the truth of a value: ``true``, or as in YAML 1.1 and some files ``yes``, 1 or "True"."""
    return _TRUTHS.get(str(value).lower(), value) if isinstance(value, str | int) else value


# a double counts exactly up to 2**53
Count = Annotated[int, BeforeValidator(parse_number), Field(ge=1, le=2**53)]
Size = Annotated[int, BeforeValidator(parse_number), Field(ge=0, le=2**53)]
Bits = Annotated[int, BeforeValidator(parse_number), Field(ge=0, le=2**20)]
Positive = Annotated[float, BeforeValidator(parse_number), Field(gt=0, le=1e300, allow_inf_nan=False)]
Share = Annotated[float, BeforeValidator(parse_number), Field(ge=0, le=1)]
Truth = Annotated[bool, BeforeValidator(_parse_truth)]
# both spellings: ``source`` converts hyphens in keys, and not in values
Order = Literal["inner-to-outer", "outer-to-inner", "inner_to_outer", "outer_to_inner"]
Version = Annotated[float | str | None, Field(default=None)]


class CoefficientSchema(Section):
    """A coefficient of an index, such as a stride."""

    name: str
    default: Count = 1


class DataSpaceSchema(Section):
    """A tensor: its ranks are sums of terms, each a dimension, or a dimension and a coefficient."""

    name: str
    projection: list[list[list[str]]]
    read_write: Truth = False


class ShapeSchema(Section):
    """``problem: shape``."""

    name: str = "problem"
    dimensions: Annotated[list[str], Field(min_length=1)]
    coefficients: list[CoefficientSchema] = []
    data_spaces: Annotated[list[DataSpaceSchema], Field(min_length=1)]
    version: Version


class ProblemSchema(Section):
    """``problem``; ``instance`` has the bounds, coefficients and densities under their names."""

    version: Version
    shape: ShapeSchema
    instance: dict[str, Any] = {}


class MeshSchema(Section):
    """``spatial`` of a node."""

    mesh_x: Count = Field(default=1, alias="meshX")
    mesh_y: Count = Field(default=1, alias="meshY")


class AttributesSchema(Section):
    """Attributes of any component; unknown attributes may be the energy estimator's, and become a note.

    Attributes of type ``Any`` occur in public files; the model accepts and ignores them.
    """

    model_config = ConfigDict(extra="allow")

    datawidth: Count | None = None
    word_bits: Count | None = None
    width: Count | None = None
    depth: Size | None = None
    entries: Size | None = None
    size_kb: Positive | None = Field(default=None, alias="sizeKB")
    data_storage_width: Count | None = None
    data_storage_depth: Size | None = None
    memory_width: Count | None = None
    memory_depth: Size | None = None
    block_size: Count | None = None
    cluster_size: Count | None = None
    metadata_datawidth: Bits | None = None
    metadata_word_bits: Bits | None = None
    metadata_storage_width: Bits | None = None
    metadata_storage_depth: Size | None = None
    metadata_block_size: Count | None = None
    read_bandwidth: Positive | None = None
    write_bandwidth: Positive | None = None
    shared_bandwidth: Positive | None = None
    per_dataspace_bandwidth_consumption_scale: dict[str, Positive] = {}
    multiple_buffering: Positive = 1.0
    min_utilization: Share = 0.0
    allow_overbooking: Truth = False
    reduction_supported: Truth = True
    decompression_supported: Truth = False
    compression_supported: Truth = False
    tile_partition_supported: Truth = False
    mesh_x: Count | None = Field(default=None, alias="meshX")
    mesh_y: Count | None = Field(default=None, alias="meshY")
    n_banks: Count = 2
    network_fill_latency: Size = 0
    network_drain_latency: Size = 0
    network_word_bits: Count | None = None
    technology: Any = None
    global_cycle_seconds: Any = None
    power_gated_at: Any = None
    has_power_gating: Any = None
    version: Any = None
    latency: Any = None
    n_ports: Any = None
    n_rdwr_ports: Any = None
    n_rd_ports: Any = None
    n_wr_ports: Any = None
    num_pipeline_stages: Any = None
    type: Any = None


class RankSchema(Section):
    """One rank of a format."""

    format: Literal["U", "UB", "B", "CP", "RLE", "UOP"]
    metadata_word_bits: Bits | None = None
    payload_word_bits: Bits | None = None
    flattened: list[list[str]] = Field(default=[], alias="flattened_rankIDs")


class FormatSchema(Section):
    """The format of a tensor; ranks are outermost first."""

    name: str
    ranks: Annotated[list[RankSchema], Field(min_length=1)]
    rank_application_order: Order = "outer-to-inner"


class RepresentationSchema(Section):
    """``representation_format``."""

    data_spaces: list[FormatSchema] = []


class ConditionSchema(Section):
    """An option of a feature."""

    target: str
    condition_on: Annotated[list[str], Field(min_length=1)]


class FeatureSchema(Section):
    """An entry of ``action_optimization``; a single option may be written without ``options``."""

    type: Literal["gating", "skipping", "skipping_spatial", "spatial_skipping"]
    options: list[ConditionSchema] = []
    target: str | None = None
    condition_on: list[str] | None = None


class ComputeFeatureSchema(Section):
    """An entry of ``compute_optimization``."""

    type: Literal["gating", "skipping"]


class OptimizationsSchema(Section):
    """``sparse_optimizations`` of a node, or of a ``target`` by name."""

    name: str | None = None
    target: str | None = None
    representation_format: RepresentationSchema = RepresentationSchema()
    action_optimization: list[FeatureSchema] = []
    compute_optimization: list[ComputeFeatureSchema] = []
    version: Version
    targets: list[OptimizationsSchema] = []


class NodeSchema(Section):
    """A node of the architecture: a component or a container."""

    tag: str = Field(default="", alias="!")
    name: str | None = None
    class_: str | None = None
    subclass: str | None = None
    enabled: Truth = True
    area_scale: Positive = 1.0
    energy_scale: Positive = 1.0
    required_actions: list[str] = []
    attributes: AttributesSchema = AttributesSchema()
    spatial: MeshSchema = MeshSchema()
    constraints: dict[str, DirectiveSchema | float] = {}
    networks: Any = None
    sparse_optimizations: OptimizationsSchema | None = None
    version: Version
    nodes: list[NodeSchema] = []
    local: list[NodeSchema] = []
    subtree: list[NodeSchema] = []


class DirectiveSchema(Section):
    """An entry of ``mapping`` or of constraints; nodes imply target and type of their constraints."""

    target: str = ""
    type: Literal[
        "temporal",
        "spatial",
        "dataspace",
        "datatype",
        "bypass",
        "max_overbooked_proportion",
        "utilization",
        "",
    ] = ""
    factors: str | list[str] | None = None
    permutation: str | list[str] | None = None
    split: Size | None = None
    keep: list[str] = []
    bypass: list[str] = []
    no_coalesce: list[str] = []
    no_reuse: list[str] = []
    no_link_transfer: list[str] = []
    rmw_first_update: list[str] = []
    remainders: str | list[str] | None = None
    default_max_factor: Count | None = None
    default_min_factor: Count | None = None
    factors_only: Any = None
    maximize_dims: Any = None
    maximize_dims_capped: Any = None
    no_iteration_over_dataspaces: Any = None
    no_multicast_no_reduction: Any = None
    min: Any = None
    proportion: Share = 0.0


class ConstraintsSchema(Section):
    """``constraints``, ``mapspace_constraints`` and similar sections."""

    version: Version
    targets: list[DirectiveSchema] = []


Constraints = ConstraintsSchema | list[DirectiveSchema] | None


class TablesSchema(Section):
    """``ERT``."""

    version: Version
    tables: list[ReferenceTableComponent]


class FileSchema(Section):
    """A whole file, with any of the sections; sections of type ``Any`` are accepted and ignored."""

    architecture: NodeSchema | None = None
    problem: ProblemSchema | None = None
    mapping: list[DirectiveSchema] | None = None
    ERT: TablesSchema | None = None
    sparse_optimizations: OptimizationsSchema | None = None
    constraints: Constraints = None
    mapspace_constraints: Constraints = None
    architecture_constraints: Constraints = None
    extra_mapping_constraints: Constraints = None
    ART: Any = None
    mapper: Any = None
    mapspace: Any = None
    variables: Any = None
    components: Any = None
    compound_components: Any = None
    globals: Any = None
    dumped_by_timeloop_front_end: Any = None
