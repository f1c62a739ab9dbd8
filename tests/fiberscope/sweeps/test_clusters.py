"""The workers that a sweep starts on its own computer."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from fiberscope.explore.sweeps.clusters import connect_workers
from fiberscope.explore.sweeps.executors import ExecutorChoice


def test_workers_come_back_when_the_process_that_started_them_is_killed() -> None:
    with connect_workers(ExecutorChoice(workers=1)) as client:
        worker = psutil.Process(client.submit(os.getpid, pure=False).result(timeout=60))
        worker.parent().kill()
        worker.wait(timeout=60)
        assert client.submit(os.getpid, pure=False).result(timeout=60) != worker.pid


@pytest.mark.slow
def test_a_sweep_that_is_killed_takes_its_workers_along_and_nothing_is_said(toy: str, tmp_path: Path) -> None:
    arguments = ["sweep", toy, "uniform:rows=30,cols=30,nonzeros=100", "--store", str(tmp_path), "--quiet"]
    arguments += ["--workers", "1", "--grid", f"lane.pause={','.join(map(str, range(1, 1000)))}"]
    command = [sys.executable, "-m", "fiberscope", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, cwd=tmp_path) as sweep:
        while sweep.poll() is None and not list((tmp_path / "_arrived").glob("*.json.gz")):
            time.sleep(0.1)
        sweep.kill()
        _, said = sweep.communicate(timeout=60)  # all who could say something have gone then
    assert (sweep.returncode, said.decode()) == (-signal.SIGKILL, "")


DASK_JOBQUEUE = """
import signal
from fiberscope.explore.sweeps.clusters import _import_dask_jobqueue
before = signal.getsignal(signal.SIGINT)
assert _import_dask_jobqueue().SLURMCluster is not None
assert signal.getsignal(signal.SIGINT) is before
"""


IN_A_THREAD = """
import dask_jobqueue
from concurrent.futures import ThreadPoolExecutor
from fiberscope.explore.sweeps.clusters import _import_dask_jobqueue
with ThreadPoolExecutor(1) as threads:
    assert threads.submit(_import_dask_jobqueue).result().SLURMCluster is not None
"""


def test_the_library_of_batch_systems_is_used_from_any_thread_once_it_is_imported() -> None:
    """Only the main thread may set the handler of a signal."""
    command = [sys.executable, "-c", IN_A_THREAD]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_is_still_the_commands_own_beside_the_library_of_batch_systems() -> None:
    """The library has Ctrl-C end the process without a word, from its import on."""
    done = subprocess.run([sys.executable, "-c", DASK_JOBQUEUE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
