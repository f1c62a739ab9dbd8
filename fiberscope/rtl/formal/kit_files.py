"""Files of a formal kit: a project for SymbiYosys, a script for Yosys, and a README section."""

from __future__ import annotations

from pathlib import Path

from fiberscope.results.report.files import make_folder, write_text
from fiberscope.rtl.formal.kit import ASSUMED, FormalKit
from fiberscope.rtl.formal.properties import ASSUME, CLAIM, COVER
from fiberscope.rtl.handover.readme import code, table


def write_kit(kit: FormalKit, depth: int, folder: Path) -> list[Path]:
    """Write the files of a formal kit beside the Verilog of its block; return their paths.

    The caller writes the Verilog of the block itself.

    Args:
        kit: the formal kit.
        depth: number of cycles after the reset of the bounded proof and of the search for covers, and maximum
            length of an induction.
        folder: the folder with the Verilog of the block.

    Raises:
        InputError: a file cannot be written.
    """
    texts = {name: text for name, text in kit.sources().items() if name != f"{kit.module}.v"}
    # Two projects for the same properties: SymbiYosys reads ``assume`` and ``assert``, ``sat`` only wires.
    texts[f"{kit.top}.sby"] = _format_sby(kit, depth)
    texts[f"{kit.top}.ys"] = _format_yosys_script(kit, depth)
    make_folder(folder)
    for name, text in texts.items():
        write_text(folder / name, text)
    return [folder / name for name in texts]


def _format_sby(kit: FormalKit, depth: int) -> str:
    """Return the project file for SymbiYosys: an induction, a bounded proof, and a search for covers.

    SymbiYosys counts the cycle of the reset too, hence ``depth + 1``.
    """
    preparation = "\n".join(kit.preparation("read_verilog -formal -sv"))
    files = "\n".join(kit.sources())
    return f"""\
# SymbiYosys: sby -f {kit.top}.sby. The solver is z3; smtbmc alone takes yices.
[tasks]
prove
bounded
cover

[options]
prove: mode prove
bounded: mode bmc
cover: mode cover
depth {depth + 1}

[engines]
smtbmc z3

[script]
{preparation}

[files]
{files}
"""


def _format_yosys_script(kit: FormalKit, depth: int) -> str:
    """Return the script for Yosys alone: an induction over all claims together, and a query for each cover.

    ``sat`` has no covers. The script therefore asks for a proof that a cover stays low. If the cover is
    reached, the proof fails and shows the run.
    """
    # The cycle of the reset comes before the ``depth`` cycles, hence ``depth + 1``.
    claims = " ".join(f"-prove {CLAIM}_{name} 1 -show {CLAIM}_{name}" for name in kit.names(CLAIM))
    covers = "\n".join(
        f"sat -tempinduct -tempinduct-baseonly -maxsteps {depth + 1} -set {ASSUMED} 1 "
        f"-prove {COVER}_{name} 0 -show {COVER}_{name} {kit.top} # FAIL: the cover is reached"
        for name in kit.names(COVER)
    )
    preparation = "\n".join(kit.preparation())
    return f"""\
# Yosys: yosys {kit.top}.ys
{preparation}
sat -tempinduct -maxsteps {depth + 1} -set {ASSUMED} 1 {claims} {kit.top}
{covers}
"""


def describe_kit(kit: FormalKit, depth: int) -> dict[str, str]:
    """Return the text of a README's section about the kit, by its heading.

    Args:
        kit: the formal kit.
        depth: cycles of the bounded proof in the project for SymbiYosys.
    """
    files = table(
        ("file", "content"),
        (
            (f"`{kit.module}_claims.v`", "the monitor: one output for each property"),
            (f"`{kit.top}.sv`", "block and monitor, with `assume`, `assert` and `cover`"),
            (f"`{kit.top}.sby`", f"SymbiYosys, solver z3: `prove`, `bounded` ({depth} cycles), `cover`"),
            (f"`{kit.top}.ys`", "the same for Yosys alone"),
        ),
    )
    runs = code(f"fiberscope rtl prove {kit.module}\nsby -f {kit.top}.sby\nyosys {kit.top}.ys")
    lists = "\n\n".join(
        f"{title}:\n\n" + "\n".join(f"- `{kind}_{name}`" for name in kit.names(kind))
        for title, kind in (("Assumptions", ASSUME), ("Claims", CLAIM), ("Covers", COVER))
    )
    text = f"""\
The module `{kit.top}` instantiates `{kit.module}` and a monitor, and states properties of the block's ports.
The solver chooses all inputs in every cycle, the reset too. In the first cycle the reset is 1.

{files}

Run one of these:

{runs}

`fiberscope rtl prove` uses small parameters unless you set others with `--set`. Your own module with the same
ports and registers can take the place of `{kit.module}.v`. A claim `..._stays` says that a token remains
valid until it is taken; it is vacuous for outputs that are valid only in the cycle of the transfer. The
monitor reads registers of the block through wires `inner_...`. The scripts of Yosys connect these wires
after `flatten`; other tools use the path of a register, `dut.NAME`.

{lists}
"""
    return {"Formal properties": text}
