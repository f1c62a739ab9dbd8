"""Detection of a checkout of the sources."""

from pathlib import Path

import fiberscope

__all__ = ["is_checkout"]


def is_checkout() -> bool:
    """Return whether ``published/`` lies beside the package, as in a checkout of the sources."""
    return (Path(fiberscope.__file__).parents[1] / "published" / "figures.py").is_file()
