"""``fiberscope rtl export MACHINE``: a machine without its memory as one Verilog module."""

from __future__ import annotations

from pathlib import Path

from fiberscope.base.operand_arguments import select_a_and_b

SIZE = 16  # rows and columns of the random matrix
SEED = 1
DENSITY = 0.3  # its expected share of nonzeros


def export_machine(
    accelerator: str,
    tensors: list[str] | None,
    settings: list[str] | None,
    folder: Path,
    *,
    period: float | None,
) -> int:
    """Write the module and print the written files; return the exit code, 0.

    Args:
        accelerator: name of the machine.
        tensors: operands A and B; a small random matrix if there are none.
        settings: parameters of the machine, ``key=value``.
        folder: folder of the files.
        period: clock period in ns; None for the period of the machine.

    Raises:
        InputError: an argument is invalid, the extra ``rtl`` is missing, or a file cannot be written.
    """
    from fiberscope.results.report.files import make_folder
    from fiberscope.rtl.cosim_request import CosimRequest
    from fiberscope.rtl.machine_module import export
    from fiberscope.rtl.select_block import rtl_blocks
    from fiberscope.rtl.substitution import MACHINE

    rtl_blocks()  # raises an error without the extra, before anything is written
    make_folder(folder)
    operands = select_a_and_b(tensors or [_write_random_matrix(folder)])
    request = CosimRequest((MACHINE,), accelerator, *operands, settings=tuple(settings or ()))
    for path in export(request, folder, period):
        print(f"Written: {path}")
    return 0


def _write_random_matrix(folder: Path) -> str:
    """Write a small random matrix with integers of magnitude 1 to 8 to ``A.mtx``; return its path."""
    import numpy as np
    import scipy.io
    from scipy import sparse

    generator = np.random.default_rng(SEED)
    pattern = generator.random((SIZE, SIZE)) < DENSITY
    values = generator.integers(1, 9, pattern.shape) * generator.choice([-1.0, 1.0], pattern.shape)
    scipy.io.mmwrite(folder / "A.mtx", sparse.coo_array(pattern * values))
    print(f"Written: {folder / 'A.mtx'}")
    return str(folder / "A.mtx")
