"""Gate counts of MINT_b, MINT_m and MINT_mr, compared with the published areas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fiberscope.accelerators.configuration import load
from fiberscope.base.errors import InputError
from fiberscope.converters.configuration import MintParameters
from fiberscope.converters.mint import MINT
from fiberscope.converters.variants import VARIANTS, instances
from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.parameters import Parameters
from fiberscope.hw.rtl.tools.area import Area, measure, require, version
from fiberscope.hw.rtl.tools.simulator import HdlError
from fiberscope.results.report.table import Table
from fiberscope.rtl.select_block import input_errors

# MINT, Section VII-B: 28 nm, placed and routed, the conversions of Figure 8.
PUBLISHED_MM2 = {"mint_b": 0.95, "mint_m": 0.41, "mint_mr": 0.23}
COUNTERS = 256  # counters included as logic; the scratchpad's would be memory


@dataclass(frozen=True)
class Part:
    """A kind of hardware, with the gates of its RTL block.

    Args:
        kind: a kind of ``fiberscope.converters.variants``.
        block: the RTL block.
        gates: generic gates of one instance.
        flip_flops: flip-flops of one instance.
        instances: instances by variant.
    """

    kind: str
    block: str
    gates: int
    flip_flops: int
    instances: Mapping[str, int]


@dataclass(frozen=True)
class Variant:
    """A variant: the sums of its parts, and the published area.

    Args:
        name: the name of the variant.
        gates: generic gates of all instances with RTL.
        flip_flops: flip-flops of these instances.
        ratio: its gates over those of MINT_b.
        published_mm2: the area of the paper; this project computes none.
        published_ratio: the published area over that of MINT_b.
    """

    name: str
    gates: int
    flip_flops: int
    ratio: float
    published_mm2: float
    published_ratio: float


@dataclass(frozen=True)
class Gates:
    """Gate counts of parts and variants.

    Args:
        parts: the parts with RTL.
        variants: the sums of parts.
        left_out: instances of kinds without RTL, by kind and variant.
    """

    parts: list[Part]
    variants: list[Variant]
    left_out: Mapping[str, Mapping[str, int]]


def twins(parameters: MintParameters) -> dict[str, tuple[str, Parameters]]:
    """Return the RTL block of each kind of hardware, with its parameters in a converter.

    Raises:
        ValueError: a block cannot be built.
    """
    lanes = parameters.lanes
    settings: dict[str, tuple[str, Mapping[str, object]]] = {
        "prefix sum": ("prefix_sum", {"form": parameters.scan_form, "lanes": lanes.scan}),
        "dividers": ("divider", {"lanes": lanes.divide, "bits_per_stage": parameters.division_bits}),
        "comparators": ("comparator_bank", {"lanes": lanes.scan}),
        "sorter": ("sorting_network", {"lanes": lanes.chunk}),
        "cluster counter": ("cluster_counter", {"lanes": lanes.chunk}),
        "packer": ("packer", {"inputs": lanes.scan, "outputs": lanes.divide}),
        "counters": (
            "counter_banks",
            {
                "counters": COUNTERS,
                "lanes": lanes.chunk,
                "sweep_lanes": lanes.scan,
                "fetch_lanes": lanes.scatter,
                "banks": parameters.scratchpad.banks,
            },
        ),
    }
    return {kind: (block, BLOCKS[block].parameters(**numbers)) for kind, (block, numbers) in settings.items()}


def study(cases: Sequence[str], options: Mapping[str, Any]) -> tuple[object, list[Table]]:
    """Measure the blocks by Yosys; return their sums for each variant as data and as tables.

    Raises:
        InputError: Yosys is missing, a block cannot be built, or there are cases or parts.
    """
    if cases or options["parts"]:
        raise InputError("mint has no matrices and no parts: it counts gates; write fiberscope compare mint")
    converter = load(MINT.configuration, MINT.shipped, name=MINT.name, settings=options["settings"])
    areas = {}
    try:
        require()
        with input_errors():
            for kind, (block, parameters) in twins(converter).items():
                options["tell"](f"{block}: synthesizing")
                areas[kind] = block, measure(BLOCKS[block], parameters)
    except HdlError as error:
        raise InputError(str(error)) from error
    gates = sum_gates(areas)
    return asdict(gates), mint_tables(gates, version())


def sum_gates(areas: Mapping[str, tuple[str, Area]]) -> Gates:
    """Return the gate counts of all kinds of hardware, and their sums for each variant.

    Args:
        areas: by kind, the RTL block and its area.
    """
    parts = [
        Part(kind, block, area.gate_count, area.flip_flops, _instances(kind))
        for kind, (block, area) in areas.items()
    ]
    left_out = {kind: _instances(kind) for kind in sorted(instances("mint_b")) if kind not in areas}
    return Gates(parts, _sum_variants(parts), left_out)


def _instances(kind: str) -> dict[str, int]:
    return {variant: instances(variant).get(kind, 0) for variant in VARIANTS}


def _sum_variants(parts: list[Part]) -> list[Variant]:
    """Return the sums of the parts for each variant, and their ratios to the first variant."""
    sums = {name: sum(part.gates * part.instances[name] for part in parts) for name in VARIANTS}
    reference = VARIANTS[0]
    return [
        Variant(
            name,
            sums[name],
            sum(part.flip_flops * part.instances[name] for part in parts),
            sums[name] / sums[reference],
            PUBLISHED_MM2[name],
            PUBLISHED_MM2[name] / PUBLISHED_MM2[reference],
        )
        for name in VARIANTS
    ]


def mint_tables(gates: Gates, yosys: str) -> list[Table]:
    """Return the gates of each part, and of each variant with the published areas."""
    title = f"Instances, and what one becomes: generic gates and flip-flops, by Yosys {yosys}"
    part_table = Table(title, ("Kind", "Twin", "Gates", "Flip-flops", *VARIANTS), labels=2)
    for part in gates.parts:
        counts = [str(part.instances[name]) for name in VARIANTS]
        part_table.add(part.kind, part.block, f"{part.gates:,}", f"{part.flip_flops:,}", *counts)
    for kind, instances_of in gates.left_out.items():
        part_table.add(kind, "none", "left out", "left out", *(str(instances_of[name]) for name in VARIANTS))
    published = "Published mm2, 28 nm", "Published over mint_b"
    columns = ("Variant", "Gates", "Flip-flops", "Over mint_b", *published)
    variants = Table("Sums of what has a twin, beside the published areas", columns)
    for variant in gates.variants:
        sums = f"{variant.gates:,}", f"{variant.flip_flops:,}", f"{variant.ratio:.3f}"
        variants.add(variant.name, *sums, f"{variant.published_mm2:.2f}", f"{variant.published_ratio:.3f}")
    return [part_table, variants]
