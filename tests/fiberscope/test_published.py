"""A whole machine against its publication, on the matrix that is shipped: it takes nothing else."""

import pytest

import accelerators
import fiberscope
from fiberscope.study.compare import published


def test_gamma_on_wiki_vote_comes_near_what_was_published(monkeypatch, tmp_path):
    """Cycles within 6 % of the authors' simulator, all traffic within 2 % of TeAAL's count of bytes."""
    monkeypatch.setenv("FIBERSCOPE_DATA", str(tmp_path))  # the shipped matrix, whatever else is at hand
    known = published(accelerators.find("gamma"))
    settings = known.settings | known.models["simple"]
    report = fiberscope.simulate("gamma", "wiki-Vote", settings=settings, exact=True)
    assert report.workload.source == "real"
    reported, modelled = (known.find("wiki-Vote", by) for by in ("reported", "TeAAL"))
    assert report.cycles == pytest.approx(reported.cycles, rel=0.06)
    moved = sum(tensor.read_bytes + tensor.write_bytes for tensor in report.traffic.values())
    assert moved == pytest.approx(sum(modelled.traffic.values()), rel=0.02)
