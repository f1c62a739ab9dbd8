"""How unevenly the iterations of a loop in space fall on the instances that run them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fiberscope.models.trace.attach import Attachment
from fiberscope.models.trace.evaluate import Prepared
from fiberscope.models.trace.instances import Work
from fiberscope.models.trace.specification import Configuration

__all__ = ["Imbalance", "outermost_in_space"]


def outermost_in_space(prepared: Prepared) -> str | None:
    """The first loop that runs in space; None where none does."""
    spacetime = prepared.einsum.spacetime
    in_space = {stamp.rank for stamp in spacetime.space} if spacetime else set[str]()
    return next((rank for rank in prepared.einsum.loop_order if rank in in_space), None)


@dataclass(frozen=True)
class Imbalance:
    """The bodies of the innermost loop by instance, of an Einsum with a loop in space.

    Args:
        tensor, rank: where bodies are seen.
        work: by number of instances, the bodies of each.
    """

    tensor: str
    rank: str
    work: dict[int, Work]

    @classmethod
    def of(cls, prepared: Prepared, configuration: Configuration) -> Imbalance | None:
        """What is to watch an Einsum; None where there is nothing side by side, or no body can be seen."""
        space, innermost = outermost_in_space(prepared), prepared.einsum.loop_order[-1]
        tensor = next((name for name, tree in prepared.trees.items() if innermost in tree.names), None)
        if space is None or tensor is None:
            return None
        numbers = {each.instances for each in configuration.components.values() if each.instances > 1}
        level = prepared.levels[space]
        work = {number: Work(np.zeros(number, np.int64), level) for number in sorted(numbers)}
        return cls(tensor, innermost, work)

    def attachments(self) -> Sequence[Attachment]:
        """The recorders, with what they are to be told of."""
        return [Attachment(self.tensor, self.rank, "payload", work) for work in self.work.values()]

    def factor(self, instances: int) -> float:
        """Bodies of the busiest instance over those of all on average."""
        if instances not in self.work:
            return 1.0
        bodies = np.asarray(self.work[instances].bodies)
        total = int(bodies.sum())
        return int(bodies.max()) * instances / total if total else 1.0
