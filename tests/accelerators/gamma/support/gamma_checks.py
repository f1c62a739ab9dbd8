"""What must hold after every run of a Gamma, whatever it ran."""

import math
from fractions import Fraction

import gamma_model as model
from gamma_bench import counted

from fiberscope.accelerators.testing import cycles
from fiberscope.sim.testing import check_accounting


def check_product(machine, a, b):
    """The product is the one of dense arithmetic, in pattern and in every bit of the values."""
    found, expected = machine.result(), model.product(a, b)
    assert found.shape == expected.shape
    assert found.indptr.tolist() == expected.indptr.tolist()
    assert found.indices.tolist() == expected.indices.tolist()
    assert found.data.tolist() == expected.data.tolist()


def tasks_of(machine, a, b):
    """The tasks that the machine should have, whatever the order of A's rows."""
    parameters = machine.parameters
    selective = parameters.tiling == "selective"
    tile = Fraction(parameters.tile, parameters.format.element) if selective else math.inf
    return model.combinations(a, b, parameters.pe.radix, tile)


def check_operations(machine, a, b):
    """Every product, sum and merged element is counted once."""
    tasks = tasks_of(machine, a, b)
    products = model.multiplies(a, b)
    partial = sum(task.merged for task in tasks)
    outputs = sum(len(task.output) for task in tasks if task.is_root)
    assert machine.operations() == {
        "multiply": products,
        # Each element that is merged is the first of its coordinate in its task, or added to it. There are as
        # many firsts as elements of Z and of partial fibers, and the latter are all merged again.
        "add": products - outputs,
        "merge": products + partial,
        "partial_merge": partial,
        "tasks": len(tasks),
    }
    written = counted(machine, "pe.writer")["elements_written"]
    assert written == outputs + partial


def check_traffic(machine, a, b):
    """A once, B at least once, partial fibers in balance, and Z exactly, line by line."""
    parameters = machine.parameters
    element, pointer, line = parameters.format.element, parameters.format.pointer, parameters.fibercache.line
    traffic = machine.traffic()
    a_lines = model.lines(a.nnz, element, line) + model.lines(machine.a.rows + 1, pointer, line)
    assert (traffic["A"].read_bytes, traffic["A"].write_bytes) == (a_lines * line, 0)
    distinct = model.lines_of_b(a, b, element, pointer, line) * line
    assert traffic["B"].read_bytes >= distinct
    assert traffic["B"].write_bytes == 0
    banks = counted(machine, "fibercache.bank")
    if banks["evictions"] == 0:
        assert traffic["B"].read_bytes == distinct
    missed = banks["read_misses"] + banks["fetch_misses"] + banks["consume_misses"]
    assert traffic["B"].read_bytes + traffic["partial"].read_bytes == missed * line
    check_partial_fibers(machine, a, b)
    assert traffic["Z"].read_bytes == 0
    if parameters.scheduler.output == "memory":
        assert traffic["Z"].write_bytes == lines_of_z(machine, element, pointer, line) * line
    else:
        cached = traffic["Z"].write_bytes - model.lines(machine.shape[0] + 1, pointer, line) * line
        assert cached + traffic["partial"].write_bytes == banks["write_backs"] * line


def lines_of_z(machine, element, pointer, line):
    """Each processing element packs its rows and ends in a line that may not be full."""
    counters = [each.writer.counters() for each in machine.elements]
    of_element = [each["elements_written"] - each["partial_elements_written"] for each in counters]
    assert sum(of_element) == machine.result().nnz
    data = sum(model.lines(count, element, line) for count in of_element)
    return data + model.lines(machine.shape[0] + 1, pointer, line)


def check_partial_fibers(machine, a, b):
    """Each line of a partial fiber is written once and consumed once; memory sees those that are evicted."""
    parameters = machine.parameters
    element, line = parameters.format.element, parameters.fibercache.line
    tasks = tasks_of(machine, a, b)
    count = sum(model.lines(len(task.output), element, line) for task in tasks if not task.is_root)
    banks = counted(machine, "fibercache.bank")
    assert counted(machine, "pe.writer")["partial_lines_written"] == count
    assert counted(machine, "pe.reader")["lines_consumed"] == count
    assert banks["consume_hits"] + banks["consume_joins"] + banks["consume_misses"] == count
    partial = machine.traffic()["partial"]
    if parameters.scheduler.output == "memory":
        assert banks["write_hits"] + banks["write_misses"] == count
        assert banks["write_backs"] * line == partial.write_bytes
    assert partial.write_bytes <= partial.read_bytes  # what was evicted has to come back
    assert partial.write_bytes <= count * line
    assert (partial.read_bytes == 0) == (partial.write_bytes == 0)


def check_bounds(machine):
    """No machine is faster than its mergers and its memory's pins."""
    assert machine.operations()["merge"] <= cycles(machine) * machine.parameters.pe.count
    moved = sum(tensor.read_bytes + tensor.write_bytes for tensor in machine.traffic().values())
    seconds = machine.kernel.end / machine.kernel.base_hertz
    assert moved <= seconds * machine.memory().peak_bytes_per_second


def check_all(machine, a, b):
    """All of them."""
    check_product(machine, a, b)
    check_operations(machine, a, b)
    check_traffic(machine, a, b)
    check_bounds(machine)
    check_accounting(machine.kernel.statistics())
