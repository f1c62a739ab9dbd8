"""Graphicionado for the tests of all machines."""

from graphicionado_bench import TINY, small_graph

from fiberscope.accelerators.testing import MachineCase

CASE = MachineCase(
    accelerator="graphicionado",
    variants={
        "tiny": TINY,
        "tiny, dram": TINY | {"memory.model": "dram"},
        "sparse access": TINY | {"design": "sparse_access", "apply.auto": True},
        "proposal": TINY | {"design": "csr_like"},
        "graphdyns": TINY | {"design": "graphdyns"},
        "proposal, starts in the table": TINY
        | {"design": "csr_like", "edge.start": "edram", "apply.auto": True},
        "graphdyns, one line": TINY | {"design": "graphdyns", "prefetch.lines": 1, "atomic.mode": "stall"},
        "slices": TINY | {"slice.count": 2, "table.coarsen": 4},
        "shipped": {},
    },
    operands=lambda: (small_graph(),),
    problem={"algorithm": "sssp"},
    planted=("atomic_update", "tiny"),
)
