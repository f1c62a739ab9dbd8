"""Six blocks and a small Gamma on an ECP5 FPGA: LUTs, flip-flops, block RAMs, multipliers and clock.

Each is exported by ``fiberscope rtl export`` into a folder of out/ecp5, and run there by Yosys and nextpnr.

Usage: python published/ecp5.py [NAME ... | FOLDER ...]
"""

import resource
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from fiberscope.base.errors import BAD_INPUT, InputError
from fiberscope.hw.rtl.tools.simulator import HdlError
from fiberscope.rtl.ecp5 import run_ecp5

OUT = Path("out") / "ecp5"
PERIOD = 5.0  # ns, the goal of placement and routing
DESIGNS = {
    "merger": "merger --set radix=8",
    "two_finger": "two_finger",
    "scanner": "compressed_scanner --set fibers=1024 --set elements=8192 --set memory=registered",
    "divider": "divider",
    "adder_network": "adder_network",
    "bank": "bank --set banks=4 --set ways=4 --set misses=4 --set targets=16",
    "gamma": "gamma --set pe.count=2 --set pe.radix=2 --set fibercache.banks=2 --set fibercache.size=2KiB "
    "--set memory.channels=1 --set format.element=8 --set format.value=4 --set format.dense=none "
    "--set value=integer",
}


def main() -> None:
    """Print the table of docs/ecp5.md, a line a design."""
    print("| design | LUT | flip-flops | block RAM | multipliers | MHz | s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in sys.argv[1:] or DESIGNS:
        print(f"| {name} | {' | '.join(measure(name))} |", flush=True)


def measure(name: str) -> Iterator[str]:
    """Yield the cells of a row, of a design or of an exported folder.

    A design is exported first. The last cell is the user time of Yosys and nextpnr in seconds.

    Raises:
        InputError: the name is neither of them, or the folder is not an exported one.
        HdlError: a tool is missing, or fails.
        CalledProcessError: the export fails.
    """
    folder = Path(name)
    if name not in DESIGNS and not folder.is_dir():
        raise InputError(f"{name}: neither a folder nor a design; designs: {', '.join(DESIGNS)}")
    if name in DESIGNS:
        folder = OUT / name
        program = str(Path(sys.executable).with_name("fiberscope"))
        options = ["--clock-ns", str(PERIOD), "-o", str(folder)]
        command = [program, "rtl", "export", *shlex.split(DESIGNS[name]), *options]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    began = _user_time()
    result = run_ecp5(folder)
    for number in (result.luts, result.flip_flops, result.block_rams, result.multipliers):
        yield f"{number:,}"
    yield "too large" if result.megahertz is None else f"{result.megahertz:.1f}"
    yield f"{_user_time() - began:,.0f}"


def _user_time() -> float:
    """Return the user time of all programs that have ended, in seconds."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


if __name__ == "__main__":
    try:
        main()
    except (InputError, HdlError) as error:
        print(f"{Path(__file__).name}: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
