"""Numbers of a report as flat columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fiberscope.results.report.parts import Cached, Memory, Record, TensorTraffic

SEPARATOR: Final = "; "  # between the missing parts of a sum


def numbers(report: Record) -> dict[str, Any]:
    """Return the numbers of a run as columns of a table: cycles, seconds, bytes, shares, pJ, um2.

    The columns of traffic, of a cache, of memory and of an interval are omitted if the report lacks them;
    other unknown values are None.
    """
    return {
        "fidelity": report.fidelity,
        "complete": bool(report.complete),  # true for ``sampled`` too
        "cycles": report.cycles,
        **_list_interval(report.cycles_interval),
        "seconds": report.seconds,
        **_list_traffic(report.traffic),
        **_list_cached(report.cached),
        "traffic_minimum_bytes": report.traffic_minimum_bytes,
        **_list_memory(report.memory),
        "nonzeros": sum(operand.nonzeros for operand in report.workload.operands),
        **_list_costs(report),
        "bottleneck": report.bottleneck,
        "version": report.version,
        "workload_source": report.workload.worst_source,
        **{f"operations_{name}": count for name, count in report.operations.items()},
    }


def flatten_parameters(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested parameters in a flat dict, by dotted key such as ``pe.count``.

    Args:
        config: the parameters; a value that is a mapping is a section, and an empty one gives no key.
        prefix: text before each key.
    """
    leaf_values: dict[str, Any] = {}
    for key, value in config.items():
        leaf_values |= (
            flatten_parameters(value, f"{prefix}{key}.")
            if isinstance(value, Mapping)
            else {f"{prefix}{key}": value}
        )
    return leaf_values


def _list_interval(interval: tuple[int, int] | None) -> dict[str, int]:
    """Return the interval of estimated cycles."""
    return dict(zip(("cycles_low", "cycles_high"), interval, strict=True)) if interval else {}


def _list_costs(report: Record) -> dict[str, float | str | None]:
    """Return energy in pJ, area in um2, their missing parts, and the products EDP in J s and ED2P in J s2."""
    # ``energy_pj`` and ``edp`` count the known parts; ``area_um2`` is None if a listed part is unknown
    edp, energy, area = report.edp, report.energy, report.area
    return {
        "energy_pj": energy.total_pj if energy else None,
        "energy_upper": energy.upper_pj if energy else None,
        "energy_without": SEPARATOR.join(energy.without) if energy else None,
        "area_um2": report.area_um2,
        "area_upper": area.upper if area else None,
        "area_without": SEPARATOR.join(area.without) if area else None,
        "edp": edp,
        "ed2p": None if edp is None else edp * report.seconds,
    }


def _list_traffic(traffic: Mapping[str, TensorTraffic]) -> dict[str, int]:
    """Return bytes in total, in total by direction, and by tensor and direction; empty without traffic."""
    if not traffic:
        return {}
    read_bytes = sum(tensor_traffic.read_bytes for tensor_traffic in traffic.values())
    written_bytes = sum(tensor_traffic.write_bytes for tensor_traffic in traffic.values())
    columns = {
        "traffic_bytes": read_bytes + written_bytes,
        "traffic_read_bytes": read_bytes,
        "traffic_write_bytes": written_bytes,
    }
    for name, tensor_traffic in traffic.items():
        columns |= {
            f"traffic_{name}_read_bytes": tensor_traffic.read_bytes,
            f"traffic_{name}_write_bytes": tensor_traffic.write_bytes,
        }
    return columns


def _list_cached(cached: Cached | None) -> dict[str, int]:
    """Return bytes after a functional cache, in total and by tensor."""
    if cached is None:
        return {}
    moved_bytes = {name: tensor_traffic.moved_bytes for name, tensor_traffic in cached.traffic.items()}
    by_tensor = {f"cached_{name}_bytes": count for name, count in moved_bytes.items()}
    return {"cached_traffic_bytes": sum(moved_bytes.values()), **by_tensor}


def _list_memory(memory: Memory | None) -> dict[str, float]:
    if memory is None:
        return {}
    return {
        "memory_bytes_per_second": memory.bytes_per_second,
        "memory_peak_bytes_per_second": memory.peak_bytes_per_second,
        "memory_utilization": memory.utilization,
    }
