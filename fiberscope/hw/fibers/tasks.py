# cython: infer_types=True
"""Tasks that combine fibers, as the parts that fetch the fibers know them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fiberscope.hw.fibers.arrays import integers_of
from fiberscope.sim.protocol import Protocol

__all__ = ["END_OF_WORK", "TASK", "TaskInputs"]

TASK = Protocol("task", reference="task")  # END_OF_WORK behind the last one
END_OF_WORK = -1


class TaskInputs:
    """Which fibers each task combines, and where they lie; a machine's table of tasks is one, and more.

    A task's inputs are ``inputs[first_inputs[t] : first_inputs[t + 1]]``: a number p >= 0 is a fiber of the
    operand, scaled by scale p; a number below 0 the partial fiber written by task -1 - p. ``starts`` and
    ``ends`` say which elements of the operand, or of the store of partial fibers, an input is; who finds
    that out fills them in.

    Args:
        rows: by task, the row of the product that it adds to.
        first_inputs: one more than there are tasks.
        inputs: of all tasks.
        radix: fibers that a task may combine.
    """

    def __init__(
        self, rows: npt.ArrayLike, first_inputs: npt.ArrayLike, inputs: npt.ArrayLike, radix: int
    ) -> None:
        self.radix = radix
        self.rows = integers_of(rows)  # C: public long[::1]
        self.count = len(self.rows)
        self.first_inputs = integers_of(first_inputs)  # C: public long[::1]
        self.inputs = integers_of(inputs)  # C: public long[::1]
        self.starts = integers_of(np.zeros(len(self.inputs), np.int64))  # C: public long[::1]
        self.ends = integers_of(np.zeros(len(self.inputs), np.int64))  # C: public long[::1]
