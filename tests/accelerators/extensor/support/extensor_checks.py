"""What must hold after every run of an ExTensor, whatever it ran."""

from extensor_model import Model, points

from fiberscope.accelerators.testing import cycles
from fiberscope.sim.testing import check_accounting


def check_all(machine, a, b):
    """Product, operations, traffic, bounds and accounting."""
    parameters = machine.parameters
    model = Model(
        a,
        b,
        parameters.pe.tile,
        machine.tiling.shape,
        intersection=parameters.intersection,
        held=parameters.pe.scanner_coordinates,
        by_rows=parameters.llb.by_rows,
    )
    check_product(machine, model)
    check_operations(machine, model)
    check_traffic(machine, model)
    check_bounds(machine, model)
    check_accounting(machine.kernel.statistics())
    check_busy_cores(machine)


def check_product(machine, model):
    """The product is the plain model's, entry by entry and in every bit."""
    assert {(m, n): value for m, n, value in points(machine.result())} == model.product


def check_operations(machine, model):
    """Every multiply, sum and step of an intersection is counted once."""
    names = ("intersect_k2", "intersect_k1", "intersect_k0", "microtile_products", "multiply")
    expected = {name: model.count[name] for name in names}
    expected["add"] = model.count["multiply"] - len(model.product)
    assert machine.operations() == expected


def check_traffic(machine, model):
    """Each stream moves exactly its bytes, and its channel whole lines of them."""
    line = machine.parameters.stream.line
    names = {"a": "A", "b": "B", "po_read": "PO", "po_write": "PO", "z": "Z"}
    for stream in machine.streams:
        name = stream.name.removeprefix("extensor.stream.")
        moved = model.count[names[name]]
        assert stream.counters() == {"bytes": moved, "lines": -(-moved // line)}, name
        traffic = machine.traffic()[names[name]]
        crossed = traffic.read_bytes if name in ("a", "b", "po_read") else traffic.write_bytes
        assert crossed == -(-moved // line) * line, name


def check_bounds(machine, model):
    """No machine is faster than its cores, its intersectors and its memory's pins."""
    assert model.count["intersect_k0"] <= cycles(machine) * machine.parameters.pe.count
    assert model.count["intersect_k1"] <= cycles(machine) * machine.parameters.llb.intersectors
    moved = sum(tensor.read_bytes + tensor.write_bytes for tensor in machine.traffic().values())
    seconds = machine.kernel.end / machine.kernel.base_hertz
    assert moved <= seconds * machine.memory().peak_bytes_per_second


def check_busy_cores(machine):
    """A core is busy exactly for the steps it makes."""
    statistics = machine.kernel.statistics()
    for core in machine.cores:
        part = statistics[core.name]
        assert part.busy == part.counters["intersect_k0"], core.name
