"""``fiberscope formats``: size of a tensor in each compression format."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fiberscope.commands.completion import complete_matrix
from fiberscope.commands.options import Exact, Json, Markdown
from fiberscope.commands.output import print_progress, show
from fiberscope.results.report.files import STANDARD_OUTPUT, check_outputs, write_json
from fiberscope.results.report.table import Table, format_percent

if TYPE_CHECKING:
    from fiberscope.workloads import NamedTensor
    from fiberscope.workloads.formats import Format

_Tensor = Annotated[
    str,
    typer.Argument(
        help="Matrix or tensor: a file, a name from 'fiberscope list', or a generator.",
        autocompletion=complete_matrix,
    ),
]
_Bits = Annotated[int, typer.Option("--bits", help="Width of a value in bits: 8, 16 or 32.")]
_Formats = Annotated[
    list[str] | None,
    typer.Option(
        "--format", metavar="NAME", help="Show only this format, for example csr, bsr4 or rlc5; repeatable."
    ),
]


def formats(
    tensor: _Tensor,
    bits: _Bits = 32,
    chosen: _Formats = None,
    exact: Exact = False,
    markdown: Markdown = False,
    json: Json = None,
) -> None:
    """Show the size of a matrix or tensor in each format, in bytes.

    Sizes are exact, without headers. Without --format, shows all formats that can hold the tensor.

    \b
    Examples:
      fiberscope formats wiki-Vote
      fiberscope formats my_tensor.tns --bits 16 --json -
      fiberscope formats wiki-Vote --format csr --format bsr4 --format rlc5-value
    """
    from fiberscope.workloads import file_of, load_tensor
    from fiberscope.workloads.formats import FORMATS, check_width, format_called

    check_width(bits)
    shown_formats = [format_called(name) for name in chosen or ()]
    check_outputs({"--json": json}, {"the tensor": file_of(tensor)})
    loaded = load_tensor(tensor, exact=exact)
    if loaded.notice:
        print_progress(f"fiberscope: {loaded.notice}")
    possible = [each for each in FORMATS.values() if each.holds(loaded.tensor.shape)]
    document = _document(loaded, shown_formats or possible, bits)
    if json is not None:
        write_json(json, document)
    if json != STANDARD_OUTPUT:
        show([_table(document)], markdown=markdown)


def _document(loaded: NamedTensor, shown_formats: Sequence[Format], bits: int) -> dict[str, Any]:
    """Return the sizes of a tensor in each format as plain data for JSON.

    ``bits`` are the exact sizes. ``line_bytes`` are the bytes of the lines that a transfer moves, where each
    array begins at a line. Of equal sizes, the first format is ``smallest``.

    Raises:
        WorkloadError: a format cannot represent the tensor.
    """
    # Stored zeros are no nonzeros, in whatever format the file has them
    tensor = loaded.tensor.without_zeros()
    layouts = {each.name: (each, each.layout_of(tensor, bits)) for each in shown_formats}
    sizes = {name: int(sum(span.bits for span in layout)) for name, (_, layout) in layouts.items()}
    return {
        "schema": "fiberscope-formats-1",
        "workload": {
            "name": loaded.name,
            "source": loaded.source,
            "notice": loaded.notice,
            "shape": tensor.shape,
            "nonzeros": tensor.nonzeros,
        },
        "value_bits": bits,
        "bits": sizes,
        "line_bytes": {name: each.line_bytes(layout) for name, (each, layout) in layouts.items()},
        "smallest": min(sizes, key=sizes.__getitem__),
    }


def _table(document: dict[str, Any]) -> Table:
    """Return a row for each format; "Beside nonzeros" are the bits beyond the values of the nonzeros."""
    workload, sizes = document["workload"], document["bits"]
    shape = " x ".join(f"{size:,}" for size in workload["shape"])
    values = workload["nonzeros"] * document["value_bits"]
    dense = math.prod(workload["shape"]) * document["value_bits"]
    title = f"{workload['name']}: {shape}, {workload['nonzeros']:,} nonzeros of {document['value_bits']} bits"
    table = Table(title, ("Format", "Bits", "Beside nonzeros", "Of dense", "Bytes in lines"))
    for name, size in sizes.items():
        lines = f"{document['line_bytes'][name]:,}"
        label = f"{name}, smallest" if name == document["smallest"] else name
        table.add(label, f"{size:,}", f"{size - values:,}", format_percent(size / dense, signed=False), lines)
    return table
