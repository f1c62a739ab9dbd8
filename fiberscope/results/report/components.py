"""Components of a run by instance name, and the families of similar components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from fiberscope.results.report.origin import ReportPart
from fiberscope.sim.names import family_name, nearest

if TYPE_CHECKING:
    import pandas as pd

STATES = ("busy", "input_stall", "output_stall", "idle")
CYCLE_COLUMNS = ("cycles", *STATES)


class Component(ReportPart):
    """Cycle accounting of a component in its own clock, and its event counters.

    Args:
        cycles: all cycles; each is in one of the four states.
        busy: cycles in which the component does work.
        input_stall, output_stall: cycles of waiting for a token at an input port, or for space at an output
            port.
        idle: cycles in which the component has no work; each component's docstring defines its states.
        input_stall_by_port, output_stall_by_port: the stalls by port; ports without stalls are omitted.
        counters: numbers of events by name.
    """

    cycles: int
    busy: int
    input_stall: int
    output_stall: int
    idle: int
    input_stall_by_port: dict[str, int] = Field(default={})
    output_stall_by_port: dict[str, int] = Field(default={})
    counters: dict[str, int] = Field(default={})


class Components(dict[str, Component]):
    """Components by instance name.

    In ``components["gamma.pe00.merger"]``, the name of the machine and leading zeros of numbers are optional.
    The name of a family gives its members: ``components["pe.merger"]`` equals
    ``components.family("pe.merger")``. Members have equal names apart from the numbers at the end of each
    part of a name. A family's name has neither these numbers nor the machine's name. A component precedes a
    family of the same name. ``in`` and ``get`` accept full names only.
    """

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validate as a dictionary, and return ``Components``."""
        return core_schema.no_info_after_validator_function(
            cls, handler.generate_schema(dict[str, Component])
        )

    # Only a name that is no key comes here: full names remain a plain look-up in a dictionary
    def __missing__(self, name: str) -> Any:  # noqa: ANN401  (a component, or the members of a family)
        """Return the component of a short name, or the members of a family.

        Raises:
            KeyError: the name is neither; the message has the nearest names, or else the first names.
        """
        from fiberscope.sim.scopes import find_full_name  # noqa: PLC0415  (loads the engine)

        full = find_full_name(name, self)
        return self.family(name) if full is None else self[full]

    def family(self, name: str) -> Components:
        """Return the components of a family, as in ``family("pe.merger")``.

        Raises:
            KeyError: there is no such family; the message has the nearest names, or else the first names.
        """
        members = {member: self[member] for member in self if family_name(member) == name}
        if not members:
            # Families first: without a similar name, the hint lists only the first choices
            hint = nearest(name, [*dict.fromkeys(map(family_name, self)), *self])
            raise KeyError(f"no component or family is called {name}; {hint}")
        return Components(members)

    def _ipython_key_completions_(self) -> list[str]:
        """Return families and members for completion in IPython."""
        return [*dict.fromkeys(map(family_name, self)), *self]

    @property
    def total(self) -> Component:
        """Return the sums of the cycles, states and counters of all components.

        Cycles of components in different clocks are added as they are. Stalls by port are left out, as equal
        names of ports mean different things in different components.
        """
        names = dict.fromkeys(name for component in self.values() for name in component.counters)
        sums = {
            state: sum(getattr(component, state) for component in self.values()) for state in CYCLE_COLUMNS
        }
        counters = {
            name: sum(component.counters.get(name, 0) for component in self.values()) for name in names
        }
        return Component(**sums, counters=counters)

    def frame(self) -> pd.DataFrame:
        """Return a row for each component: its family, its cycles by state, its counters.

        The index is the instance name. A counter that a component does not have is null. All columns but
        ``family`` have the type ``Int64``.

        Raises:
            ModuleNotFoundError: pandas is not installed.
        """
        import pandas as pd  # noqa: PLC0415  (an extra)

        rows = [
            {
                "family": family_name(name),
                **{count: getattr(component, count) for count in CYCLE_COLUMNS},
                **component.counters,
            }
            for name, component in self.items()
        ]
        columns = dict.fromkeys(["family", *CYCLE_COLUMNS, *(column for row in rows for column in row)])
        # components have different counters: the columns are all of them, and gaps are filled with null
        frame = pd.DataFrame(rows, index=pd.Index(list(self), name="component"), columns=list(columns))
        # numpy's integers have no null, and floats would round large counts
        return frame.astype({column: "Int64" for column in columns if column != "family"})

    def _repr_html_(self) -> str:
        """Return the frame as a truncated HTML table, for a notebook."""
        return str(self.frame().to_html(max_rows=20, na_rep=""))
