"""A machine for another kind of problem: it walks a graph from a root, in two fidelities."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from fiberscope.accelerators.configuration import Configuration, Hertz
from fiberscope.accelerators.machine import Accelerator, Traffic
from fiberscope.sim import Component, Input, Kernel, Output, Protocol
from fiberscope.workloads import Problem, ProblemParameters, WorkloadError
from fiberscope.workloads.canonical import CsrArray
from fiberscope.workloads.verification import Comparison

UNREACHED = -1


def levels(graph: CsrArray, root: int) -> list[int]:
    """Return the distance of each vertex from the root in edges, by plain search."""
    found = [UNREACHED] * graph.shape[0]
    found[root] = 0
    frontier = deque([root])
    while frontier:
        vertex = frontier.popleft()
        for other in graph.indices[graph.indptr[vertex] : graph.indptr[vertex + 1]]:
            if found[other] == UNREACHED:
                found[other] = found[vertex] + 1
                frontier.append(int(other))
    return found


class SearchParameters(ProblemParameters):
    root: Annotated[int, Field(ge=0)]


class Search(Problem):
    kind = "bfs"
    answer = "list of levels"
    reference = "a plain search"
    tensors = ("G",)
    Parameters = SearchParameters

    @property
    def title(self) -> str:
        return f"breadth-first search from {self.parameters.root}"

    def check_operands(self) -> None:
        rows = self.operands["G"].shape[0]
        if self.parameters.root >= rows:
            raise WorkloadError(f"problem.root is {self.parameters.root}, and there are {rows} vertices")

    def machine_inputs(self) -> tuple[CsrArray, int]:
        return self.operands["G"].matrix, self.parameters.root

    def check(self, answer: list[int]) -> Comparison:
        wrong = sum(one != other for one, other in zip(answer, levels(*self.machine_inputs()), strict=True))
        return Comparison(0.0, wrong, 0)

    def outline(self, answer: list[int]) -> None:
        return None


class WalkerConfiguration(Configuration):
    clock: Hertz
    pause: Annotated[int, Field(ge=1)]
    fault: Literal["none", "wrong"]


VERTEX = Protocol("vertex", coordinate="vertex")


class Edges(Component):
    """A component that visits edges in breadth-first order and sends the reached vertices."""

    PORTS = (Output("out", VERTEX),)

    def __init__(self, name: str, graph: CsrArray, root: int, pause: int) -> None:
        super().__init__(name)
        self.graph, self.pause, self.edges = graph, pause, 0
        self.levels = [UNREACHED] * graph.shape[0]
        self.levels[root] = 0
        self.waiting = [(root, int(other)) for other in self.after(root)]

    def after(self, vertex: int) -> np.ndarray:
        return self.graph.indices[self.graph.indptr[vertex] : self.graph.indptr[vertex + 1]]

    def elaborate(self) -> None:
        self.out = self.channel("out")

    def tick(self, now: int) -> int:
        if not self.waiting:
            return self.idle()
        if not self.out.can_push():
            return self.wait_output(self.out)
        source, vertex = self.waiting.pop(0)
        self.edges += 1
        if self.levels[vertex] == UNREACHED:
            self.levels[vertex] = self.levels[source] + 1
            self.waiting += [(vertex, int(other)) for other in self.after(vertex)]
        self.out.push(0, vertex, 0, 0.0)
        return self.busy(now + self.pause)

    def counters(self) -> dict[str, int]:
        return {"edges": self.edges}


class Sink(Component):
    PORTS = (Input("in", VERTEX),)

    def elaborate(self) -> None:
        self.input = self.channel("in")

    def tick(self, now: int) -> int:
        if not self.input.can_pop():
            return self.idle()
        self.input.pop()
        return self.busy(now + 1)


class Walker:
    work = "visit"

    def __init__(self, parameters: WalkerConfiguration, graph: CsrArray, root: int) -> None:
        self.parameters, self.graph = parameters, graph
        self.kernel = Kernel()
        self.kernel.clock("core", parameters.clock)
        self.edges = self.kernel.add(Edges("walker.edges", graph, root, parameters.pause))
        self.kernel.connect(self.edges, "out", self.kernel.add(Sink("walker.sink")), "in", capacity=2)

    def result(self) -> list[int]:
        found = list(self.edges.levels)
        if self.parameters.fault == "wrong":
            found[-1] += 1
        return found

    def operations(self) -> dict[str, int]:
        return {"visit": self.edges.edges}

    def traffic(self) -> dict[str, Traffic]:
        return {}

    def traffic_minimum_bytes(self) -> int:
        return 0

    def memory(self) -> None:
        return None

    def progress(self) -> tuple[int, int]:
        return self.edges.edges, self.graph.nnz


class Arithmetic:
    """An estimate of the length of a walk, as if every edge were reached."""

    def __init__(self, parameters: WalkerConfiguration, graph: CsrArray, root: int) -> None:
        self.parameters = parameters
        self.cycles = parameters.pause * graph.nnz
        self.seconds = self.cycles / parameters.clock

    def result(self) -> None:
        return None

    def operations(self) -> dict[str, int]:
        return {"visit": self.cycles // self.parameters.pause}

    def traffic(self) -> dict[str, Traffic]:
        return {"G": Traffic(4 * self.cycles, 0)}

    def traffic_minimum_bytes(self) -> int:
        return 0

    def memory(self) -> None:
        return None


ACCELERATOR = Accelerator(
    name="walker",
    summary="searches a graph, for the tests of problems that are no product",
    configuration=WalkerConfiguration,
    folder=Path(__file__).parent,
    models={"event": Walker, "analytical": Arithmetic},
    workers="edges",
    solves=(Search,),
)
