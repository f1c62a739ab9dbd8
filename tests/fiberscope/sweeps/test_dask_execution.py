"""Sweeps: what is run, what fails, and what kills leave, on a scheduler with two processes of workers."""

import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pytest
from shown_rows import check_hidden, check_page_without_hidden
from sweeps_here import sweep_by_key

import fiberscope
from fiberscope import cli
from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.dask_execution import execute_batches
from fiberscope.explore.sweeps.local_workers import build_credentials
from fiberscope.explore.sweeps.plan import plan_tasks
from fiberscope.explore.sweeps.point import Point
from fiberscope.explore.sweeps.point_process import _CHILD_COMMAND, Limits
from fiberscope.explore.sweeps.progress import Progress
from fiberscope.results.store import Store
from fiberscope.results.store.columns import decode_row

ROOT = Path(__file__).parents[3]
SLOW = "uniform:rows=30,cols=30,nonzeros=100"  # the toy, in Python, takes some hundredths of a second
FORKS = multiprocessing.get_context("forkserver")  # sweeps that have imported already what they need
FORKS.set_forkserver_preload(
    ["pytest", "rich.console", "fiberscope.explore.sweeps.api", "fiberscope.results.store.query"]
)


def test_a_sweep_gives_what_single_runs_give(scheduler: str, small: str, tmp_path: Path) -> None:
    frame = fiberscope.sweep(
        "gamma",
        [small, f"{small},seed=1"],
        grid={"pe.count": [4, 8]},
        store=tmp_path / "s",
        scheduler=scheduler,
        progress=False,
    )
    assert list(frame["pe.count"]) == [4, 8, 4, 8]
    assert list(frame["workload"]) == [small, small, f"{small},seed=1", f"{small},seed=1"]
    single = fiberscope.simulate("gamma", small, pe__count=8)
    assert frame["cycles"][1] == single.cycles
    kept = Store(tmp_path / "s").reports([frame["digest"][1]])[frame["digest"][1]]
    assert kept.model_copy(update={"host": single.host}) == single


def test_every_command_that_ends_in_a_report_can_be_swept(scheduler: str, tmp_path: Path) -> None:
    small = "uniform:rows=20,cols=20,nonzeros=60"
    for command, accelerator, workload, fidelity in (
        ("sim", "extensor", small, "event"),
        ("model", "gamma", small, "trace"),
        ("analyze", "matmul", "", "analytical"),
        ("convert", "csr csc", small, "event"),
        ("graph", str(ROOT / "examples" / "graphs" / "fig14_identity.gv"), f"B={small}", "event"),
    ):
        frame = fiberscope.sweep(
            accelerator, workload, command=command, store=tmp_path, scheduler=scheduler, progress=False
        )
        assert (frame["status"][0], frame["reason"][0]) == ("done", "")
        assert (frame["command"][0], frame["fidelity"][0]) == (command, fidelity)
        assert frame["cycles"][0] > 0
    assert len(Store(tmp_path).frame()) == 5


def test_a_point_in_the_store_is_not_run_again(scheduler: str, small: str, tmp_path: Path) -> None:
    def swept(**given: Any) -> pd.DataFrame:
        return fiberscope.sweep("gamma", small, store=tmp_path, scheduler=scheduler, progress=False, **given)

    first = swept(grid={"pe.count": [4, 8]})
    second = swept(grid={"pe.count": [8, 16], "fibercache.ways": [16]})
    assert first["wall_seconds"][1] == second["wall_seconds"][0]
    assert list(second["fibercache.ways"]) == [16, 16]  # also of the one that was not given it
    assert len(pd.read_parquet(tmp_path)) == 3


def test_failures_are_rows_and_the_sweep_goes_on(scheduler: str, toy: str, tmp_path: Path) -> None:
    points: list[dict[str, object]] = [
        {"fault": "deadlock"},
        {"fault": "wrong"},
        {"lane.count": 7},
        {"lane.pause": 3},
    ]
    frame = fiberscope.sweep(
        toy,
        "uniform:rows=9,cols=9,nonzeros=20",
        points=points,
        store=tmp_path,
        scheduler=scheduler,
        progress=False,
    )
    assert list(frame["status"]) == ["deadlock", "wrong", "refused", "done"]
    assert "waits for a token at in" in frame["reason"][0]
    assert "the machine's product is wrong" in frame["reason"][1]
    assert "does not divide into lane.count (7)" in frame["reason"][2]
    assert all("\n" not in reason for reason in frame["reason"])
    assert frame["cycles"][0] > 0  # it has its report
    again = fiberscope.sweep(
        toy,
        "uniform:rows=9,cols=9,nonzeros=20",
        points=points,
        store=tmp_path,
        scheduler=scheduler,
        progress=False,
        retry=True,
    )
    assert again["wall_seconds"][0] != frame["wall_seconds"][0]
    assert again["wall_seconds"][3] == frame["wall_seconds"][3]
    assert len(pd.read_parquet(tmp_path)) == 4


def test_a_retry_that_is_ended_at_once_leaves_the_rows_of_what_had_failed(
    scheduler: str, toy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {"points": [{"fault": "deadlock"}, {"fault": "none"}], "store": tmp_path}
    given |= {"scheduler": scheduler, "progress": False}
    before = fiberscope.sweep(toy, "uniform:rows=9,cols=9,nonzeros=20", **given)

    def interrupted(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fiberscope.explore.sweeps.dask_execution.execute_batches", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fiberscope.sweep(toy, "uniform:rows=9,cols=9,nonzeros=20", retry=True, **given)
    assert dict(zip(before["digest"], before["status"], strict=True)) == dict(
        Store(tmp_path).frame()[["digest", "status"]].to_numpy().tolist()
    )


def test_a_point_that_takes_too_long_or_too_much_has_its_row(
    scheduler: str, toy: str, tmp_path: Path
) -> None:
    large = "uniform:rows=2000,cols=2000,nonzeros=200000"
    limits = ({"timeout": 0.3}, {"memory": 20_000_000})
    for number, (limit, status, reason) in enumerate(
        zip(
            limits,
            ("timeout", "memory"),
            ("took more than 0.3 s", "took more than 20,000,000 bytes"),
            strict=True,
        )
    ):
        given = {"scheduler": scheduler, "progress": False, **limit}
        frame = fiberscope.sweep("gamma", f"{large},seed={number}", store=tmp_path, **given)
        assert frame["status"][0] == status
        assert frame["reason"][0].startswith(reason)


def test_a_limit_of_time_is_of_the_point_and_not_of_its_new_process(
    scheduler: str, toy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "fiberscope.explore.sweeps.worker"
    child = f"import runpy, time; time.sleep(7); runpy.run_module('{module}', run_name='__main__')"
    monkeypatch.setattr(
        "fiberscope.explore.sweeps.point_process._CHILD_COMMAND", [sys.executable, "-c", child]
    )
    mine = altered(toy, tmp_path, "signal.SIGINT", "signal.SIGKILL")
    frame = fiberscope.sweep(
        mine,
        "uniform:rows=9,cols=9,nonzeros=20",
        grid={"fault": ["interrupt", "none"]},
        timeout=6,
        store=tmp_path / "s",
        scheduler=scheduler,
        progress=False,
    )
    assert list(frame["status"]) == ["crashed", "done"]


def test_a_process_whose_starter_died_while_it_imported_ends_in_silence() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(_CHILD_COMMAND, stdin=pipe, stdout=pipe, stderr=pipe) as child:
        assert child.stdout is not None
        child.stdout.close()
        assert child.communicate(timeout=60)[1] == b""


def test_a_point_that_brings_its_process_down_costs_itself(scheduler: str, tmp_path: Path, toy: str) -> None:
    frame = fiberscope.sweep(
        altered(toy, tmp_path, "signal.SIGINT", "signal.SIGKILL"),
        "uniform:rows=9,cols=9,nonzeros=20",
        grid={"fault": ["interrupt", "none"]},
        store=tmp_path / "s",
        scheduler=scheduler,
        progress=False,
    )
    assert list(frame["status"]) == ["crashed", "done"]
    assert frame["reason"][0] == "its process ended by signal 9"


def altered(toy: str, folder: Path, old: str, new: str) -> str:
    """The file of a toy in which a word is another."""
    (folder / "config.yaml").write_text((Path(toy).parent / "config.yaml").read_text())
    text = Path(toy).read_text()
    assert old in text
    (folder / "mine.py").write_text(text.replace(old, new))
    return str(folder / "mine.py")


def test_a_death_of_a_worker_gives_back_what_is_unfinished_of_its_batch_and_costs_who_ran(
    workers: Any, toy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fiberscope.explore.sweeps.dask_execution.MAX_DEATHS", 2)
    runs = f"""open("{tmp_path}/runs", "a").write(f"{{parameters.lane.pause}}\\n")
        if parameters.lane.pause == 3:
            import time
            time.sleep(0.5)  # the scheduler hears of the points before this one
            os.kill(os.getppid(), signal.SIGKILL)
        self.parameters, self.a"""
    mine = altered(toy, tmp_path, "self.parameters, self.a", runs)
    points = (Point("sim", mine, "uniform:rows=9,cols=9,nonzeros=20", {"lane.pause": n}) for n in range(1, 6))
    tasks = plan_tasks(points)
    execute_batches(workers, iter([tasks]), Store(tmp_path / "s", make=True), Limits(), Progress(tasks))
    frame = Store(tmp_path / "s").frame().set_index("lane.pause")
    assert list(frame["status"].sort_index()) == ["done", "done", "crashed", "done", "done"]
    assert re.fullmatch(r"its worker died \d+ times", frame["reason"][3])
    assert sorted((tmp_path / "runs").read_text().split()) == ["1", "2", "3", "3", "4", "5"]


def test_changed_sources_make_new_rows_by_what_is_there_now_and_leave_the_others_alone(
    scheduler: str,
    toy: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    printed,
) -> None:
    """The worker and its process are there all the time, as a cluster's are."""
    monkeypatch.setattr(sys, "path", sys.path[:])
    rules, store = tmp_path / "pauses_of_mine.py", tmp_path / "s"
    mine = altered(
        toy, tmp_path, "self.parameters, self.a", "parameters = more(parameters); self.parameters, self.a"
    )
    rule = "def more(parameters):\n    lane = parameters.lane.model_copy(update={{'pause': {}}})\n"
    rule += "    return parameters.model_copy(update={{'lane': lane}})\n"
    found = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nfrom pauses_of_mine import more\n"
    Path(mine).write_text(f"{Path(mine).read_text()}\n{found}")
    command = [
        "sweep",
        mine,
        "uniform:rows=9,cols=9,nonzeros=20",
        "--scheduler",
        scheduler,
        "--store",
        str(store),
    ]
    for pause in (1, 10, 1):  # of different sizes: bytecode goes by that, and by whole seconds
        rules.write_text(rule.format(pause))
        assert cli.run(command) == 0
    frame, shown = Store(store).frame(all_sources=True), capsys.readouterr().out
    assert len(frame) == len(set(frame["source"])) == len(set(frame["cycles"])) == 2
    assert "1 in the store before\nLeft alone: 1 rows of other sources" in shown
    shown = printed("results", str(store), "--sources")
    assert all(source[:12] in shown for source in frame["source"])
    assert "--sources tells them apart" not in shown
    check_hidden(store, frame["cycles"], capsys)
    rules.write_text(rule.format(100))
    assert cli.run([*command, "--grid=lane.count=4"]) == 0  # no point that was run before
    assert len(Store(store).frame(all_sources=True)) == 3
    check_page_without_hidden(store, tmp_path / "page.html")


def test_no_scheduler_is_a_line(monkeypatch: pytest.MonkeyPatch, small: str) -> None:
    monkeypatch.setattr("fiberscope.explore.sweeps.clusters.CONNECT_TIMEOUT", "1s")
    with pytest.raises(InputError, match=r"tcp://127.0.0.1:1: no Dask scheduler answers"):
        fiberscope.sweep("gamma", small, scheduler="tcp://127.0.0.1:1", progress=False)


def test_points_wait_for_workers_that_are_still_to_come(
    scheduler: str, small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fiberscope.explore.sweeps.dask_execution.count_threads", lambda _client: 0)
    frame = fiberscope.sweep(
        "gamma", small, grid={"pe.count": [1, 2, 3]}, scheduler=scheduler, progress=False
    )
    assert list(frame["status"]) == ["done"] * 3


def finished(folder: Path) -> dict[str, bytes]:
    """The rows that have arrived, by name."""
    return {file.name: file.read_bytes() for file in (folder / "_arrived").glob("*.json.gz")}


def wait_for_rows(folder: Path, chance: random.Random, over: Callable[[], bool]) -> None:
    """Wait until a few more rows have arrived, and any while longer."""
    store = Store(folder, make=True)
    wanted = len(store.digests()) + chance.randrange(3)
    while len(store.digests()) < wanted and not over():
        time.sleep(0.05)
    time.sleep(chance.uniform(0, 0.1))


def killed_sweep(
    key: dict[str, object], options: dict[str, Any], folder: Path, chance: random.Random
) -> bool:
    """Start a sweep and kill it; whether it had not come to its end before."""
    process = FORKS.Process(target=sweep_by_key, args=(key,), kwargs=options)
    process.start()
    wait_for_rows(folder, chance, lambda: not process.is_alive())
    process.kill()
    process.join()
    return process.exitcode == -signal.SIGKILL


def kill_workers(client: Any, folder: Path, chance: random.Random, kills: int, over: threading.Event) -> int:
    """Kill one of the workers now and then; how many were there to be killed."""
    killed = 0
    while killed < kills and not over.is_set():
        wait_for_rows(folder, chance, over.is_set)
        pids = [one for one in client.run(os.getpid, on_error="ignore").values() if psutil.pid_exists(one)]
        if pids and not over.is_set():
            os.kill(chance.choice(pids), signal.SIGKILL)
            killed += 1
    return killed


@pytest.mark.parametrize(
    ("sweeps", "deaths"),
    [(2, 1), pytest.param(50, 50, marks=pytest.mark.slow)],  # a new worker takes 2 s of processor time
)
def test_no_finished_point_is_lost_or_there_twice_however_often_workers_and_sweeps_are_killed(
    workers: Any, toy: str, tmp_path: Path, sweeps: int, deaths: int
) -> None:
    chance, store, scheduler = random.Random(sweeps), tmp_path / "s", workers.scheduler.address
    pauses = list(range(1, 1 + 5 * (sweeps + deaths)))
    key = build_credentials(workers.security, "client")
    options = {"accelerator": toy, "workloads": SLOW, "grid": {"lane.pause": pauses}}
    options |= {"store": store, "scheduler": scheduler, "progress": False}
    seen: dict[str, bytes] = {}
    ended = 0
    for _ in range(sweeps):
        ended += killed_sweep(key, options, store, chance)
        seen |= finished(store)
    over = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        killed = pool.submit(kill_workers, workers, store, chance, deaths, over)
        frame = sweep_by_key(key, **options)
        over.set()
    assert (ended, killed.result()) == (sweeps, deaths)
    assert list(frame["status"]) == ["done"] * len(pauses)
    assert list(frame["lane.pause"]) == pauses
    assert sorted(pd.read_parquet(store)["digest"]) == sorted(frame["digest"])
    walls = frame.set_index("digest")["wall_seconds"]
    for name, content in seen.items():
        assert (
            walls[name.removesuffix(".json.gz")] == decode_row(content).values["wall_seconds"]
        )  # not run again


def test_two_sweeps_share_a_store(scheduler: str, small: str, tmp_path: Path) -> None:
    quiet = {"scheduler": scheduler, "progress": False}
    swept = [
        threading.Thread(
            target=fiberscope.sweep,
            args=("gamma", small),
            kwargs={"grid": {"pe.count": counts}, "store": tmp_path, **quiet},
        )
        for counts in ([1, 2, 3, 4], [3, 4, 5, 6])
    ]
    for one in swept:
        one.start()
    for one in swept:
        one.join()
    assert sorted(pd.read_parquet(tmp_path)["pe_count"]) == [1, 2, 3, 4, 5, 6]
