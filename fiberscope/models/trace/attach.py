"""Connects recorders with the ranks of a loop nest that they are told of."""

from __future__ import annotations

from dataclasses import dataclass

from fiberscope.models.trace.build import Nest
from fiberscope.models.trace.output import OutputRank
from fiberscope.models.trace.recorder import Recorder

__all__ = ["Attachment", "attach"]


@dataclass(frozen=True)
class Attachment:
    """A recorder and what it is told of.

    Args:
        tensor, rank: as in ``Prepared``.
        kind: ``coord`` and ``elem`` are told of all that is looked at, ``payload`` of that for which the body
            runs.
        recorder: that is told.
        root: of an eager binding, the rank of the fibers that are moved with all that is below. Of an input,
            the recorder is told of these fibers alone; of an output, of every element of ``rank`` in them.
    """

    tensor: str
    rank: str
    kind: str
    recorder: Recorder
    root: str | None = None


def attach(nest: Nest, attachment: Attachment) -> None:
    """Have a recorder told of what it asks for; of a rank that the nest does not have there is nothing."""
    if attachment.tensor == nest.mapped.einsum.output:
        _attach_to_output(nest, attachment)
    for operand, levels in zip(nest.operands, nest.inputs, strict=True):
        if operand.name != attachment.tensor:
            continue
        for level in levels:
            if operand.formatted.get(level.name, level.name) == (attachment.root or attachment.rank):
                if attachment.root is not None:
                    level.cursor.reached.append(attachment.recorder)
                elif attachment.kind == "payload":
                    level.cursor.used.append(attachment.recorder)
                else:
                    level.cursor.looked.append(attachment.recorder)


def _attach_to_output(nest: Nest, attachment: Attachment) -> None:
    growing = {level.rank.name: level.growing for level in nest.output}
    rank = growing.get(attachment.rank)
    if rank is None:
        return
    if attachment.root is not None:
        rank.moved.append(attachment.recorder)
        _move_at(growing[attachment.root], attachment.recorder)
        nest.mark_bodies()
    elif attachment.kind == "payload":
        rank.used.append(attachment.recorder)
    else:
        rank.looked.append(attachment.recorder)


def _move_at(root: OutputRank, recorder: Recorder) -> None:
    """Move subtrees as often as the innermost of their buffers wants them."""
    root.root_of_moves = max(root.root_of_moves, recorder.evict_level)
