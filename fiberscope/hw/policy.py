"""Policies: small classes of the user that choose in the place of a block's own rule."""

from __future__ import annotations

from typing import ClassVar

from fiberscope.sim.component import Component

__all__ = ["Policy"]


class Policy:
    """Rule by which a block chooses. A block makes one of its own, without arguments.

    A kind of policy names the block that asks it. A class of the user is given in the place of this block: as
    a part of a machine it stands for the block with this policy.
    """

    BLOCK: ClassVar[type[Component]]

    @classmethod
    def block(cls) -> type[Component]:
        """Return the block that asks this policy, under the name of the policy."""
        fields = {"POLICY": cls, "__module__": cls.__module__, "__qualname__": cls.__qualname__}
        return type(cls.__name__, (cls.BLOCK,), {**fields, "__doc__": cls.__doc__})
