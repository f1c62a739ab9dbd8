"""Summary of a report in the terminal."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from fiberscope.results.report.analytical import tables
from fiberscope.results.report.cost_lines import format_cost_lines, scale_unit
from fiberscope.results.report.estimates import format_interval
from fiberscope.results.report.families import Family, group_families, list_rounds_of_stages
from fiberscope.results.report.parts import Cached, Chain, Memory, Operand, Record, Sampling
from fiberscope.results.report.table import print_trimmed
from fiberscope.workloads.verification import describe_overflows

MAX_FAMILIES = 16
FULL_CACHE = 1.0  # fraction of a cache above which the misses of a functional pass may be wrong
NO_BOUND = "no bound: the specification binds no component that takes time"  # for the trace model
WIDTH = 100  # columns without a terminal
LABEL_WIDTH = 24
HTML = '<pre style="font-family: monospace; line-height: 1.2">{code}</pre>'

# State, label, colour, mark in a Unicode terminal and mark in an ASCII terminal.
STATES = (
    ("busy", "busy", "green", "█", "#"),
    ("input_stall", "waiting for input", "yellow", "▒", "<"),
    ("output_stall", "waiting for output", "magenta", "░", ">"),
    ("idle", "idle", "dim", "·", "."),
)
TEXT: Any = {"highlight": False, "markup": False, "force_jupyter": False}  # not twice in notebooks


def show(report: Record, console: Console) -> None:
    """Print the summary of a report; outside of a terminal, trailing blanks are removed."""
    parts = _lay_out_for_console(report, console)
    if console.is_terminal:
        console.print(parts)
        return
    console.out(print_trimmed(console, parts), highlight=False)


def as_text(report: Record, width: int = WIDTH) -> str:
    """Return the summary as plain text of at most ``width`` columns, without a final newline.

    Bars are at most as wide as in a terminal of 120 columns.
    """
    console = Console(file=io.StringIO(), width=width, color_system=None, **TEXT)
    return print_trimmed(console, _lay_out_for_console(report, console))


def as_html(report: Record) -> str:
    """Return the summary as coloured HTML, for a notebook; with the tables of an analytical report."""
    console = Console(file=io.StringIO(), width=WIDTH, record=True, **TEXT)
    console.print(_lay_out_for_console(report, console))
    if report.analytical is not None:
        console.print(*(table.rich() for table in tables(report)), sep="\n")
    return console.export_html(inline_styles=True, code_format=HTML)


def _lay_out_for_console(report: Record, console: Console) -> RenderableType:
    return summary(report, width=min(console.width, 120), ascii_only=console.options.ascii_only)


def summary(report: Record, *, width: int, ascii_only: bool = False) -> RenderableType:
    """Lay out the summary of a report.

    Args:
        report: the report of a run, complete or not.
        width: columns, at least 60.
        ascii_only: draw bars with ASCII characters.
    """
    parts: list[RenderableType] = [_format_title(report), *_build_notices(report), ""]
    parts += [_total_lines(report), ""]
    parts += [_step_table(report.chain), ""] if report.chain else []
    parts += [*_build_cycle_table(report, width, ascii_only), ""] if report.components else []
    parts += [_build_traffic_table(report)] if report.traffic else []
    parts += [_label_lines(("Cached", _describe_cached(report.cached)))] if report.cached else []
    parts += [_label_lines(("Not moved", describe_unmoved(report)))] if report.unmoved else []
    parts += [_format_memory_lines(report.memory)] if report.memory else []
    parts += [""] if report.traffic or report.memory or report.unmoved else []
    bottleneck = "" if report.ending == "deadlock" else report.bottleneck
    closing_lines = {
        **format_cost_lines(report),
        "Converted": _describe_conversions(report),
        "Bottleneck": bottleneck,
        "Verified": verification_line(report),
        "Host": _describe_host(report),
    }
    parts.append(_label_lines(*closing_lines.items()))
    return Group(*parts)


def _format_title(report: Record) -> RenderableType:
    workload = report.workload
    title = f", {report.problem.title}: " if report.problem else ": "
    replaced = ", ".join(f"{part} {name.rpartition('.')[2]}" for part, name in report.parts.items())
    machine = f"{report.accelerator} with {replaced}" if replaced else report.accelerator
    if report.chain is not None:
        return _chain_title(machine, report)
    line = Text.assemble((machine, "bold"), " on ", (workload.label, "bold"), title)
    line.append(_describe_operand(workload))
    for operand in workload.operands[1:]:
        line.append(f"; {operand.label}: {_describe_operand(operand)}")
    return line


def _chain_title(machine: str, report: Record) -> Text:
    """Return the title of a chain, with its operands."""
    assert report.chain is not None
    line = Text.assemble((machine, "bold"), ": ", (report.chain.text, "bold"))
    for name, operand in zip(report.chain.operands, report.workload.operands, strict=True):
        line.append(f"; {name} is {operand.label}: {_describe_operand(operand)}")
    return line


def _describe_operand(operand: Operand) -> str:
    tensor = f"{operand.tensor}: " if operand.tensor else ""
    return f"{tensor}{_format_shape(operand.shape)}, {operand.nonzeros:,} nonzeros, {operand.source}"


def _format_shape(shape: tuple[int, ...]) -> str:
    return " x ".join(f"{size:,}" for size in shape)


def _build_notices(report: Record) -> list[RenderableType]:
    """Return boxes for surrogates, incomplete runs and wrong results."""
    boxes: list[RenderableType] = []
    for operand in report.workload.operands:
        if operand.notice:
            boxes.append(Panel(Text(operand.notice), style="bold yellow", title="NOTICE"))
    if not report.complete:
        text = f"The run ended early ({report.ending}) at cycle {report.cycles:,}. Counts are up to there."
        boxes.append(Panel(Text(text), style="bold yellow", title="INCOMPLETE"))
    elif report.verification.passed is False:
        boxes.append(Panel(Text(verification_line(report)), style="bold red", title="WRONG RESULT"))
    return boxes


def _total_lines(report: Record) -> RenderableType:
    operations = ", ".join(f"{count:,} {name}" for name, count in report.operations.items())
    product = ""
    if report.product is not None:
        product = f"{_format_shape(report.product.shape)}, {report.product.nonzeros:,} nonzeros"
    time = f"{_describe_interval(report)} ({format_time(report.seconds)})"
    cycles = Text.assemble((f"{report.cycles:,}", "bold"), time)
    if report.teaal is not None and report.complete and not report.teaal.bounds_time:
        cycles = Text(NO_BOUND)
    sampled = ("Sampled", describe_sampling(report.sampling) if report.sampling else "")
    chosen = ("Chosen", "; ".join(report.chosen))
    iterations = ("Iterations", _describe_iterations(report))
    formats = ("Formats", ", ".join(f"{name}:{stored}" for name, stored in report.formats.items()))
    closing_lines = iterations, ("Product", product), formats, chosen
    stages = ("Stages", "; ".join(_describe_stages(report.stages)))
    return _label_lines(("Cycles", cycles), stages, sampled, ("Operations", operations), *closing_lines)


def _describe_stages(cycles: Mapping[str, int]) -> Iterator[str]:
    """Yield the cycles of each stage, summed over rounds."""
    for name, counts in list_rounds_of_stages(cycles).items():
        rounds = f" in {len(counts)} rounds" if len(counts) > 1 else ""
        yield f"{name} {sum(counts):,} cycles{rounds}"


def _describe_interval(report: Record) -> str:
    """Format the half-width and the simulated fraction of an estimate; empty for an exact run."""
    if report.cycles_interval is None or report.sampling is None:
        return ""
    sampling = report.sampling
    return f"{format_interval(report)} ({sampling.confidence:.0%}, {sampling.fraction:.2%} simulated)"


def describe_sampling(sampling: Sampling) -> str:
    """Describe the sampling of a run: its windows, and the exact, estimated and unavailable parts.

    If the sampling has a note, for example on a run too short to sample, the note is returned instead.
    """
    if sampling.note:
        return sampling.note
    windows = f"{sampling.windows} windows of about {sampling.window_cycles:,} cycles, seed {sampling.seed}"
    kinds = {"exact": sampling.exact, "estimated": sampling.estimated, "not available": sampling.unavailable}
    return "; ".join([windows, *(f"{kind}: {', '.join(names)}" for kind, names in kinds.items() if names)])


def _step_table(chain: Chain) -> RenderableType:
    """Return a table with a row for each product of a chain."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, min_width=10)
    for _ in range(4):
        table.add_column(justify="right", no_wrap=True)
    table.add_row(Text("Products", "bold"), "cycles", "multiplies", "moved", "nonzeros")
    for name, step in chain.steps.items():
        multiplies, product = step.operations.get("multiply"), step.product
        moved = sum(part.moved_bytes for part in step.traffic.values())
        counts = [step.cycles, multiplies, None if product is None else product.nonzeros]
        texts = ["" if count is None else f"{count:,}" for count in counts]
        table.add_row(Text(f"  {name}"), *texts[:2], _format_bytes(moved), texts[2])
    return table


def _describe_iterations(report: Record) -> str:
    """Describe the number of iterations, the sizes of their frontiers, and their cycles."""
    iterations = report.iterations
    if not iterations:
        return ""
    edges = sum(iteration.applied - iteration.began for iteration in iterations)
    vertices = sum(iteration.ended - iteration.applied for iteration in iterations)
    largest = max(iteration.frontier for iteration in iterations)
    return (
        f"{len(iterations):,}, of up to {largest:,} active vertices; "
        f"{edges:,} cycles with edges, {vertices:,} with vertices"
    )


def _label_lines(*rows: tuple[str, str | Text]) -> RenderableType:
    """Return labelled lines; empty texts are omitted."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True, min_width=10)
    table.add_column(overflow="fold")
    for label, text in rows:
        if text:
            table.add_row(label, Text(text) if isinstance(text, str) else text)
    return table


def _build_cycle_table(report: Record, width: int, ascii_only: bool) -> list[RenderableType]:
    kinds = list(group_families(report.components).values())
    bar_width = max(10, width - LABEL_WIDTH - 32)
    table = Table.grid(padding=(0, 1))
    table.add_column(width=LABEL_WIDTH, no_wrap=True, overflow="ellipsis")
    table.add_column(width=bar_width, no_wrap=True)
    for _ in STATES:
        table.add_column(width=6, justify="right", no_wrap=True)
    table.add_row(Text("Where cycles went", "bold"), "", "busy", "input", "output", "idle")
    for kind in kinds[:MAX_FAMILIES]:
        shares = [kind.share(getattr(kind, state[0])) for state in STATES]
        numbers = [f"{share:.0%}" for share in shares]
        table.add_row(Text(kind.label), _draw_bar(kind, bar_width, ascii_only), *numbers)
    legend = Text("  ".join(f"{state[4] if ascii_only else state[3]} {state[1]}" for state in STATES), "dim")
    more = len(kinds) - MAX_FAMILIES
    more_line = [Text(f"and {more} more kinds of components in the report", "dim")] if more > 0 else []
    return [table, *more_line, legend]


def _draw_bar(kind: Family, width: int, ascii_only: bool) -> Text:
    """Draw the states of a family as a bar of ``width`` characters; empty for a family without cycles."""
    bar = Text()
    cycles, position = 0, 0
    for state, _title, style, mark, ascii_mark in STATES:
        cycles += getattr(kind, state)
        end = round(width * kind.share(cycles))  # ends are rounded, not lengths, whose errors would add up
        bar.append((ascii_mark if ascii_only else mark) * (end - position), style)
        position = end
    return bar


def _build_traffic_table(report: Record) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, min_width=10)
    table.add_column(justify="right", min_width=12)
    table.add_column(justify="right", min_width=12)
    table.add_column(justify="right", min_width=12)
    has_useful = any(part.useful_bytes is not None for part in report.traffic.values())
    table.add_row(Text("Traffic", "bold"), "read", "written", "useful" if has_useful else "")
    for name, part in report.traffic.items():
        useful = "" if part.useful_bytes is None else _format_bytes(part.useful_bytes)
        table.add_row(
            Text(f"  {name}"), _format_bytes(part.read_bytes), _format_bytes(part.write_bytes), useful
        )
    moved_bytes = sum(part.moved_bytes for part in report.traffic.values())
    minimum = report.traffic_minimum_bytes
    total = f"  {_format_bytes(moved_bytes)} in all"
    if minimum and report.complete:
        total += f", {moved_bytes / minimum:.2f} times the algorithmic minimum of {_format_bytes(minimum)}"
    return Group(table, Text(total))


def _describe_cached(cached: Cached) -> str:
    """Describe the traffic after a functional cache, with a warning if its misses may be wrong."""
    tensors = [
        f"{name} {_format_bytes(part.moved_bytes)}"
        for name, part in cached.traffic.items()
        if part.moved_bytes
    ]
    moved = sum(part.moved_bytes for part in cached.traffic.values())
    is_full = cached.in_flight > FULL_CACHE
    warning = (
        f"; not reliable, as tasks in flight need {cached.in_flight:.0%} of the cache" if is_full else ""
    )
    return f"{_format_bytes(moved)} in all by a functional cache: {', '.join(tensors)}{warning}"


def describe_unmoved(report: Record) -> str:
    """Describe the tensors that are bound to memory but not moved, by reason."""
    names_by_reason: dict[str, list[str]] = {}
    for name, reason in report.unmoved.items():
        names_by_reason.setdefault(reason, []).append(name)
    return "; ".join(f"{', '.join(names)} ({reason})" for reason, names in names_by_reason.items())


def _format_memory_lines(memory: Memory) -> RenderableType:
    accesses = memory.row_hits + memory.row_misses + memory.row_conflicts
    rows = ""
    if accesses:
        shares = (memory.row_hits / accesses, memory.row_misses / accesses, memory.row_conflicts / accesses)
        rows = "; rows: {:.0%} hits, {:.0%} misses, {:.0%} conflicts".format(*shares)
    used, peak = memory.bytes_per_second / 2**30, memory.peak_bytes_per_second / 2**30
    text = f"{used:,.1f} of {peak:,.1f} GiB/s used ({memory.utilization:.0%}){rows}"
    note = "a busy channel holds a request, whether or not data is moving" if accesses else ""
    return _label_lines(("Memory", text), ("", note))


def _describe_conversions(report: Record) -> str:
    """Describe the conversions before the run, and the totals with and without conversions."""
    if report.chain is not None:
        return _describe_chain_conversions(report.chain, report.seconds)
    conversions = report.conversions
    if conversions is None:
        return ""
    parts = [
        f"{name} from {conversion.source} to {conversion.target} before the run, "
        f"in {conversion.cycles:,} cycles of MINT"
        for name, conversion in conversions.operands.items()
    ]
    with_conversions = (
        f"{format_time(conversions.seconds)} and {_format_bytes(conversions.traffic_bytes)} with it"
    )
    time_without = f"{format_time(conversions.seconds_without)}"
    without_conversions = f"{time_without} and {_format_bytes(conversions.traffic_bytes_without)} without"
    return f"{'; '.join(parts)}: {with_conversions}, {without_conversions}"


def _describe_chain_conversions(chain: Chain, seconds_without: float) -> str:
    """Describe the cost of a chain with conversions of its products; empty without conversions."""
    if not chain.written:
        return ""
    conversion = next(iter(chain.written.values()))
    description = f"{', '.join(chain.written)} to {conversion.target} when written, and back when used"
    with_conversions = f"{format_time(chain.seconds)} and {_format_bytes(chain.traffic_bytes)} with it"
    return f"{description}: {with_conversions}, {format_time(seconds_without)} without"


def verification_line(report: Record) -> str:
    """Describe the comparison of the answer with the reference, in a line; also of a run that has none."""
    check = report.verification
    if check.passed is None:
        return "not verified, as the run is incomplete" if not report.complete else "not verified"
    error = "not finite" if check.max_relative_error is None else f"{check.max_relative_error:.2g}"
    overflows = f"; {describe_overflows(check.overflows)}" if check.overflows else ""
    if check.zeros is not None:
        overflows += f"; values only: {check.zeros:,} zeros that only one side has do not matter"
    if check.passed:
        method = ", entry by entry" if report.fidelity == "event" and check.zeros is None else ""
        return f"equal to {check.reference}{method}; largest relative error {error}{overflows}"
    return (
        f"NOT equal to {check.reference}: largest relative error {error}, "
        f"{check.missing:,} entries missing, {check.extra:,} too many{overflows}"
    )


def _describe_host(report: Record) -> str:
    host = report.host
    rates = {"ticks/s": host.ticks_per_second, "multiplies/s": host.multiplies_per_second}
    rates_text = "".join(f", {_format_rate(rate)} {unit}" for unit, rate in rates.items() if rate is not None)
    return (
        f"{host.seconds:.2f} s{rates_text}, {_format_bytes(host.peak_memory_bytes)} of memory"
        f"{'' if host.compiled else '; engine NOT compiled, expect it to be slow'}"
    )


def _format_bytes(count: int) -> str:
    return scale_unit(count, ("B", "KiB", "MiB", "GiB", "TiB"), 1024)


def _format_rate(rate: float) -> str:
    return scale_unit(rate, ("", "k", "M", "G"), 1000)


def format_time(seconds: float) -> str:
    """Format a time with its unit and two decimals, as in 365.31 ns; whole nanoseconds have no decimals."""
    nanoseconds = round(seconds * 1e9, 2)
    if nanoseconds < 1000:
        return f"{nanoseconds:.2f}".removesuffix(".00") + " ns"
    return scale_unit(nanoseconds, ("ns", "us", "ms", "s"), 1000)
