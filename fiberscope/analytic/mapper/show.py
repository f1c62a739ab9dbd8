"""What a search has found, in words."""

from __future__ import annotations

from collections.abc import Iterator

from fiberscope.analytic.mapper.api import Best

__all__ = ["told"]


def told(best: Best) -> str:
    """What was looked at, what could not be had and why, and how the best was reached."""
    return "\n".join(_lines(best))


def _lines(best: Best) -> Iterator[str]:
    found = best.found
    yield f"Looked at {found.evaluated:,} mappings, {found.valid:,} of which can be had; {found.ended}."
    for reason, count in found.rejected.most_common():
        yield f"  {count:>10,}  {reason}"
    yield f"Better ones, and what they cost by {best.metrics[0]}:"
    for evaluated, cost in found.improvements:
        yield f"  {evaluated:>10,}  {cost:.6g}"
