"""The descriptor of MINT, by which commands run, report and draw conversions like other machines."""

from pathlib import Path

from fiberscope.accelerators.machine import EVENT, Accelerator
from fiberscope.converters.configuration import MintParameters
from fiberscope.converters.machine import Mint
from fiberscope.converters.problem import Conversion

MINT = Accelerator(
    name=Mint.NAME,
    summary="converts between formats, by recipes of shared blocks (IPDPS 2021)",
    configuration=MintParameters,
    folder=Path(__file__).parent,
    models={EVENT: Mint},
    workers="write",
    channels="memory.channel",
    parts=Mint.PARTS,
    solves=(Conversion,),
    explained=Mint.explained,
)
