"""YAML is read in C where that reads what is read in Python, and nothing more."""

from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from fiberscope import accelerators
from fiberscope.accelerators import yaml_layer

PIECES = [
    *("a", "b:", "1", "1e9", "off", "true", "~", "é", "0x1", "1_0", "1:30", "null", "<<: ", "A[k, m] * B"),
    *(
        " ",
        "  ",
        "\n",
        "\r\n",
        "\t",
        "- ",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        ": ",
        "? ",
        "#",
        " # c",
        "=",
        "@",
        "`",
    ),
    *("'", '"', "|", "|\n", ">\n  x", "*a", "&a", "!", "!!int", "!C ", "- !C\n", "%", "---", "...", "\\"),
    *("\u2028", "\x85", "\ufeff", "\x07"),
]


def tree(node):
    """All that is read of a node: kind, tag, place and value."""
    if node is None:
        return None
    value = node.value
    if isinstance(node, yaml.MappingNode):
        value = [(tree(key), tree(inner)) for key, inner in value]
    elif isinstance(node, yaml.SequenceNode):
        value = [tree(inner) for inner in value]
    return node.id, node.tag, node.start_mark.line, node.start_mark.column, value


def read(compose):
    """The tree, or what is told of a text that is no YAML."""
    try:
        return tree(compose())
    except (yaml.YAMLError, ValueError) as error:
        return str(error)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
@example("a: &a 1\nb: *a")  # an alias, which is refused
@example("a: b\tc")  # all of these libyaml takes otherwise
@example("? ")
@example("---")
@example("|#")
@example("\ufeff\ufeff\ufeffa")
@example("a: !b:!c")
@example("\u2028---")
@example("a: {b: }")
def test_what_is_read_is_what_is_read_in_python(text):
    read_by_python = read(lambda: yaml.compose(text, yaml_layer._Loader))
    assert read(lambda: yaml_layer.compose(text)) == read_by_python


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="this PyYAML is without libyaml")
def test_what_machines_ship_is_read_in_c(monkeypatch):
    monkeypatch.setattr(yaml_layer._Loader, "get_single_node", None)
    files = list(Path(accelerators.__file__).parent.glob("*/config.yaml"))
    assert len(files) > 4
    for file in files:
        assert yaml_layer.read_yaml(file)
