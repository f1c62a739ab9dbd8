"""``fiberscope graph export`` and ``graph rtl``: generation and simulation of a graph as Verilog."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from fiberscope.base.errors import MACHINE_WRONG
from fiberscope.commands.graph_source import Formats, Order, Source, Tensors, named_graph, tensors_by_name
from fiberscope.commands.options import Config, Exact, Settings, parse_setting_values
from fiberscope.commands.rtl_options import Folder, HdlSimulator, Points, ValueBits

_Area = Annotated[bool, typer.Option("--area/--no-area", help="Measure the area of each block with Yosys.")]


def export(
    source: Source,
    tensors: Tensors = None,
    formats: Formats = None,
    order: Order = "",
    settings: Settings = None,
    config: Config = None,
    exact: Exact = False,
    value_bits: ValueBits = 32,
    points: Points = 64,
    output: Folder = Path("build"),
) -> None:
    """Write a graph as Verilog.

    Memories are as large as the tensors. Writes GRAPH.v, one module without dependencies, and
    GRAPH_words.csv, a line for each word that fills a memory through its port: port, control, address, word.
    Values are whole numbers in two's complement.

    \b
    Examples:
      fiberscope graph export examples/graphs/spmv.gv B=sam-random:shape=12x9,sparsity=0.6 c=ones -o build/
    """
    from fiberscope.accelerators.configuration import parse_settings
    from fiberscope.models.graphs.execution import graph_settings, prepare
    from fiberscope.models.graphs.verilog import build_machine, build_verilog, to_module_name, write_verilog
    from fiberscope.results.report.files import make_folder

    parameters = graph_settings(parse_settings(settings or []), config)
    operands = tensors_by_name(tensors)
    name, graph = named_graph(source, formats, order, operands)
    machine = build_machine(prepare(graph, operands, exact=exact), parameters)
    hardware = build_verilog(machine, to_module_name(name), value_bits, points)
    make_folder(output)
    for path in write_verilog(hardware, name, output):
        print(f"Written: {path}")


def rtl(
    source: Source,
    tensors: Tensors = None,
    formats: Formats = None,
    order: Order = "",
    settings: Settings = None,
    value_bits: ValueBits = 32,
    points: Points = 64,
    simulator: HdlSimulator = "auto",
    area: _Area = True,
    output: Folder = Path("build/graph"),
) -> int:
    """Write a graph as Verilog, and run it in an HDL simulator.

    Lints, runs and measures the module. The simulator must take each token of each stream in the same cycle
    as the event simulation. Without tensors, draws small tensors of whole numbers. Writes the graph, the
    module and the words that fill its memories.

    \b
    Examples:
      fiberscope graph rtl "x(i) = B(i,j) * c(j)" --format "x:s,B:ss,c:s" --no-area
    """
    from fiberscope.commands.output import show
    from fiberscope.rtl.select_block import condense_error, rtl_blocks

    operands: dict[str, Any] = dict(tensors_by_name(tensors))
    name, graph = named_graph(source, formats, order, operands)
    rtl_blocks()  # raises an error without the extra, which the next imports need
    from fiberscope.hw.rtl.tools.simulator import FailedBenchError, HdlError
    from fiberscope.models.graphs.cosim import build_area_table, cosimulate
    from fiberscope.models.graphs.execution import graph_settings
    from fiberscope.models.graphs.random_tensors import generate_operands

    parameters = parse_setting_values(settings)
    sizes = {"value_bits": value_bits, "points": points}
    is_integer = not graph_settings(parameters).value_type.floats
    operands = operands or generate_operands(graph, integers=is_integer)
    try:
        run = cosimulate(name, graph, operands, parameters, **sizes, simulator=simulator, folder=output)
        tables = [build_area_table(run.verilog)] if area else []
    except FailedBenchError as failed:
        print(failed, file=sys.stderr)
        return MACHINE_WRONG
    except HdlError as error:
        raise condense_error(error, output) from error
    for path in run.files:
        print(f"Written: {path}")
    print(f"{run.tokens:,} tokens in {run.cycles:,} cycles, in {run.simulator} as in the event simulation")
    show(tables, markdown=False)
    return 0
