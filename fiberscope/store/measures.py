"""What a store keeps of a report in columns of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fiberscope.report.document import Report
from fiberscope.report.families import Family, families
from fiberscope.report.parts import Memory, TensorTraffic

__all__ = ["measures"]

STATES = ("busy", "input_stall", "output_stall", "idle")


def measures(report: Report, workers: str) -> dict[str, Any]:
    """Columns of a row, those that ``columns.FIXED`` has and those that the run adds.

    Args:
        report: of the run.
        workers: the family of components that does the work; empty where there is none.
    """
    kinds = families(report.components)
    return {
        "fidelity": report.fidelity,
        "complete": report.complete,
        "cycles": report.cycles,
        "seconds": report.seconds,
        **_traffic(report.traffic),
        "traffic_minimum_bytes": report.traffic_minimum_bytes,
        **_memory(report.memory),
        "nonzeros": sum(operand.nonzeros for operand in report.workload.operands),
        **_costs(report),
        **_workers(kinds.get(workers)),
        "families": json.dumps({name: _states(kind) for name, kind in kinds.items()}),
        "bottleneck": report.bottleneck,
        "version": report.version,
        "workload_source": report.workload.source,
        **{f"operations_{name}": count for name, count in report.operations.items()},
        "report": report.dumped(),
    }


def _costs(report: Report) -> dict[str, float | None]:
    """Energy and area, and energy times time once and twice, in J s and J s2."""
    edp = report.edp
    return {
        "energy_pj": report.energy.total_pj if report.energy else None,
        "area_um2": report.area_um2,
        "edp": edp,
        "ed2p": None if edp is None else edp * report.seconds,
    }


def _traffic(traffic: Mapping[str, TensorTraffic]) -> dict[str, int]:
    """Bytes by tensor, and of all of them."""
    if not traffic:
        return {}
    read = sum(part.read_bytes for part in traffic.values())
    written = sum(part.write_bytes for part in traffic.values())
    columns = {
        "traffic_bytes": read + written,
        "traffic_read_bytes": read,
        "traffic_write_bytes": written,
    }
    for name, part in traffic.items():
        columns |= {
            f"traffic_{name}_read_bytes": part.read_bytes,
            f"traffic_{name}_write_bytes": part.write_bytes,
        }
    return columns


def _memory(memory: Memory | None) -> dict[str, float]:
    if memory is None:
        return {}
    return {
        "memory_bytes_per_second": memory.bytes_per_second,
        "memory_peak_bytes_per_second": memory.peak_bytes_per_second,
        "memory_utilization": memory.utilization,
    }


def _workers(family: Family | None) -> dict[str, Any]:
    if family is None:
        return {}
    states = _states(family)
    return {"workers": family.name, "worker_count": states.pop("count"), **states}


def _states(family: Family) -> dict[str, int]:
    return {"count": family.count, **{state: getattr(family, state) for state in STATES}}
