"""The tables of ``fiberscope compare mint``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fiberscope.results.report.table import Table

if TYPE_CHECKING:
    from published.mint import Gates

__all__ = ["mint_tables"]


def mint_tables(found: Gates, yosys: str) -> list[Table]:
    """Gates of each part, and of each variant beside the published areas."""
    return [_parts(found, yosys), _variants(found)]


def _parts(found: Gates, yosys: str) -> Table:
    names = [one.name for one in found.variants]
    title = f"Instances, and what one becomes: generic gates and flip-flops, by Yosys {yosys}"
    table = Table(title, ("Kind", "Twin", "Gates", "Flip-flops", *names), labels=2)
    for part in found.parts:
        counts = [str(part.instances[name]) for name in names]
        table.add(part.kind, part.block, f"{part.gates:,}", f"{part.flip_flops:,}", *counts)
    for kind, of_variant in found.left_out.items():
        table.add(kind, "none", "left out", "left out", *(str(of_variant[name]) for name in names))
    return table


def _variants(found: Gates) -> Table:
    columns = (
        "Variant",
        "Gates",
        "Flip-flops",
        "Over mint_b",
        "Published mm2, 28 nm",
        "Published over mint_b",
    )
    table = Table("Sums of what has a twin, beside the published areas", columns)
    for one in found.variants:
        table.add(
            one.name,
            f"{one.gates:,}",
            f"{one.flip_flops:,}",
            f"{one.ratio:.3f}",
            f"{one.published_mm2:.2f}",
            f"{one.published_ratio:.3f}",
        )
    return table
