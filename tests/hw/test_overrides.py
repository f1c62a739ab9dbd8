"""A Python subclass that overrides any method of any block does the same in both modes, or is refused."""

from collections import Counter

import pytest
from modes import SUPPORT, other_mode, this_mode
from overrides import compiled_blocks, counting, methods_in_source, refusal

from fiberscope.hw.memory.cache import FiberCacheBank
from fiberscope.hw.networks.concentrator import Concentrator
from fiberscope.hw.networks.crossbar import QueuedCrossbar
from fiberscope.hw.networks.routes import PortRoute
from fiberscope.sim import Component, Kernel, SimulationError, import_mode

compiled_only = pytest.mark.skipif(not import_mode.compiled(), reason="uncompiled code looks every method up")
ROUTE = PortRoute()
MORE = "; compile your class too: fiberscope build {}"
BANK = """
from fiberscope.hw.memory.cache import FiberCacheBank

class MyBank(FiberCacheBank):
    def _evict(self, place):
        {}._evict({}place)
"""


def calls_that_differ(ours: dict[str, int], others: dict[str, int]) -> list[str]:
    """Return the methods whose calls the compiled and the uncompiled run count differently."""
    return [name for name in ours if ours[name] != others.get(name)]


@compiled_only
def test_no_block_accepts_undeclared_attributes_since_each_call_would_look_for_a_method_first() -> None:
    assert [block.__name__ for block in compiled_blocks() if block.__dictoffset__] == []


@compiled_only
def test_each_method_of_each_block_is_refused_or_looked_up_by_name() -> None:
    blocks = compiled_blocks()
    assert len(blocks) > 140
    pairs = {
        (block, method): refusal(block, method) for block in blocks for method in methods_in_source(block)
    }
    unseen = {(block.__name__, method) for block, method in pairs if not hasattr(block, method)}
    accepted = {(block.__name__, method) for (block, method), said in pairs.items() if not said}
    assert len(unseen) > 1000
    assert unseen & accepted == set()
    assert {method for _, method in accepted} >= {"tick", "elaborate", "sample", "counters"}
    assert {method for _, method in accepted} & {"busy", "idle", "wait_input", "wait_any_output"} == set()


@compiled_only
def test_overridden_methods_are_called_as_often_in_both_modes() -> None:
    ours = this_mode(SUPPORT / "overridden_runs.py")
    others = other_mode(SUPPORT / "overridden_runs.py")
    assert ours["outcomes"] == others["outcomes"]
    assert calls_that_differ(ours["calls"], others["calls"]) == []
    assert len({name.partition(".")[0] for name in ours["calls"]}) > 80
    planted = ours["calls"] | {"PairMultiplier.tick": 0}
    assert calls_that_differ(planted, others["calls"]) == ["PairMultiplier.tick"]


def _added(component: Component) -> str:
    kernel = Kernel()
    kernel.clock("core", 10**9)
    try:
        kernel.add(component)
    except SimulationError as error:
        return str(error)
    return ""


def _fail(*_: object) -> None:
    raise AssertionError


class Mixin:
    _send = _fail


class ByMixin(Mixin, QueuedCrossbar):
    pass


class ByMixinBehind(QueuedCrossbar, Mixin):
    pass


class Mine(QueuedCrossbar):
    pass


class ByGrandchild(Mine):
    _send = _fail


class Busy(Concentrator):
    def busy(self, until: int) -> int:
        return until


@compiled_only
def test_mixins_grandchildren_and_attributes_of_an_instance_are_refused_too() -> None:
    says = "block: {} overrides _send of QueuedCrossbar, which compiled code calls without lookup" + MORE
    for cls in (ByMixin, ByGrandchild):
        assert _added(cls("block", ROUTE, 2)) == says.format(cls.__name__, "test_overrides.py")
    for cls in (ByMixinBehind, Mine):
        assert _added(cls("block", ROUTE, 2)) == ""
    component = Mine("block", ROUTE, 2)
    component._send = _fail
    assert _added(component) == says.format("Mine", "test_overrides.py")
    assert _added(Busy("block", 7)) == (
        "block: Busy overrides busy of Component, which compiled code calls without lookup; "
        "give your method another name"
    )


def test_a_subclass_that_counts_does_what_its_block_does() -> None:
    counts: Counter[str] = Counter()
    block = counting(Concentrator, counts)("block", 7)
    assert block.declared_ports() == Concentrator("block", 7).declared_ports()
    assert counts == {"Concentrator.declared_ports": 1}


@compiled_only
def test_a_part_with_such_a_method_costs_a_line_and_build_says_what_c_cannot(
    here, monkeypatch: pytest.MonkeyPatch, refusal, printed
) -> None:
    monkeypatch.setenv("FIBERSCOPE_CACHE", str(here / "cache"))
    (here / "my_banks_of_a_test.py").write_text(BANK.format("super()", ""))
    tiny = ["uniform:rows=20,cols=20,nonzeros=60,seed=5", "--set", "pe.count=2", "--set", "memory.channels=2"]
    error = refusal("sim", "gamma", *tiny, "--part", "bank=my_banks_of_a_test:MyBank")
    assert error == (
        f"fiberscope: gamma: gamma.fibercache.bank00: MyBank overrides _evict of {FiberCacheBank.__name__}, "
        f"which compiled code calls without lookup{MORE.format('my_banks_of_a_test.py')}\n"
    )
    error = refusal("build", "my_banks_of_a_test.py", "--show")
    assert error == (
        f"fiberscope: {here}/my_banks_of_a_test.py:6: _evict is compiled as a C method, "
        "which has no super(); name the class instead, as in Base._evict(self)\n"
    )
    (here / "my_banks_of_a_test.py").write_text(
        BANK.format("FiberCacheBank", "self, ").replace("_evict", "busy")
    )
    error = refusal("build", "my_banks_of_a_test.py", "--show")
    assert error == (
        f"fiberscope: {here}/my_banks_of_a_test.py:5: busy overrides a method that is compiled into its "
        "callers; give your method another name\n"
    )
    (here / "my_banks_of_a_test.py").write_text(BANK.format("FiberCacheBank", "self, "))
    out = printed("build", "my_banks_of_a_test.py", "--show")
    assert "cdef int _evict(self, long entry) except -1" in out
