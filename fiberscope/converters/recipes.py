"""The recipes of conversions: graphs of blocks, which ``recipes.yaml`` defines.

A line of a recipe is a chain of blocks, for example ``read.values > collect.values``. The name after a dot is
the output port of the first block, or the input port of any other block. By default, these ports are
``results`` and ``items``. Blocks of the same kind have numbers: the kind of ``divide_2`` is ``divide``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import pairwise

import yaml

from fiberscope.accelerators.errors import ConflictError
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.formats import format_called

DEFAULT_OUTPUT, DEFAULT_INPUT = "results", "items"
COPY = ("read.lines > write.lines",)  # recipe for equal formats: lines are copied


class NoRecipeError(WorkloadError, ConflictError):
    """Error: both formats exist, but no recipe converts one to the other."""


@dataclass(frozen=True)
class Edge:
    """An edge of a recipe, from a port of one block to a port of another block.

    Attributes:
        producer, output: name and output port of the producer.
        consumer, input: name and input port of the consumer.
    """

    producer: str
    output: str
    consumer: str
    input: str


@dataclass(frozen=True)
class Recipe:
    """A conversion as a graph of blocks.

    Args:
        source, target: families of the two formats.
        lines: lines of ``recipes.yaml`` for this conversion, expanded for the order of the tensor. Blocks
            that ``without`` has removed stay in the lines.
        edges: edges that the lines define.
    """

    source: str
    target: str
    lines: tuple[str, ...]
    edges: tuple[Edge, ...]

    @property
    def blocks(self) -> tuple[str, ...]:
        """Return the names of the blocks in order of appearance."""
        return tuple(dict.fromkeys(name for edge in self.edges for name in (edge.producer, edge.consumer)))

    def without(self, *removed: str) -> Recipe:
        """Return the recipe without some blocks; edges to a removed block lead to its successor instead.

        Args:
            removed: names of blocks with a single outgoing edge each.
        """
        edges = self.edges
        for block in removed:
            successors = {edge.producer: edge for edge in edges if edge.producer == block}
            edges = tuple(
                Edge(edge.producer, edge.output, successors[block].consumer, successors[block].input)
                if edge.consumer == block
                else edge
                for edge in edges
                if edge.producer != block
            )
        return Recipe(self.source, self.target, self.lines, edges)

    @property
    def is_two_pass(self) -> bool:
        """Return whether items are counted first and then scattered."""
        return "scatter" in self.blocks


@cache
def family(name: str) -> str:
    """Return the family of a format, which selects a recipe: ``bsr`` for ``bsr2``, ``rlc`` for ``rlc5``."""
    return re.sub("[0-9].*$", "", name)


def parse_kind(block: str) -> str:
    """Return the kind of a block: ``divide`` of ``divide_2``."""
    return family(block).rstrip("_")


@cache
def _load_table() -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the lines of every recipe in ``recipes.yaml``, by source and target family."""
    text = resources.files("fiberscope.converters").joinpath("recipes.yaml").read_text(encoding="utf-8")
    pairs = {tuple(names.split()): tuple(_flatten(lines)) for names, lines in yaml.safe_load(text).items()}
    return {(source, target): lines for (source, target), lines in pairs.items()}


def _flatten(lines: Iterable[str | list[str]]) -> Iterator[str]:
    """Yield the lines, with lists of lines flattened; such a list is shared by several recipes in YAML."""
    for line in lines:
        yield from [line] if isinstance(line, str) else line


def sources() -> list[str]:
    """Return the families of formats that some recipe converts."""
    return list(dict.fromkeys(source for source, _target in _load_table()))


def targets(source: str) -> list[str]:
    """Return the families to which a format can be converted; the format itself, for a copy, is last."""
    families = [target for start, target in _load_table() if start == family(source)]
    return [*families, source]


def find_recipe(source: str, target: str, order: int = 2, chunk: int = 16) -> Recipe:
    """Return the recipe that converts one format to another.

    Args:
        source, target: names of the formats.
        order: number of ranks of the tensor.
        chunk: keys per cycle. With 1 key per cycle, the recipe has no blocks that sort and cluster keys.

    Raises:
        NoRecipeError: if no recipe exists; the error lists the possible targets.
        WorkloadError: if a format does not exist.
    """
    source, target = (format_called(name).name for name in (source, target))
    start, end = family(source), family(target)
    lines = COPY if source == target else _load_table().get((start, end))
    if lines is None:
        possible = ", ".join(targets(source))
        raise NoRecipeError(f"no recipe converts {source} to {target}", fix=f"{source} goes to {possible}")
    lines = tuple(line for template in lines for line in _expand_rounds(template, order))
    lines = tuple(line for template in lines for line in _expand_levels(template, order))
    expanded = Recipe(start, end, lines, tuple(edge for line in lines for edge in _parse_edges(line)))
    return expanded.without("sort", "cluster") if chunk == 1 and "sort" in expanded.blocks else expanded


def _expand_rounds(line: str, order: int) -> list[str]:
    """Expand a line with a divider or multiplier for a tensor with ``order`` ranks.

    Such a line becomes a chain of ``order`` - 1 dividers or multipliers, and lines for the coordinates that
    bypass them. An element of a vector has one coordinate, which takes neither. Other lines are unchanged.
    """
    if " divide >" in line:
        chain = "".join(f" peel_{k} > divide_{k} >" for k in range(2, order))
        bypasses = [f"peel_{k}.rests > collect.rests_{k}" for k in range(2, order)]
        return [line.replace(" divide >", f" divide >{chain}" if order > 1 else ""), *bypasses]
    if " multiply >" in line:
        chain = "".join(f" join_{k} > multiply_{k} >" for k in range(2, order))
        bypasses = [f"split.rests_{k} > join_{k}.rests" for k in range(2, order)]
        return [line.replace(" multiply >", f" multiply >{chain}" if order > 1 else ""), *bypasses]
    return [line]


def _expand_levels(line: str, order: int) -> list[str]:
    """Expand a line with ``{level}`` to one line per level below the root; in others, fill in ``{deepest}``.

    ``{above}`` and ``{deepest}`` are the blocks that bring the level above and the deepest level.
    """

    def path(level: int) -> str:
        return "read.level_1" if level == 1 else f"expand_{level}"

    if "{level}" not in line:
        return [line.format(deepest=path(order))]
    return [line.format(level=level, above=path(level - 1)) for level in range(2, order + 1)]


def _parse_edges(line: str) -> list[Edge]:
    """Return the edges of a line, which is a chain of blocks."""
    names = [name.strip().partition(".")[::2] for name in line.split(">")]
    edges = []
    for index, ((producer, output_port), (consumer, input_port)) in enumerate(pairwise(names)):
        # The port of a block inside the chain is its input port
        output = output_port if index == 0 and output_port else DEFAULT_OUTPUT
        edges.append(Edge(producer, output, consumer, input_port or DEFAULT_INPUT))
    return edges
