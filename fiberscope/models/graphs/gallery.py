"""Gallery page of the documentation: the expressions of a table, compiled, drawn and run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fiberscope.models.graphs.compiler.compile import CompiledExpression, compile_expression
from fiberscope.models.graphs.compiler.kernels import KERNELS, Kernel
from fiberscope.models.graphs.draw import format_svg
from fiberscope.models.graphs.execution import run
from fiberscope.models.graphs.random_tensors import generate_operands
from fiberscope.results.report.document import Report
from fiberscope.results.report.files import make_folder, write_text

IMAGES = "images/gallery"
SIZE = 8  # coordinates of each dimension of the operands
OPENING = f"""# Gallery of expressions

The twelve expressions of Table 1 of the Sparse Abstract Machine, [compiled](compiler.md) with these formats,
drawn, and run in the timing of hardware on tensors of {SIZE} coordinates a dimension, half of them zeros.
Each result was verified. `fiberscope graph gallery docs` writes this page, and a test holds it to that.
"""
HEAD = ("expression", "formats", "order", "cycles", "busiest block", "of its cycles")


@dataclass(frozen=True)
class GalleryEntry:
    """An expression of the gallery, compiled and run.

    Args:
        kernel: the expression with its name and formats.
        compiled: its graph and loop nests.
        report: report of the run.
    """

    kernel: Kernel
    compiled: CompiledExpression
    report: Report

    @property
    def busiest(self) -> tuple[str, float]:
        """Return the name of the block with the most busy cycles, and their share of the run's cycles."""
        name, component = max(self.report.components.items(), key=lambda item: item[1].busy)
        # a component's name begins with the machine's name
        return name.partition(".")[2], component.busy / self.report.cycles

    @property
    def row(self) -> tuple[str, ...]:
        """Return the row of the page's table."""
        block, share = self.busiest
        order = ",".join(self.compiled.order)
        link = f"[`{self.kernel.text}`](#{self.kernel.file})"
        cycles = f"{self.report.cycles:,}"
        return link, f"`{self.kernel.formats}`", order, cycles, f"`{block}`", f"{share:.0%}"


def make_entries() -> Iterator[GalleryEntry]:
    """Compile each expression, run it on random tensors, and yield its entry after the run.

    The generator runs an expression only when the caller asks for its entry.

    Raises:
        VerificationError: a result is wrong.
    """
    for kernel in KERNELS:
        compiled = compile_expression(kernel.text, [kernel.formats])
        yield GalleryEntry(kernel, compiled, run(compiled.graph, generate_operands(compiled.graph, SIZE)))


def write_gallery(folder: Path) -> list[Path]:
    """Write the page and its images into the folder of the documentation, and return their paths.

    Raises:
        VerificationError: a result is wrong; no file is written.
    """
    entries = list(make_entries())  # run everything first, so that an error leaves the old files
    page = folder / "gallery.md"
    make_folder(folder / IMAGES)
    pictures = {folder / IMAGES / f"{item.kernel.file}.svg": item for item in entries}
    for path, kernel in pictures.items():
        write_text(path, format_svg(kernel.compiled.graph, kernel.kernel.name))
    write_text(page, "\n".join([OPENING, *_format_table(entries), *map(_format_section, entries)]))
    return [page, *pictures]


def _format_table(entries: list[GalleryEntry]) -> list[str]:
    rows = [HEAD, ("---",) * len(HEAD), *(item.row for item in entries)]
    return [f"| {' | '.join(row)} |" for row in rows]


def _format_section(item: GalleryEntry) -> str:
    nest, name = item.compiled.notations[0], item.kernel.name
    return f"\n## {name}\n\n```text\n{nest}\n```\n\n![The graph of {name}]({IMAGES}/{item.kernel.file}.svg)\n"
