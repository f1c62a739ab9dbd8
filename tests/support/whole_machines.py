"""Makes whole machines of an accelerator, and runs them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fiberscope.accelerators.configuration import load
from fiberscope.accelerators.machine import Accelerator
from fiberscope.accelerators.testing import run_to_end


def dotted(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by the keys of the configuration, from names with double underscores: ``pe__count``."""
    return {key.replace("__", "."): value for key, value in settings.items()}


@dataclass(frozen=True)
class Bench:
    """Makes and runs machines of an accelerator.

    Args:
        accelerator: which one.
        machine: its class.
        shortages: settings of ``tiny``.
        always: settings of all, unless they are given otherwise.
    """

    accelerator: Accelerator[Any]
    machine: type[Any]
    shortages: Mapping[str, Any]
    always: Mapping[str, Any] = field(default_factory=dict)

    def configured(self, **settings: Any) -> Any:
        """The shipped configuration with settings, whose dots are double underscores: ``pe__count=3``."""
        kind = self.accelerator
        given = {**self.always, **dotted(settings)}
        return load(kind.configuration, kind.shipped, name=kind.name, settings=given)

    def tiny(self, **settings: Any) -> Any:
        """A machine short of everything, with settings."""
        return self.configured(**(self.shortages | dotted(settings)))

    def run(self, parameters: Any, a: Any, b: Any, **options: Any) -> Any:
        """A machine that has run to its end, in a kernel or with parts of one's own if they are given.

        Raises:
            AssertionError: if it comes to the cycle limit.
        """
        return run_to_end(self.machine(parameters, a, b, **options))
