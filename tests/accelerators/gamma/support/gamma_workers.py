"""The scheduler between a memory and workers in the place of the processing elements."""

import numpy as np
from gamma_bench import csr, stored

from fiberscope.accelerators.gamma.layout import COMPLETION, Sizes
from fiberscope.accelerators.gamma.occupancy import PartialOccupancy
from fiberscope.accelerators.gamma.scheduler import Scheduler
from fiberscope.accelerators.gamma.tasks import TaskTable
from fiberscope.hw.fibers.partials import PartialStore
from fiberscope.hw.fibers.tasks import END_OF_WORK, TASK
from fiberscope.hw.memory.protocol import READ, REPLY, REQUEST
from fiberscope.sim import Component, Input, Kernel, Output

SIZES = Sizes(64, 12, 4)
PLENTY = 1000


class Memory(Component):
    """Takes requests from a cycle on; answers the first reads in the next cycle, others some cycles later."""

    PORTS = (Input("requests", REQUEST), Output("replies", REPLY))

    def __init__(self, opens, answer, late_from):
        super().__init__("memory")
        self.opens, self.answer, self.late_from = opens, answer, late_from
        self.reads = 0
        self.due = []  # cycle and tag of each answer to come

    def elaborate(self):
        self.requests, self.replies = self.channel("requests"), self.channel("replies")

    def tick(self, now):
        if now < self.opens:
            return self.busy(self.opens)
        if self.requests.can_pop():
            if self.requests.control() == READ:
                after = self.answer if self.reads >= self.late_from else 1
                self.due.append((now + after, self.requests.coordinate()))
                self.reads += 1
            self.requests.pop()
        if self.due and self.due[0][0] <= now and self.replies.can_push():
            self.replies.push(READ, self.due.pop(0)[1], 0, 0.0)
        return self.busy(now + 1) if self.due else self.idle()


class Worker(Component):
    """A processing element: takes some cycles for a task, and keeps its place in the queue for some more."""

    PORTS = (Input("tasks", TASK), Output("completions", COMPLETION))

    def __init__(self, name, work, lingers):
        super().__init__(name)
        self.work, self.lingers = work, lingers
        self.done = self.gone = 0  # cycles, of the task at hand
        self.completed = []  # tasks, in order

    def elaborate(self):
        self.tasks, self.completions = self.channel("tasks"), self.channel("completions")

    def tick(self, now):
        if not self.tasks.can_pop():
            return self.idle()
        if self.gone == 0:
            self.done, self.gone = now + self.work, now + self.work + self.lingers
        if now == self.done and self.tasks.reference() != END_OF_WORK:
            self.completions.push(0, 0, self.tasks.reference(), 0.0)
            self.completed.append(self.tasks.reference())
        if now == self.gone:
            self.tasks.pop()
            self.gone = 0
            return self.busy(now + 1)
        return self.busy(self.done if now < self.done else self.gone)


def scheduled(
    lengths,
    *,
    work=(10,),
    lingers=0,
    opens=0,
    answer=1,
    late_from=0,
    queue=1,
    most_tasks=PLENTY,
    most_partial_tasks=PLENTY,
    room=PLENTY,
):
    """A kernel with the scheduler, for rows of A of so many nonzeros at radix 3, and the workers.

    ``work`` is the cycles that each of them takes for a task, ``queue`` the tasks on their way to one.
    """
    matrix = csr([dict.fromkeys(range(length), 1.0) for length in lengths], max(lengths))
    table, a = TaskTable(matrix.indptr.astype(np.int64), 3), stored(matrix)
    b = stored(csr([dict.fromkeys(range(10), 1.0)] * matrix.shape[1], 100))  # a fiber of three: 6 lines
    scheduler = Scheduler(
        "scheduler",
        table,
        a,
        PartialStore(64, 12),
        PartialOccupancy(table, a, b, 100, room, SIZES),
        0,
        stream_lines=64,
        most_tasks=most_tasks,
        most_partial_tasks=most_partial_tasks,
        sizes=SIZES,
        a_sizes=SIZES,
    )
    kernel = Kernel()
    kernel.clock("core", 10**9)
    kernel.add(scheduler)
    memory = kernel.add(Memory(opens, answer, late_from))
    kernel.connect(scheduler, "memory_requests", memory, "requests", capacity=2)
    kernel.connect(memory, "replies", scheduler, "memory_replies", capacity=4)
    workers = [kernel.add(Worker(f"worker{number}", cycles, lingers)) for number, cycles in enumerate(work)]
    for number, worker in enumerate(workers):
        kernel.connect(scheduler, f"tasks[{number}]", worker, "tasks", capacity=queue)
        kernel.connect(worker, "completions", scheduler, f"completions[{number}]", capacity=2)
    return kernel, workers
