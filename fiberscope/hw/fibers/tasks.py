# cython: infer_types=True
"""The input fibers of tasks, for the components that fetch the fibers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fiberscope.hw.fibers.arrays import integers_of
from fiberscope.sim.protocol import Protocol

__all__ = ["END_OF_WORK", "TASK", "TaskInputs"]

TASK = Protocol("task", reference="task")  # END_OF_WORK follows the last task
END_OF_WORK = -1


class TaskInputs:
    """The fibers that each task combines, and their places; base class of the task tables of machines.

    The inputs of task t are ``inputs[first_inputs[t] : first_inputs[t + 1]]``. An input p >= 0 is a fiber of
    the operand, scaled by scale p. An input p < 0 is the partial fiber that task -1 - p writes. Input i
    consists of the elements ``starts[i]`` to ``ends[i]`` - 1 of the operand, or of the store of partial
    fibers. Both arrays are 0 at first; the component that locates an input fills them in. Until then, the
    input counts as an empty fiber.

    Args:
        rows: for each task, the row of the product to which it contributes.
        first_inputs: for each task, the index of its first input; then the number of inputs.
        inputs: inputs of all tasks.
        radix: greatest number of fibers that a task combines.
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
