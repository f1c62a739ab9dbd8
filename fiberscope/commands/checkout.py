"""Detection of a checkout of the sources."""

from pathlib import Path

import fiberscope


def is_checkout() -> bool:
    """Return whether the package lies in a checkout of the sources, with the folder ``published/``."""
    return (Path(fiberscope.__file__).parents[1] / "published" / "figures.py").is_file()
