"""``fiberscope graph``: graphs of stream blocks, run, checked, drawn."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from fiberscope.commands.delivery import delivering
from fiberscope.commands.options import Config, Exact, Json, Quiet, Settings
from fiberscope.commands.recorded import (
    Vcd,
    VcdCycles,
    VcdPlain,
    VcdScope,
    VcdTrigger,
    VcdWindow,
    recorded,
)
from fiberscope.commands.sim import CycleLimit, Histograms, ended
from fiberscope.errors import InputError
from fiberscope.report.files import STANDARD_OUTPUT, check_outputs
from fiberscope.rtl.options import Folder

__all__ = ["graph"]

graph = typer.Typer(rich_markup_mode=None)

_File = Annotated[Path, typer.Argument(metavar="FILE.gv", help="The graph, as SAM's compiler writes them.")]
_Tensors = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME=TENSOR]...", help="An operand: a file, a folder, a name, a generator, ones, a number."
    ),
]
_Streams = Annotated[bool, typer.Option("--streams", help="Show the tokens of every stream too.")]
_Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="The picture; <graph>.svg by default.")
]

_Rewrites = Annotated[
    str, typer.Option("--optimise", metavar="NAME,...", help="The rewrites, or all of them.")
]
_Graph = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="The graph; <graph>_optimised.gv by default."),
]
_ValueBits = Annotated[int, typer.Option("--value-bits", min=1, max=53, metavar="N", help="Of every value.")]


@graph.callback()
def _graph() -> None:
    """Tensor algebra as a graph of stream blocks, as in the Sparse Abstract Machine.

    \b
    Examples:
      fiberscope graph run examples/graphs/fig14_identity.gv B=wiki-Vote
      fiberscope graph draw examples/graphs/fig12_ikj.gv
    """


@graph.command()
def run(
    context: typer.Context,
    file: _File,
    tensors: _Tensors = None,
    settings: Settings = None,
    config: Config = None,
    json: Json = None,
    vcd: Vcd = None,
    vcd_window: VcdWindow = None,
    vcd_scope: VcdScope = None,
    vcd_trigger: VcdTrigger = None,
    vcd_cycles: VcdCycles = None,
    vcd_plain: VcdPlain = False,
    exact: Exact = False,
    histograms: Histograms = False,
    streams: _Streams = False,
    cycle_limit: CycleLimit = None,
    quiet: Quiet = False,
) -> int:
    """Run a graph on tensors; what it writes is verified against the expression that the graph stands for.

    \b
    Examples:
      fiberscope graph run examples/graphs/fig14_identity.gv B=wiki-Vote --json out.json
      fiberscope graph run examples/graphs/fig12_ikj.gv B=a.mtx C=b.mtx --set timing=sam
      fiberscope graph run examples/graphs/fig11_locate.gv B=a.mtx C=ones:shape=40x10 D=ones --vcd out.vcd
    """
    from accelerators.configuration import parse_settings
    from fiberscope.commands.output import show
    from fiberscope.commands.progress import watched
    from fiberscope.graph.run import run as run_graph
    from fiberscope.graph.streams import streams_table

    given, waveform = _by_name(tensors or []), recorded(context)
    _check_files(context, given)
    with delivering(json, quiet, vcd) as deliver, watched(quiet) as tell:
        report = run_graph(
            file,
            given,
            parse_settings(settings or []),
            config,
            exact=exact,
            cycle_limit=cycle_limit,
            waveform=waveform,
            histograms=histograms,
            progress=tell,
        )
    deliver(report)
    show([streams_table(report)] if streams and json != STANDARD_OUTPUT else [], markdown=False)
    return ended(report, energy=False)


@graph.command()
def check(file: _File) -> None:
    """Check a graph without tensors, and say what it computes and of which blocks it is.

    \b
    Examples:
      fiberscope graph check examples/graphs/fig12_ikj.gv
    """
    from fiberscope.graph.check import check as check_graph
    from fiberscope.graph.check import operands_of
    from fiberscope.graph.expression import Unreadable, expressions_of
    from fiberscope.graph.read import read_gv

    read = read_gv(file)
    check_graph(read)
    try:
        meant = [str(one) for one in expressions_of(read)]
    except Unreadable as error:
        meant = [f"no expression can be read: {error}"]
    print("\n".join(meant))
    print(f"Reads: {', '.join(operands_of(read))}")
    print("Blocks: " + ", ".join(f"{count} {name}" for name, count in sorted(read.counts().items())))
    for note in read.notes:
        print(f"Note: {note}")


@graph.command()
def draw(file: _File, output: _Output = None) -> None:
    """Draw a graph as SVG, its streams by kind.

    \b
    Examples:
      fiberscope graph draw examples/graphs/fig12_ikj.gv -o ikj.svg
    """
    from fiberscope.graph.draw import svg_text
    from fiberscope.graph.read import read_gv
    from fiberscope.report.files import write_text

    path = output or Path(f"{file.stem}.svg")
    check_outputs({"the picture": path}, {"the graph": file})
    write_text(path, svg_text(read_gv(file), file.stem))
    print(f"Picture: {path}")


@graph.command()
def export(
    file: _File,
    tensors: _Tensors = None,
    settings: Settings = None,
    config: Config = None,
    exact: Exact = False,
    value_bits: _ValueBits = 32,
    output: Folder = Path("build"),
) -> None:
    """Write a graph as Verilog, with memories as large as its tensors, and the words that fill them.

    The folder gets GRAPH.v, one module without dependencies, and GRAPH_words.csv, a line for each word that
    goes into a memory through its port: port, control, address, word. Values are whole numbers in two's
    complement.

    \b
    Examples:
      fiberscope graph export examples/graphs/spmv.gv B=sam-random:shape=12x9,sparsity=0.6 c=ones -o build/
    """
    from accelerators.configuration import parse_settings
    from fiberscope.graph.run import configured, prepare
    from fiberscope.graph.verilog import machine_of, module_name, verilog_of
    from fiberscope.report.files import make_folder, write_text

    parameters = configured(parse_settings(settings or []), config)
    machine = machine_of(prepare(file, _by_name(tensors or []), exact=exact), parameters)
    made = verilog_of(machine, module_name(file.stem), value_bits)
    make_folder(output)
    for path, text in (
        (output / f"{file.stem}.v", made.text),
        (output / f"{file.stem}_words.csv", made.words),
    ):
        write_text(path, text)
        print(f"Written: {path}")


@graph.command()
def optimise(file: _File, rewrites: _Rewrites = "all", output: _Graph = None) -> None:
    """Rewrite a graph so that it computes the same with fewer blocks or tokens.

    \b
    Rewrites, each by its name, in the order given:
      common-scanners   blocks that do the same to the same streams are one
      nary-joiners      a tree of joiners of one kind is one joiner
      locate            a dense level in an intersection is asked, not walked along
      scalar-broadcast  a scalar stands in a register of its ALU
      dead-droppers     droppers that can find nothing to drop go

    \b
    Examples:
      fiberscope graph optimise examples/graphs/fig11_coiterate.gv --optimise locate -o located.gv
    """
    from fiberscope.graph.check import check as check_graph
    from fiberscope.graph.read import read_gv
    from fiberscope.graph.rewrites import rewrites_named, rewritten
    from fiberscope.graph.write import write_gv

    names, path = rewrites_named(rewrites), output or Path(f"{file.stem}_optimised.gv")
    check_outputs({"the graph rewritten": path}, {"the graph": file})
    read = read_gv(file)
    check_graph(read)
    made = rewritten(read, names)
    write_gv(made, path)
    print(f"Blocks: {len(read.nodes)} before, {len(made.nodes)} behind {', '.join(names)}")
    print(f"Written: {path}")


@graph.command()
def cost(file: _File, tensors: _Tensors = None, exact: Exact = False, streams: _Streams = False) -> None:
    """Estimate the tokens and the cycles of a graph from statistics of its tensors, without a run: a guess.

    \b
    Examples:
      fiberscope graph cost examples/graphs/fig12_ikj.gv B=wiki-Vote C=wiki-Vote --streams
    """
    from fiberscope.commands.output import show
    from fiberscope.graph.cost import estimated
    from fiberscope.graph.cost.line import cost_line, cost_table
    from fiberscope.graph.run import prepare

    found = estimated(ready := prepare(file, _by_name(tensors or []), exact=exact))
    print(cost_line(ready.graph, found))
    show([cost_table(ready.graph, found)] if streams else [], markdown=False)


_NAMED = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<tensor>.+)", re.DOTALL)


def _by_name(words: list[str]) -> dict[str, str]:
    """Operands by name.

    Raises:
        InputError: one without a name, or a name that is given twice.
    """
    given: dict[str, str] = {}
    for word in words:
        match = _NAMED.fullmatch(word)
        if match is None:
            raise InputError(f"{word} names no tensor; write NAME=TENSOR, as in B=wiki-Vote")
        if match["name"] in given:
            raise InputError(f"{match['name']} is given twice; leave one out")
        given[match["name"]] = match["tensor"]
    return given


def _check_files(context: typer.Context, given: dict[str, str]) -> None:
    """Refuse outputs that cannot be, or that would overwrite what the run is made of."""
    from fiberscope.waveform import files_of

    options = context.params
    vcd = options["vcd"]
    outputs = {"the report": options["json"], **(files_of(vcd) if vcd else {})}
    inputs = {"the graph": options["file"], "the file of --config": options["config"]}
    check_outputs(outputs, {**inputs, **_files(given)})


def _files(given: dict[str, str]) -> dict[str, Path | None]:
    """The files of the operands, which no output may overwrite, by what they are called in a message."""
    from fiberscope.graph.published import is_published
    from workloads import file_of

    return {
        f"the tensor {name}": None if is_published(text) or text == "ones" else file_of(text)
        for name, text in given.items()
    }
