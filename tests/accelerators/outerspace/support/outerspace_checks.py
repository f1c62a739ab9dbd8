"""What must hold after every run of an OuterSPACE, whatever it ran."""

from dataclasses import asdict

import numpy as np
from outerspace_model import ELEMENT, INDEX, counts

from fiberscope.accelerators.testing import cycles
from fiberscope.sim.testing import check_accounting


def check_all(machine, a, b):
    """Product, operations, traffic, bounds and accounting."""
    model = counts(a, b, machine.parameters.l0.block)
    check_product(machine, a, b, model)
    check_operations(machine, model)
    check_traffic(machine, model)
    check_bounds(machine, model)
    check_accounting(machine.kernel.statistics())


def check_product(machine, a, b, model):
    """The product is scipy's, entry by entry, with the places where products cancel."""
    product = machine.result()
    assert product.nnz == model.nonzeros
    assert abs(product - a @ b).max() == 0 if product.nnz else (a @ b).nnz == 0
    assert all((product.indices[i:j][1:] > product.indices[i:j][:-1]).all() for i, j in rows_of(product))


def rows_of(product):
    """Where each row begins and ends."""
    return zip(product.indptr[:-1], product.indptr[1:], strict=True)


def check_operations(machine, model):
    """Every product, sum and swap is counted once."""
    found = machine.operations()
    found.pop("spilled_nodes")
    expected = asdict(model)
    expected.pop("nonzeros")
    assert found == expected


def check_traffic(machine, model):
    """Every element of T is written and read once; what is useful is exact, and no more than is moved."""
    traffic = machine.traffic()
    t = model.multiply * ELEMENT + model.nodes * machine.parameters.t.header
    assert (traffic["T"].useful_write_bytes, traffic["T"].useful_read_bytes) == (t, t)
    rows, a_pointers = machine.shape[0], np.asarray(machine.a.pointers)
    columns = np.diff(a_pointers)
    if machine.parameters.multiply.assign == "flat":
        columns = columns[columns > 0]  # of the others nobody knows
    assert traffic["A"].useful_read_bytes == a_pointers[-1] * ELEMENT + len(columns) * INDEX
    assert traffic["Z"].useful_write_bytes == model.nonzeros * ELEMENT + rows * INDEX
    assert traffic["heads"].useful_read_bytes == (model.nodes + rows) * INDEX
    assert traffic["heads"].useful_write_bytes == (model.nodes + rows) * INDEX
    assert traffic["T"].read_bytes >= model.multiply * ELEMENT
    assert traffic["T"].write_bytes >= t
    block, burst = machine.parameters.l0.block, burst_of(machine)
    per_row = -(-rows * INDEX // block) * block
    assert traffic["heads"].write_bytes == model.nodes * burst + per_row
    emitted = counters_of(machine, "merger", "emitted")
    assert sum(emitted) == model.nonzeros
    assert traffic["Z"].write_bytes == per_row + sum(-(-one * ELEMENT // block) * block for one in emitted)


def burst_of(machine):
    """Bytes of an access that needs no more."""
    return min(machine.parameters.l0.block, machine.parameters.memory.burst_bytes)


def counters_of(machine, part, counter):
    """A counter of each of the parts whose name ends so."""
    statistics = machine.kernel.statistics()
    return [one.counters[counter] for name, one in statistics.items() if name.endswith(part)]


def check_bounds(machine, model):
    """No machine is faster than its memory's pins, its multipliers and its mergers."""
    tile = machine.parameters.tile
    assert model.multiply <= cycles(machine) * tile.count * tile.pe
    assert model.add + model.nonzeros <= cycles(machine) * tile.count * tile.merge_pe
    moved = sum(tensor.read_bytes + tensor.write_bytes for tensor in machine.traffic().values())
    seconds = machine.kernel.end / machine.kernel.base_hertz
    assert moved <= seconds * machine.memory().peak_bytes_per_second
