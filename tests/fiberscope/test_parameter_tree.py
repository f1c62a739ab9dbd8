"""Names that editors and IPython complete are those that runs take."""

from typing import get_args

import pytest

import fiberscope
from fiberscope import accelerators
from fiberscope.run.machine_names import MachineName

SMALL = "uniform:rows=20,cols=20,nonzeros=60"


def test_the_names_of_machines_are_those_that_ship() -> None:
    assert sorted(get_args(MachineName)) == sorted(accelerators.names())


@pytest.mark.parametrize("machine", accelerators.names())
def test_the_tree_has_every_parameter_of_a_machine(machine: str) -> None:
    frame = fiberscope.parameters(machine)
    tree = fiberscope.machine(machine)
    assert list(tree) == list(frame["parameter"])
    assert [parameter.range for parameter in tree] == list(frame["range"])
    for key in tree:
        section = tree
        for name in key.split("."):
            assert name in dir(section)
            section = getattr(section, name)
        assert section == key


def test_a_parameter_is_a_key_of_settings() -> None:
    gamma = fiberscope.machine("gamma")
    report = fiberscope.simulate("gamma", SMALL, settings={gamma.pe.count: 2})
    assert report.row()["pe.count"] == 2
    assert repr(gamma.pe.count).startswith("'pe.count'  # 32; ")
    assert "'pe.count'" in repr(gamma.pe)


def test_a_name_that_is_none_names_the_nearest() -> None:
    with pytest.raises(AttributeError, match=r"gamma\.pe has no parameter cuont; did you mean count\?"):
        _ = fiberscope.machine("gamma").pe.cuont


def test_components_complete_their_names() -> None:
    components = fiberscope.simulate("gamma", SMALL, pe__count=2).components
    names = components._ipython_key_completions_()
    assert {"pe.merger", "gamma.pe00.merger"} <= set(names)
    assert all(components[name] for name in names)
