"""Names of Einsums in rounds, and where stores are shared before and behind the cut, by hand."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from fiberscope.models.from_spec.chains import Chain
from fiberscope.models.from_spec.rounds import round_begins
from fiberscope.models.from_spec.stages import build_stages
from fiberscope.models.trace.load import load


@pytest.mark.parametrize("rounds", [1, 2, 3, 12])
def test_each_round_but_the_first_begins_with_its_first_einsum(rounds):
    einsums = [SimpleNamespace(name=f"{name}@{number}") for number in range(1, rounds + 1) for name in "XYZ"]
    repeated = SimpleNamespace(iteration=object(), einsums=einsums)
    assert round_begins(repeated) == {f"X@{number}" for number in range(2, rounds + 1)}
    assert round_begins(SimpleNamespace(iteration=None, einsums=einsums)) == frozenset()


def test_of_shared_stores_only_a_cache_of_one_copy_stays_shared_before_the_cut():
    cache = Chain(None, 32, 64, shared="LLC", cached=True, kept=False, evict_on="")
    assert cache.outer_chain() is cache
    alone = {"kept": True, "shared": "", "cached": False, "copies": 1}
    assert replace(cache, copies=2).outer_chain() == replace(cache, **alone)
    assert replace(cache, cached=False).outer_chain() == replace(cache, **alone)
    own = replace(cache, shared="")
    assert own.outer_chain() is own


def test_an_instance_keeps_data_of_a_shared_buffer_until_its_next_task_ends():
    cache = Chain(None, 32, 64, shared="LLC", cached=True, kept=False, evict_on="")
    assert cache.instance_chain("M") is cache
    buffer = replace(cache, cached=False)
    assert buffer.instance_chain("M") == replace(buffer, kept=True, evict_on="M", lingers=True)


@pytest.mark.parametrize("keeps", [True, False])
def test_a_stage_evicts_its_output_whether_its_first_einsum_has_stores_or_not(keeps):
    """Gamma merges T into Z in one stage; here the FiberCache keeps Z for one M."""
    specification = load("gamma")
    first, second = specification.einsums
    kept = [
        replace(one, component="FiberCache") if (one.tensor, one.evict_on) == ("Z", "M") else one
        for one in second.bindings.storage
    ]
    second = replace(second, bindings=replace(second.bindings, storage=tuple(kept)))
    if not keeps:
        first = replace(first, bindings=replace(first.bindings, storage=()))
    (stage,) = build_stages(replace(specification, einsums=(first, second)))
    assert stage.merger
    assert stage.rounds == 1
