"""``fiberscope graph``: runs, checks and drawings of graphs of stream blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fiberscope.base.operand_arguments import find_graph_file
from fiberscope.commands.graph_compile import compile_, gallery
from fiberscope.commands.graph_orders import cascade, orders
from fiberscope.commands.graph_source import (
    Formats,
    GraphFile,
    Order,
    Source,
    Tensors,
    graph_of,
    named_graph,
    tensors_by_name,
)
from fiberscope.commands.graph_verilog import export, rtl
from fiberscope.commands.group import Group
from fiberscope.commands.option_groups import expand_groups
from fiberscope.commands.options import Exact, Settings, parse_setting_values
from fiberscope.commands.run_options import SimulationOptions
from fiberscope.results.report.files import STANDARD_OUTPUT, check_outputs

graph = Group()

_File = Annotated[Path, typer.Argument(metavar="FILE.gv", help="Graph file in the format of SAM's compiler.")]
_Streams = Annotated[bool, typer.Option("--streams", help="Also show the tokens of every stream.")]
_Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="SVG file to write; GRAPH.svg by default."),
]

_Rewrites = Annotated[str, typer.Option("--optimise", metavar="NAME,...", help="Rewrites to apply, or all.")]


@graph.callback()
def _graph() -> None:
    """Run and compile tensor expressions as graphs of stream blocks.

    The graphs are those of the Sparse Abstract Machine (SAM).

    \b
    Examples:
      fiberscope graph run examples/graphs/fig14_identity.gv B=wiki-Vote
      fiberscope graph draw examples/graphs/fig12_ikj.gv
    """


@graph.command()
@expand_groups(
    part="a graph has no parts to replace: its blocks are nodes of the graph",
    checked="a graph's memory holds no layouts that its requests could be held to",
)
def run(
    source: Source,
    options: SimulationOptions,
    tensors: Tensors = None,
    formats: Formats = None,
    order: Order = "",
    streams: _Streams = False,
) -> int:
    """Run a graph on tensors, and verify the result.

    The result must equal the expression of the graph; otherwise the exit code is 3.

    \b
    Examples:
      fiberscope graph run examples/graphs/fig14_identity.gv B=wiki-Vote --json out.json
      fiberscope graph run examples/graphs/fig11_locate.gv B=a.mtx C=ones:shape=40x10 D=ones --vcd out.vcd
      fiberscope graph run "x(i) = B(i,j) * c(j)" --format "x:s,B:ss,c:d" B=wiki-Vote c=ones
    """
    from fiberscope.commands.output import show
    from fiberscope.models.graphs.streams import build_streams_table
    from fiberscope.run.request import GraphRequest

    operands = tensors_by_name(tensors)

    def make_request(**arguments: Any) -> GraphRequest:  # noqa: ANN401  (settings, config and exact)
        return GraphRequest(graph_of(source, formats, order, operands), tensors=operands, **arguments)

    report = options.simulate(make_request, {"the graph": find_graph_file(source), **_files(operands)})
    if streams and options.json != STANDARD_OUTPUT:  # with --json -, only the report is printed
        show([build_streams_table(report)], markdown=False)
    return options.finish(report)


@graph.command()
def check(file: _File) -> None:
    """Check a graph without tensors, and print its expression.

    Also prints its tensors and blocks.

    \b
    Examples:
      fiberscope graph check examples/graphs/fig12_ikj.gv
    """
    from fiberscope.models.graphs.check import check as check_graph
    from fiberscope.models.graphs.check import list_operands
    from fiberscope.models.graphs.expression import list_expressions
    from fiberscope.models.graphs.faults import Unreadable
    from fiberscope.models.graphs.gv_reader import read_gv
    from fiberscope.models.graphs.splits import split_lines

    parsed = read_gv(file)
    check_graph(parsed)
    # No fault: a graph that passes the check may compute something that no expression states.
    try:
        expressions = [str(assignment) for assignment in list_expressions(parsed)]
    except Unreadable as error:
        expressions = [f"no expression can be read: {error}"]
    print("\n".join([*expressions, *split_lines(parsed.splits)]))
    print(f"Reads: {', '.join(list_operands(parsed))}")
    print("Blocks: " + ", ".join(f"{count} {name}" for name, count in sorted(parsed.counts().items())))
    for note in parsed.notes:
        print(f"Note: {note}")


@graph.command()
def draw(
    source: Source,
    formats: Formats = None,
    order: Order = "",
    settings: Settings = None,
    output: _Output = None,
) -> None:
    """Draw the blocks and streams of a graph as SVG.

    With the settings of a run, the drawing has the memories of tiles and the unions of that run.

    \b
    Examples:
      fiberscope graph draw examples/graphs/fig12_ikj.gv -o ikj.svg
      fiberscope graph draw "x(i) = b(i) + c(i)" --format "x:s,b:s,c:s" -o sum.svg
    """
    from fiberscope.models.graphs.draw import format_svg
    from fiberscope.models.graphs.execution import graph_settings
    from fiberscope.models.graphs.rewrites.joiners import chain_unions
    from fiberscope.models.graphs.tiles import find_memory_names
    from fiberscope.results.report.files import write_text

    name, drawn_graph = named_graph(source, formats, order)
    path = output or Path(f"{name}.svg")
    check_outputs({"the picture": path}, {"the graph": find_graph_file(source)})
    parameters = graph_settings(parse_setting_values(settings))
    if parameters.timing == "sam":  # as a run does: the public simulator has only unions of two operands
        drawn_graph = chain_unions(drawn_graph)
    write_text(path, format_svg(drawn_graph, name, find_memory_names(drawn_graph, parameters.tiles)))
    print(f"Picture: {path}")


@graph.command()
def optimise(file: _File, rewrites: _Rewrites = "all", output: GraphFile = None) -> None:
    """Rewrite a graph to compute the same with fewer blocks or tokens.

    \b
    Applies these rewrites in the order given:
      common-scanners   merge blocks that do the same to the same streams
      nary-joiners      merge a tree of equal joiners into one joiner
      locate            look up a dense level in an intersection instead of scanning it
      scalar-broadcast  hold a scalar in a register of its ALU
      dead-droppers     remove droppers that have nothing to drop

    \b
    Examples:
      fiberscope graph optimise examples/graphs/fig11_coiterate.gv --optimise locate -o located.gv
    """
    from fiberscope.models.graphs.check import check as check_graph
    from fiberscope.models.graphs.gv_reader import read_gv
    from fiberscope.models.graphs.gv_writer import write_gv
    from fiberscope.models.graphs.rewrites import apply_rewrites, parse_rewrites

    names, path = parse_rewrites(rewrites), output or Path(f"{file.stem}_optimised.gv")
    check_outputs({"the graph rewritten": path}, {"the graph": file})
    parsed = read_gv(file)
    check_graph(parsed)
    result = apply_rewrites(parsed, names)
    write_gv(result, path)
    print(f"Blocks: {len(parsed.nodes)} before, {len(result.nodes)} after {', '.join(names)}")
    print(f"Written: {path}")


@graph.command()
def cost(
    source: Source,
    tensors: Tensors = None,
    formats: Formats = None,
    order: Order = "",
    settings: Settings = None,
    exact: Exact = False,
    streams: _Streams = False,
) -> None:
    """Estimate the tokens and cycles of a graph without a run.

    The estimate uses statistics of the tensors and is a guess. With --set tiles.capacity=..., it includes
    memories of tiles, and lists their loads, energy and area.

    \b
    Examples:
      fiberscope graph cost examples/graphs/fig12_ikj.gv B=wiki-Vote C=wiki-Vote --streams
    """
    from fiberscope.commands.output import show
    from fiberscope.models.graphs.cost import estimate_graph
    from fiberscope.models.graphs.cost.estimate import build_cost_table, describe_cost
    from fiberscope.models.graphs.cost.tile_memories import build_memories_table
    from fiberscope.models.graphs.execution import graph_settings, prepare
    from fiberscope.models.graphs.settings import check_estimated

    operands, values = tensors_by_name(tensors), parse_setting_values(settings)
    check_estimated(values)  # ``graph_settings`` also accepts settings without effect on an estimate
    parameters = graph_settings(values)
    prepared = prepare(graph_of(source, formats, order, operands), operands, exact=exact)
    prepared = prepared.with_timing(parameters.timing)
    estimate = estimate_graph(prepared, parameters)
    print(describe_cost(prepared.graph, estimate))
    tables = [build_cost_table(prepared.graph, estimate)] if streams else []
    if estimate.tiles and estimate.tiles.memories:
        tables.append(
            build_memories_table(estimate.tiles, estimate.streams, estimate.cycles / parameters.clock)
        )
    show(tables, markdown=False)


def _files(operands: dict[str, str]) -> dict[str, Path | None]:
    """Return the files of the operands, which no output may overwrite, by their names in messages.

    A generated operand has no file (None).
    """
    from fiberscope.models.graphs.experiment_tensors import is_published
    from fiberscope.workloads import file_of

    # Only graphs have these generators: ``file_of`` would take a file of the same name for the operand.
    return {
        f"the tensor {name}": None if is_published(text) or text == "ones" else file_of(text)
        for name, text in operands.items()
    }


graph.command("compile")(compile_)
graph.command()(export)
graph.command()(rtl)
graph.command()(gallery)
graph.command()(orders)
graph.command()(cascade)
