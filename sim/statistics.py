"""Where the cycles of every component went, as a tree shaped like the design."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class ComponentStatistics:
    """The cycles of one component, each counted once, and its event counters.

    ``busy + idle + sum(input_stall) + sum(output_stall) == cycles``, the run's length in the component's own
    clock. The stalls are by port; an array's ports are told apart as ``name[i]``.
    """

    cycles: int
    busy: int
    idle: int
    input_stall: dict[str, int] = field(default_factory=dict)
    output_stall: dict[str, int] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
