"""Verilog of a user's own may act for some cycles after its last token; a block's own RTL may not."""

from dataclasses import replace

import pytest

pytest.importorskip("pyrtl", reason="the extra rtl is not installed")

from fiberscope.rtl import cosim_runs
from fiberscope.rtl.cosim_request import CosimRequest
from fiberscope.rtl.cosimulation import locate_rtl

SMALL = "uniform:rows=16,cols=16,nonzeros=60"


@pytest.mark.parametrize(("sources", "drain"), [((), 0), (("mine.v",), cosim_runs.USER_DRAIN_CYCLES)])
def test_only_the_verilog_of_a_user_drains(sources, drain, monkeypatch):
    collect, drains = cosim_runs.run_and_collect, {}

    def noted(run, adapters):
        result = collect(run, adapters)
        drains.update((name, adapter.drain) for name, adapter in adapters.items())
        return result

    monkeypatch.setattr(cosim_runs, "run_and_collect", noted)
    request = CosimRequest(("merger",), "gamma", SMALL, settings=("pe.radix=4",), cycle_limit=3)
    replacements, _makers = locate_rtl(request)
    cosim_runs.run_in_pyrtl(replacements, None, replace(request, sources=sources), None)
    assert drains == {"gamma.pe00.merger": drain}
