# cython: infer_types=True
"""Policies: small classes of the user that replace the rule by which a block chooses."""

from __future__ import annotations

from fiberscope.sim.errors import SimulationError

__all__ = ["Policy", "wrong_choice"]


class Policy:
    """A rule by which a block chooses. Each block creates its own policy object, without arguments.

    The class of such a block has the base class of its policies as ``POLICY``. The attribute ``policy`` of a
    block is its policy object. A user names a policy class as a part of a machine, instead of the block.
    """


def wrong_choice(policy: Policy, method: str, choice: object, choices: str) -> SimulationError:
    """Return the error for a policy that chose an object outside of the choices.

    Args:
        method: name of the method that chose.
        choice: the chosen object.
        choices: name of the choices, a plural.
    """
    return SimulationError(f"{type(policy).__name__}.{method} chose {choice!r}, none of the {choices}")
