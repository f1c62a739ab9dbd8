"""A small matrix under the names of real ones, for commands of pages and help texts."""

from pathlib import Path

NAMES = ("wiki-Vote", "p2p-Gnutella31")
MATRIX = "%%MatrixMarket matrix coordinate real general\n40 40 80\n" + "".join(
    f"{1 + 7 * entry % 40} {1 + 11 * entry % 40} {entry + 1}\n" for entry in range(80)
)


def small_data(folder: Path) -> str:
    """Make the folder; it is what FIBERSCOPE_DATA is to be."""
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.mtx").write_text(MATRIX)
    return str(folder)
