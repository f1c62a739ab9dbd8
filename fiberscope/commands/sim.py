"""``fiberscope sim``: one run, its progress, its report and its summary."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated

import typer

from fiberscope.base.errors import InputError
from fiberscope.commands.option_groups import expand_groups
from fiberscope.commands.options import Accelerator, Operands
from fiberscope.commands.run_options import SimulationOptions
from fiberscope.commands.sample_options import SampleOptions
from fiberscope.results.report.files import list_operand_files

_Chain = Annotated[
    str | None,
    typer.Option(metavar="PRODUCTS", help="Compute these products one after another: 'Y = A X; Z = Y W'."),
]
_Window = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Simulate this window of --sample with its neighbours, without an estimate."
    ),
]
_ValuesOnly = Annotated[
    bool, typer.Option("--values-only", help="Compare values only: entries that are 0 may be absent.")
]


@expand_groups()
def sim(
    accelerator: Accelerator,
    operands: Operands,
    options: SimulationOptions,
    sampled: SampleOptions,
    chain: _Chain = None,
    window: _Window = None,
    values_only: _ValuesOnly = False,
) -> int:
    """Simulate an accelerator cycle by cycle, and verify the result.

    Computes A times A, A times B, an algorithm on a graph, or a specification on its tensors. With --chain,
    computes several products one after another, of operands by name.

    \b
    Examples:
      fiberscope sim gamma wiki-Vote --set pe.count=64 --set fibercache.size=1536KiB
      fiberscope sim gamma a.mtx b.mtx --json out.json
      fiberscope sim gamma uniform:rows=1000,cols=1000,nonzeros=5000
      fiberscope sim gamma wiki-Vote --vcd out.vcd --vcd-window 1000:5000
      fiberscope sim gamma wiki-Vote --vcd out.fst --vcd-trigger 'pe00 busy > 99'
      fiberscope sim gamma large.mtx --sample
      fiberscope sim gamma large.mtx --sample 1% --seed 2
      fiberscope sim gamma large.mtx --sample --window 7 --vcd out.vcd
      fiberscope sim spec:gamma A=a.mtx B=b.mtx
      fiberscope sim gamma --chain "Y = A X; Z = Y W" A=a.mtx X=b.mtx W=b.mtx --product z.npz
    """
    from fiberscope.base.operand_arguments import check_factors, split_operands
    from fiberscope.run.find_machine import find_specification
    from fiberscope.run.request import SimulationRequest

    factors, tensors = split_operands(options.take_symbols(find_specification(accelerator), operands))
    check_factors(factors)  # before zip, which would drop further operands without an error
    input_files = list_operand_files({**dict(zip("AB", factors, strict=False)), **tensors})
    sample = sampled.request(sampled.seed)  # the seed is an argument, as some commands have their own --seed
    if window is not None:
        if sample is None:
            raise InputError("--window needs --sample, because it selects a window of the sample")
        # A single window and its neighbours are a complete run of these rows: it has a result, energies and a
        # state to show, so that the options below are allowed. They then concern the neighbours too.
        sample = replace(sample, window=window)
    elif sample is not None:
        full_run_options = {"--product": options.product, "--energy": options.energy, "--live": options.live}
        for name, value in full_run_options.items():
            if value:
                raise InputError(f"{name} needs a whole run, but --sample runs windows; leave one out")
    # A partial, since ``simulate`` checks the outputs before it builds the request
    make_request = partial(SimulationRequest, accelerator, factors, tensors, chain=chain)
    return options.finish(options.simulate(make_request, input_files, sample=sample, values_only=values_only))
