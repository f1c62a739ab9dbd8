"""``fiberscope rtl export MACHINE``: all of a machine but its memory as one module of Verilog."""

from __future__ import annotations

from pathlib import Path

from fiberscope.base.operand_arguments import a_and_b

__all__ = ["export_machine"]

SIZE = 16  # rows and columns of a matrix that is drawn
SEED = 1


def export_machine(
    accelerator: str,
    tensors: list[str] | None,
    settings: list[str] | None,
    folder: Path,
    *,
    period: float | None,
) -> int:
    """Write the module, and say what was written; gives the exit code.

    Raises:
        InputError: for what the user can put right.
    """
    from fiberscope.results.report.files import make_folder
    from fiberscope.rtl.cosim_request import CosimRequest
    from fiberscope.rtl.machine_module import export
    from fiberscope.rtl.select_block import rtl_blocks
    from fiberscope.rtl.substitution import MACHINE

    rtl_blocks()
    make_folder(folder)
    operands = a_and_b(tensors or [_drawn(folder)])
    order = CosimRequest((MACHINE,), accelerator, *operands, settings=tuple(settings or ()))
    for path in export(order, folder, period):
        print(f"Written: {path}")
    return 0


def _drawn(folder: Path) -> str:
    """A small matrix of whole numbers of both signs, as a file."""
    import numpy as np
    import scipy.io
    from scipy import sparse

    generator = np.random.default_rng(SEED)
    there = generator.random((SIZE, SIZE)) < 0.3
    values = generator.integers(1, 9, there.shape) * generator.choice([-1.0, 1.0], there.shape)
    scipy.io.mmwrite(folder / "A.mtx", sparse.coo_array(there * values))
    print(f"Written: {folder / 'A.mtx'}")
    return str(folder / "A.mtx")
