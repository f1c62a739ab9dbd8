# cython: infer_types=True
"""Policies: small classes of the user that choose in the place of a block's own rule."""

from __future__ import annotations

__all__ = ["Policy"]


class Policy:
    """Rule by which a block chooses. Each block makes a policy of its own, without arguments.

    A block that asks a policy names the kind of policy as ``POLICY``, and has it as its attribute ``policy``.
    A class of the user is given in the place of the block, as a part of a machine.
    """
