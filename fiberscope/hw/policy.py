# cython: infer_types=True
"""Policies: small classes of the user that choose in the place of a block's own rule."""

from __future__ import annotations

from fiberscope.sim.errors import SimulationError

__all__ = ["Policy", "wrong_choice"]


class Policy:
    """Rule by which a block chooses. Each block makes a policy of its own, without arguments.

    A block that asks a policy names the kind of policy as ``POLICY``, and has it as its attribute ``policy``.
    A class of the user is given in the place of the block, as a part of a machine.
    """


def wrong_choice(policy: Policy, method: str, chosen: object, choices: str) -> SimulationError:
    """Describe that a policy chose what is none of the choices.

    Args:
        policy: the policy.
        method: its method that chooses.
        chosen: what it chose.
        choices: what could be chosen, a plural.
    """
    return SimulationError(f"{type(policy).__name__}.{method} chose {chosen!r}, none of the {choices}")
