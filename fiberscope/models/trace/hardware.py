"""Reader of the section ``architecture``: configurations, and components with their attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fiberscope.accelerators.yaml_document import Document, Path
from fiberscope.models.trace.schema import AttributesSchema, ComponentSchema, LevelSchema
from fiberscope.models.trace.specification import Component, Configuration
from fiberscope.workloads.errors import suggest


@dataclass(frozen=True)
class _Class:
    """Required and optional attributes of a class of component."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()


_CLASSES = {
    "DRAM": _Class(("bandwidth",)),
    "Buffet": _Class(("width",), ("depth", "bandwidth")),
    "Cache": _Class(("width", "depth"), ("bandwidth", "ways", "replacement")),
    "Compute": _Class(("type",)),
    "Intersector": _Class(("type",)),
    "Merger": _Class(("inputs", "comparator_radix"), ("outputs", "order", "reduce")),
    "Sequencer": _Class((), ("num_ranks",)),
}
_INTERSECTIONS = ("two-finger", "leader-follower", "skip-ahead")
# the name of a level, with its number of instances: PE, PE[32] or PE[0..31]
_LEVEL = re.compile(
    r"(?P<name>[A-Za-z_]\w*)(\[((?P<first>\d{1,9})\.\.(?P<last>\d{1,9})|(?P<count>\d{1,9}))\])?"
)


def read_configuration(
    name: str, levels: Sequence[LevelSchema], document: Document, operations: Sequence[str]
) -> Configuration:
    """Return a configuration of the architecture, with components in the order of the file, the root's first.

    Args:
        name: name of the configuration.
        levels: a list with the root level alone.
        document: the file, for the places in messages.
        operations: operations that a compute unit may have.

    Raises:
        ConfigurationError: a component or a level is invalid, two components have the same name, or the root
            has no clock.
    """
    path: Path = ("architecture", name)
    if len(levels) != 1:
        raise document.error(path, f"{name} should have one root level, not {len(levels)}")
    clock = levels[0].attributes.clock_frequency
    if clock is None:
        raise document.error((*path, 0), f"the root level of {name} needs attributes: clock_frequency: 1 GHz")
    components: dict[str, Component] = {}
    reader = _Reader(document, operations)
    for component, place in reader.level(levels[0], (*path, 0), (), 1):
        if component.name in components:
            raise document.error(place, f"there are two components {component.name}")
        components[component.name] = component
    return Configuration(name, clock, components)


@dataclass(frozen=True)
class _Reader:
    """Reader of one configuration of the architecture."""

    document: Document
    operations: Sequence[str]

    def level(
        self, level: LevelSchema, path: Path, above: tuple[str, ...], product: int
    ) -> Iterator[tuple[Component, Path]]:
        """Yield the components of a level and of the levels below, with their places in the file.

        Args:
            level: the level.
            path: the place of the level.
            above: names of the levels above; empty for the root.
            product: number of instances of the level above, in the whole machine; 1 for the root.
        """
        # ``count`` is per instance of the level above, ``product * count`` in the whole machine
        name, count = self._read_instances(level.name, (*path, "name"))
        for attribute, value in level.attributes:
            # all components of a configuration have the clock of its root
            if value is not None and (attribute != "clock_frequency" or above):
                message = (
                    f"a level has no {attribute}; the root has clock_frequency, components have the rest"
                )
                raise self.document.error((*path, "attributes", attribute), message, key=True)
        branch = (*above, name)
        for position, component in enumerate(level.local):
            component_path = (*path, "local", position)
            yield (
                self._read_component(component, component_path, branch, count, product * count),
                (*component_path, "name"),
            )
        for position, inner_level in enumerate(level.subtree):
            yield from self.level(inner_level, (*path, "subtree", position), branch, product * count)

    def _read_instances(self, text: str, path: Path) -> tuple[str, int]:
        """Return the name and the number of instances of a level: 32 for ``PE[32]`` and ``PE[0..31]``."""
        match = _LEVEL.fullmatch(text)
        if match is None:
            raise self.document.error(path, f"level {text}: write it as PE, PE[32] or PE[0..31]")
        if match["last"] is None:
            count = int(match["count"] or 1)
        else:
            count = int(match["last"]) - int(match["first"]) + 1
        if count < 1:
            raise self.document.error(path, f"level {text}: it should have one instance or more")
        return match["name"], count

    def _read_component(
        self, schema: ComponentSchema, path: Path, branch: tuple[str, ...], count: int, product: int
    ) -> Component:
        """Return a component with checked attributes; ``product`` is the number of all its instances."""
        # the file may write a class in any case; from here on, its name is that of ``_CLASSES``
        kind = next((name for name in _CLASSES if name.lower() == schema.class_.lower()), None)
        if kind is None:
            advice = suggest(schema.class_, _CLASSES)
            raise self.document.error((*path, "class"), f"there is no class {schema.class_}; {advice}")
        self._check_attributes(kind, schema, path)
        attributes = schema.attributes
        values = {
            "bandwidth": attributes.bandwidth,
            "width": attributes.width or 0,  # 0: the class has no lines
            "depth": attributes.depth,
            "ways": attributes.ways,
            "replacement": attributes.replacement or "",
            "inputs": attributes.inputs,
            "outputs": attributes.outputs,
            "radix": attributes.comparator_radix,
            "order": attributes.order or "",
            "reduces": bool(attributes.reduce),
            "num_ranks": attributes.num_ranks,
            **self._type(kind, attributes, path),
        }
        path_of_names = (*branch, schema.name)
        return Component(schema.name, kind, path_of_names, count, product, **values)  # type: ignore[arg-type]

    def _check_attributes(self, kind: str, schema: ComponentSchema, path: Path) -> None:
        """Check that a component has the attributes of its class: no others, and all required attributes."""
        allowed = _CLASSES[kind]
        names = schema.attributes.model_fields_set  # the attributes in the file, without defaults
        for attribute in names:
            if attribute not in (*allowed.required, *allowed.optional):
                advice = suggest(attribute, (*allowed.required, *allowed.optional))
                attribute_path = (*path, "attributes", attribute)
                raise self.document.error(attribute_path, f"a {kind} has no {attribute}; {advice}", key=True)
        for attribute in allowed.required:
            if attribute not in names:
                raise self.document.error(path, f"{schema.name}, a {kind}, needs the attribute {attribute}")

    def _type(self, kind: str, attributes: AttributesSchema, path: Path) -> Mapping[str, object]:
        """Return the field with the operations of a compute unit, or with the type of an intersector.

        Other classes have no such field, and the result is empty.
        """
        types = (attributes.type,) if isinstance(attributes.type, str) else tuple(attributes.type or ())
        supported = {"Compute": tuple(self.operations), "Intersector": _INTERSECTIONS}.get(kind, ())
        for type_ in types:
            if type_ not in supported:
                raise self.document.error(
                    (*path, "attributes", "type"),
                    f"there is no {kind} of type {type_}; {suggest(type_, supported)}",
                )
        if kind == "Compute":
            if not types:
                raise self.document.error(
                    (*path, "attributes", "type"), "it does nothing; it could do mul or add"
                )
            return {"operations": types}
        if kind == "Intersector":
            if len(types) != 1:
                raise self.document.error((*path, "attributes", "type"), "an intersector has one type")
            return {"intersection": types[0]}
        return {}
