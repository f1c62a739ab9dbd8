"""The workers that a sweep starts on this computer: who can talk to them, and what they need to start."""

import io
import ipaddress
import json
import resource
import shutil
import ssl
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from dask.config import collect_env, get
from distributed import Client
from distributed.security import Security

import fiberscope
from fiberscope.base.errors import InputError
from fiberscope.base.processes import StartError, check_processes
from fiberscope.explore.sweeps.clusters import _add_tls
from fiberscope.explore.sweeps.local_workers import _as_environment, _ErrorOutput

SEARCHED = ["--minimise", "cycles", "--over", "space.yaml", "--points", "2"]
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("suite", "search")]


# In a process of its own, where no other test has opened a socket.
LISTENING = """
import json, os, psutil
from fiberscope.explore.sweeps.clusters import connect_workers
from fiberscope.explore.sweeps.executors import ExecutorChoice

with connect_workers(ExecutorChoice(workers=2)) as client:
    assert client.submit(os.getpid, pure=False).result(timeout=60) != os.getpid()
    alive = [psutil.Process(), *psutil.Process().children(recursive=True)]
    sockets = [socket for process in alive for socket in process.net_connections("inet")]
    print(json.dumps([socket.laddr.ip for socket in sockets if socket.status == psutil.CONN_LISTEN]))
"""


def test_all_sockets_of_a_sweep_are_on_the_loopback_address_and_none_speaks_http(workers: Any) -> None:
    command = [sys.executable, "-c", LISTENING]
    addresses = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert len(addresses) >= 3  # the scheduler, and two workers at least
    assert all(ipaddress.ip_address(address).is_loopback for address in addresses)
    workers_here = workers.scheduler_info(n_workers=-1)["workers"].values()
    assert all(address.startswith("tls://127.0.0.1:") for address in workers.nthreads())
    assert [worker["services"] for worker in workers_here] == [{}, {}]


@pytest.mark.parametrize("stranger", ["plain", "own key"])
def test_who_has_not_the_key_of_a_sweep_cannot_give_it_tasks(workers: Any, stranger: str) -> None:
    address = workers.scheduler.address
    options: dict[str, Any] = {"timeout": "3s"}
    if stranger == "plain":
        address = address.replace("tls://", "tcp://")
    else:
        options["security"] = Security.temporary()
    with pytest.raises((OSError, ssl.SSLError)):
        Client(address, **options)
    for address in workers.nthreads():
        with pytest.raises((OSError, ssl.SSLError)):
            Client(address.replace("tls://", "tcp://") if stranger == "plain" else address, **options)


def test_a_batch_cluster_has_tls_and_no_http_server(tmp_path: Path) -> None:
    options = _add_tls({"cores": 1, "worker_extra_args": ["--lifetime", "1h"]}, str(tmp_path))
    assert (options["protocol"], options["security"].require_encryption) == ("tls://", True)
    assert options["shared_temp_directory"] == str(tmp_path)
    assert options["scheduler_options"] == {"dashboard": False, "dashboard_address": None}
    assert options["worker_extra_args"][0] == "--no-dashboard"
    assert options["worker_extra_args"][-2:] == ["--lifetime", "1h"]


def said(command: Sequence[str], folder: Path, **options: Any) -> tuple[int, list[str], float]:
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "fiberscope", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        **options,
    )
    return done.returncode, done.stderr.splitlines(), time.monotonic() - began


def commands(small: str, workers: int) -> dict[str, list[str]]:
    here = ["--workers", str(workers)]
    return {
        "sweep": ["sweep", "gamma", small, "--grid", "pe.count=2,4", "--quiet", *here],
        "suite": ["suite", "gamma", "--workloads", "list.txt", "--quiet", *here],
        "search": ["search", "gamma", small, *SEARCHED, "--quiet", *here],
        "map": ["map", "matmul", *here],
    }


def few_files() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))


@pytest.mark.parametrize("name", [pytest.param("sweep", marks=pytest.mark.slow), "map", *SLOW])
def test_workers_that_cannot_start_are_a_line_and_one_worker_needs_none(
    name: str, small: str, tmp_path: Path
) -> None:
    (tmp_path / "list.txt").write_text(f"{small}\n")
    (tmp_path / "space.yaml").write_text("pe.count: [2, 4]\n")
    code, lines, seconds = said(commands(small, 4)[name], tmp_path, preexec_fn=few_files)
    assert (code, len(lines)) == (2, 1)
    assert "ulimit -n" in lines[0]
    assert "--workers 1" in lines[0]
    assert seconds < 60  # a busy computer takes ten for the imports alone
    code, lines, _seconds = said(commands(small, 1)[name], tmp_path, preexec_fn=few_files)
    assert (code, lines) == (0, [])


@pytest.mark.parametrize("name", ["sweep", pytest.param("map", marks=pytest.mark.slow)])
def test_shared_memory_that_is_read_only_is_named(name: str, small: str, tmp_path: Path) -> None:
    inside = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o ro none /dev/shm && "$@"', "sh"]
    if shutil.which("unshare") is None or subprocess.run([*inside, "true"], check=False).returncode:
        pytest.skip("mounts of its own need the right to make them")
    for workers, code in ((2, 2), (1, 0)):
        command = [*inside, sys.executable, "-m", "fiberscope", *commands(small, workers)[name]]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        lines = done.stderr.splitlines()
        assert (done.returncode, len(lines)) == (code, 1 if code else 0)
        assert not code or ("/dev/shm" in lines[0] and "--workers 1" in lines[0])


def test_a_folder_of_temporary_files_that_takes_none_is_named(
    small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: object, **_options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.NamedTemporaryFile", full)
    with pytest.raises(StartError, match=r"temporary file.*No space left on device.*--workers 1"):
        check_processes(2, 4)


def test_a_system_that_starts_no_process_is_named_and_one_worker_runs_all_itself(
    small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_arguments: object, **_options: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refused)
    with pytest.raises(StartError, match=r"starts no process .*Resource temporarily unavailable"):
        fiberscope.sweep("gamma", small, grid={"pe.count": [2, 4]}, workers=2, progress=False)
    frame = fiberscope.sweep("gamma", small, grid={"pe.count": [2, 4]}, workers=1, progress=False)
    assert list(frame["status"]) == ["done", "done"]


def test_a_worker_that_ends_at_once_ends_the_sweep(
    small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fiberscope.explore.sweeps.local_workers._OPTIONS", ("--no-such-option",))
    with pytest.raises(StartError, match=r"workers cannot start: .*no-such-option.*--workers 1"):
        fiberscope.sweep("gamma", small, grid={"pe.count": [2, 4]}, workers=2, progress=False)


def test_a_process_for_points_that_cannot_start_ends_the_sweep(
    scheduler: str, small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "fiberscope.explore.sweeps.point_process._CHILD_COMMAND",
        [sys.executable, "-c", "raise SystemExit(3)"],
    )
    monkeypatch.setattr("fiberscope.explore.sweeps.point_process._THREAD", type("Fresh", (), {})())
    with pytest.raises(InputError, match="exit code 3"):
        fiberscope.sweep("gamma", small, scheduler=scheduler, progress=False)


@pytest.mark.parametrize(("is_silent", "printed"), [(False, "first\nsecond \\xff\n"), (True, "")])
def test_errors_of_the_start_are_printed_when_all_workers_have_started(
    is_silent: bool, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    errors = _ErrorOutput(io.BytesIO(b"first\nsecond \xff\n"))
    assert (errors.read_last_line(), capsys.readouterr().err) == ("second \ufffd", "")
    if is_silent:
        errors.stop_forwarding()
    errors.start_forwarding()
    assert capsys.readouterr().err == printed


def test_workers_read_their_configuration_as_it_is_and_without_warnings() -> None:
    key = "-----BEGIN KEY-----\nMIIB+3or/5in\n-----END KEY-----\n"  # ``3or`` would be a deprecated number
    sent = {"distributed.comm.tls.worker.key": key, "distributed.comm.require-encryption": True, "a.b": "10s"}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        received = collect_env(_as_environment(sent))
    assert {name: get(name, config=received) for name in sent} == sent
    assert [str(warning.message) for warning in caught] == []
