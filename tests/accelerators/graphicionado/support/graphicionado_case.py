"""Graphicionado for the tests of all machines."""

from graphicionado_bench import TINY, small_graph
from machine_case import MachineCase

CASE = MachineCase(
    accelerator="graphicionado",
    variants={
        "tiny": TINY,
        "tiny, dram": TINY | {"memory.model": "dram"},
        "sparse access": TINY | {"design": "sparse_access", "apply.auto": True},
        "proposal": TINY | {"design": "csr_like"},
        "graphdyns": TINY | {"design": "graphdyns"},
        "slices": TINY | {"slice.count": 2, "table.coarsen": 4},
        "shipped": {},
    },
    operands=lambda: (small_graph(),),
    problem={"algorithm": "sssp"},
    planted=("atomic_update", "tiny"),
    golden={
        "tiny": 6_975,
        "tiny, dram": 6_213,
        "sparse access": 6_952,
        "proposal": 5_426,
        "graphdyns": 4_961,
        "slices": 13_848,
        "shipped": 3_202,
    },
    operations={
        "edges": 1_432,
        "updates": 613,
        "iterations": 8,
        "activations": 255,
        "applied": 1_200,
        "changed": 254,
        "stalls": 1,
        "edges_of_fullest_stream": 401,
    },
    traffic={
        "frontier": (2_816, 2_752),
        "edges": (55_296, 0),
        "starts": (0, 0),
        "properties": (6_144, 6_144),
    },
)
