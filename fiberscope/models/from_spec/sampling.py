"""Sampled runs of machines from specifications: products of two matrices whose tasks are rows of A."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fiberscope.accelerators.machine import Machine
from fiberscope.accelerators.row_sampling import RowSampler, RowTasks
from fiberscope.accelerators.row_work import Work
from fiberscope.accelerators.sampling import Sample
from fiberscope.hw.fibers.arrays import integers_of
from fiberscope.hw.memory.functional_cache import FunctionalCache
from fiberscope.hw.streams.kept import NO_LINE
from fiberscope.models.from_spec.arrays import StoredArray
from fiberscope.models.from_spec.cascade import Cascade
from fiberscope.models.from_spec.chains import Chain
from fiberscope.models.from_spec.machine import MappedMachine
from fiberscope.models.from_spec.stage_graph import strip_primes
from fiberscope.models.from_spec.stages import refuse
from fiberscope.workloads import from_scipy
from fiberscope.workloads.canonical import CsrArray, Integers
from fiberscope.workloads.verification import Comparison

REFERENCE = "an evaluation of each Einsum, in the rows that were simulated"
A, B = "A", "B"  # names of operands that are given in order
MATRIX_RANKS = 2  # ranks of a B without pieces: its rows, and the elements of a row
MAX_ELEMENTS = 1 << 18  # largest number of elements of A whose lines are listed together, to limit memory


def build_sampler(
    build: Callable[..., MappedMachine],
    parameters: Any,  # noqa: ANN401  (a class of its own for each specification)
    problem: Cascade,
    request: Sample,
    tell: Callable[[str, int, int], None],
) -> RowSampler:
    """Return the sampler of a machine from a specification.

    Args:
        build: returns the machine of some parameters and a problem, as an entry of ``Accelerator.models``.
        parameters: parameters of the machine.
        problem: the product, with A and B in order.
        request, tell: the arguments of ``RowSampler``.

    Raises:
        ConfigurationError: the tasks are not rows of A, so that no part of A stands for a part of the run;
            the machine runs several stages; or a shared store of B has several copies. A sampled run raises
            this error too if its machine has other units than the whole machine.
    """
    tell("functional pass", 0, 0)
    machine = build(parameters, problem)
    _check_row_tasks(machine, problem)
    operands: list[Any] = list(problem.operands.values())
    a, b = operands[0].matrix, operands[-1].matrix
    problems: dict[int, Cascade] = {}  # by ``id`` of the machine, which is alive while its result is checked
    specification, units = machine.specification, _count_units(machine)

    def build_sampled(rows: CsrArray) -> Machine:
        operand = from_scipy(rows, "rows of A")
        sampled_problem = type(problem)([operand, operands[-1]], problem.parameters.model_dump())
        sampled = build(parameters, sampled_problem)
        problems[id(sampled)] = sampled_problem
        if _count_units(sampled) != units:
            raise refuse(specification, "a sampled run needs units that do not depend on A's rows")
        return sampled

    def check(_rows: CsrArray, sampled: Machine) -> Comparison:
        answer: Any = sampled.result()
        return problems[id(sampled)].check(answer)

    work = Work(a, b)
    operation, kinds = _measure_row_work(machine, work, a, b)
    tasks = RowTasks(
        a, work, build_sampled, check, REFERENCE, operation, kinds, lambda sampled: _WarmStores(sampled, a)
    )
    return RowSampler(tasks, machine, request, tell)


def _check_row_tasks(machine: MappedMachine, problem: Cascade) -> None:
    """Check that the tasks of a machine are rows of A, and that each shared store of B has a single copy.

    Raises:
        ConfigurationError: one of these conditions does not hold; the message names it.
    """
    specification, graph = machine.specification, machine.stages[0].graph
    plan, outer = graph.plan, machine.stages[0].stage.outer
    condition = "a sampled run needs tasks that are rows of A"
    if not problem.in_order:
        raise refuse(specification, f"{condition}, with A and B in order; give them without names")
    if len(machine.stages) > 1:
        raise refuse(
            specification, f"{condition}, and this machine runs {len(machine.stages)} stages in turn"
        )
    if not outer:
        raise refuse(specification, f"{condition}, and no loop is in space")
    rank = plan.base(outer[0])
    if rank not in plan.equation.output.ranks:
        raise refuse(specification, f"{condition}, and the outermost loop {outer[0]} is summed over")
    if rank not in map(plan.base, graph.orders[A]):
        raise refuse(specification, f"{condition}, and the outermost loop {outer[0]} is not of A")
    # loops over the rank and its pieces must be the outermost: then the tasks take the rows in order
    of_rank = [plan.base(loop) == rank for loop in plan.loops]
    if sorted(of_rank, reverse=True) != of_rank:
        raise refuse(specification, f"{condition}, and other loops are between those of {rank}")
    if machine.parameters.timing.dispatch == "coordinate":
        raise refuse(specification, f"{condition}, and timing.dispatch other than coordinate")
    if len(graph.orders[B]) != MATRIX_RANKS or plan.base(graph.orders[B][0]) in plan.equation.output.ranks:
        raise refuse(specification, f"{condition}, and B row by row, not by {', '.join(graph.orders[B])}")
    for _tensor, _level, _array, chain in _iterate_shared_arrays(machine):
        if chain.copies > 1:
            raise refuse(specification, f"a sampled run needs one copy of {chain.shared}, not {chain.copies}")


def _count_units(machine: MappedMachine) -> tuple[int, list[int]]:
    """Return the number of instances, and the inputs of a merger if there is one."""
    stage = machine.stages[0]
    nodes = stage.graph.graph.nodes.values()
    return len(stage.leaves), [int(node["radix"]) for node in nodes if node.type == "swap"]


def _measure_row_work(
    machine: MappedMachine, work: Work, a: CsrArray, b: CsrArray
) -> tuple[str, list[Integers]]:
    """Return the operation that shows the progress of a run, and the work of each row of A by kind.

    A merger merges all elements of a row once in each round, but not a row with a single fiber. If rows are
    tasks as a whole, and partial fibers keep all elements, merged elements show the progress.
    """
    stage, radixes = machine.stages[0], _count_units(machine)[1]
    kinds = [work.products, work.outputs, work.nonzeros]
    if not radixes or stage.stage.reduces or len(stage.graph.orders[A]) != MATRIX_RANKS:
        return "multiply", kinds
    # prefix sums over the elements of A: the fibers of a row of A are the nonempty rows of B that it names
    nonempty_sums = np.concatenate([[0], np.cumsum((np.diff(b.indptr) > 0)[a.indices])])
    fibers, rounds = np.diff(nonempty_sums[a.indptr]), np.zeros(a.shape[0], np.int64)
    # a round merges groups of ``radix`` fibers, until a single fiber is left
    while (fibers > 1).any():
        rounds += fibers > 1
        fibers = -(-fibers // radixes[0])
    return "merge", [rounds * work.products, *kinds]


def _iterate_shared_arrays(machine: MappedMachine) -> Iterator[tuple[str, int, StoredArray, Chain]]:
    """Yield the arrays of B that a shared store holds: name of the tensor, level, array and path."""
    memory, orders = machine.stages[0].memory, machine.stages[0].graph.orders
    for (tensor, level, kind), array in memory.arrays.items():
        chain = memory.chains[tensor, orders[tensor][level], kind]
        if chain.shared and strip_primes(tensor) == B:
            yield tensor, level, array, chain


class _WarmStores:
    """The shared stores of a machine, each with a functional model that reads the rows of B.

    For each element of A, a model reads the lines of the row of B that the element names, array by array. The
    order of reads is that of a machine with one instance; rows of A that run at once are not interleaved.

    Args:
        machine: machine that multiplies some rows of A.
        a: all rows of A.
    """

    def __init__(self, machine: MappedMachine, a: CsrArray) -> None:
        self.a, self.row = a, 0
        # by name of the store: its banks, their model, and for each array the lines of the rows of B
        self.stores: dict[str, tuple[list[Any], FunctionalCache, list[tuple[Integers, Integers]]]] = {}
        for tensor, level, array, chain in _iterate_shared_arrays(machine):
            prefix = f"{machine.NAME}.{chain.shared.lower()}.bank"
            components = machine.kernel.components
            banks: list[Any] = [bank for bank in components if bank.name.startswith(prefix)]
            store = self.stores.setdefault(chain.shared, (banks, FunctionalCache(banks[0].specification), []))
            rows = machine.stages[0].graph.tensors[tensor].levels[0]
            positions: Integers = np.full(a.shape[1], -1)
            positions[rows.coordinates] = np.arange(rows.children)
            store[2].append(_find_row_lines(array, level, positions))

    @property
    def missed_bytes(self) -> int:
        """Return the bytes that the models have fetched from memory."""
        return sum(
            cache.read_misses * int(banks[0].specification.line_bytes)
            for banks, cache, _ in self.stores.values()
        )

    def advance(self, row: int) -> None:
        """Read the rows of B for the rows of A from the last call's ``row`` up to ``row``; rows ascend."""
        bounds = self.a.indptr[[self.row, row]].tolist()
        self.row = row
        for _, cache, arrays in self.stores.values():
            for start in range(bounds[0], bounds[1], MAX_ELEMENTS):
                columns = self.a.indices[start : min(start + MAX_ELEMENTS, bounds[1])]
                # one row an element and one column an array, so that the arrays of an element are consecutive
                firsts, counts = (
                    np.stack([ranges[i][columns] for ranges in arrays], axis=1).ravel() for i in range(2)
                )
                # concatenate the ranges of lines: counts[i] lines from firsts[i] on
                ends = np.cumsum(counts)
                lines = np.repeat(firsts - ends + counts, counts) + np.arange(counts.sum())
                cache.read_all(integers_of(lines))

    def warm(self) -> None:
        """Set the stores of the machine to the contents of the models, before the machine runs."""
        for banks, cache, _ in self.stores.values():
            state = cache.state()
            for bank, lines, reuse in zip(banks, state.lines, state.reuse, strict=True):
                bank.preload(lines.ravel(), reuse.ravel())


def _find_row_lines(array: StoredArray, level: int, positions: Integers) -> tuple[Integers, Integers]:
    """Return the first line and the number of lines of each row of B in an array.

    Args:
        array: array of the entries of a level of B.
        level: 0 for an entry of each row, 1 for the entries of the elements of a row.
        positions: for each row its position in the level of rows; -1 if the level lacks the row.
    """
    rows, base = array.rows.rows, array.base // array.rows.line_bytes
    if level == 0:
        firsts, counts = array.lines, (array.lines != NO_LINE).astype(np.int64)
    else:
        # the elements of a row of B may begin and end within a line; a row without elements has no line
        firsts = array.first[:-1] // rows
        counts = np.where(array.first[1:] > array.first[:-1], (array.first[1:] - 1) // rows - firsts + 1, 0)
    # a row that the level lacks has position -1: its first line is meaningless, and its count is 0
    return base + firsts[positions], np.where(positions < 0, 0, counts[positions])
