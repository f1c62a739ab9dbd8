"""Sweeps in jobs of a real Slurm of one node, which runs on this computer for as long as the test does."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

import fiberscope

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun")
SEARCHED = f"{os.environ['PATH']}:/usr/sbin"
CONFIGURATION = """ClusterName=one
SlurmctldHost=localhost
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmdSpoolDir={folder}/spool
StateSaveLocation={folder}/state
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName=localhost NodeHostname={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory=2000 State=UNKNOWN
PartitionName=all Nodes=localhost Default=YES MaxTime=INFINITE State=UP
"""


def free_ports() -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(2)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A node of which all cores are idle."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=SEARCHED) is None]
    if missing:
        pytest.skip(
            f"Slurm is not installed (on Debian: apt install slurm-wlm munge): no {', '.join(missing)}"
        )
    if os.getuid() != 0:
        pytest.skip("only root can run munged, slurmctld and slurmd as this test does")
    for name in ("spool", "state"):
        (tmp_path / name).mkdir()
    key, cores = tmp_path / "key", len(os.sched_getaffinity(0))
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    settings = CONFIGURATION.format(
        folder=tmp_path, ports=free_ports(), host=socket.gethostname().partition(".")[0], cores=cores
    )
    (tmp_path / "slurm.conf").write_text(settings)
    monkeypatch.setenv("PATH", SEARCHED)
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    files = {"key-file": key, "socket": tmp_path / "munge.sock", "pid-file": tmp_path / "munge.pid"}
    files |= {"log-file": tmp_path / "munge.log", "seed-file": tmp_path / "seed"}
    commands = [
        ["munged", "--foreground", "--force", *(f"--{name}={path}" for name, path in files.items())],
        ["slurmctld", "-D"],
        ["slurmd", "-D", "-N", "localhost"],
    ]
    with (tmp_path / "daemons.log").open("w") as log:
        daemons = [subprocess.Popen(command, stdout=log, stderr=log) for command in commands[:1]]
        time.sleep(1)
        daemons += [subprocess.Popen(command, stdout=log, stderr=log) for command in commands[1:]]
        try:
            wait_until_idle()
            yield
        finally:
            for daemon in reversed(daemons):
                daemon.terminate()
                daemon.wait()


def wait_until_idle() -> None:
    for _ in range(60):
        told = subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, text=True, check=False)
        if told.stdout.strip() == "idle":
            return
        time.sleep(0.5)
    pytest.fail(f"the node did not become idle: {told.stdout}{told.stderr}")


@pytest.mark.slow
def test_a_sweep_runs_in_jobs_of_slurm(slurm: None, small: str, tmp_path: Path) -> None:
    options = {"jobs": 2, "cores": 1, "processes": 1, "memory": "500MB", "queue": "all", "interface": "lo"}
    options |= {"python": sys.executable, "log_directory": str(tmp_path), "job_extra_directives": ["--mem=0"]}
    file = tmp_path / "slurm.yaml"
    file.write_text(yaml.safe_dump({**options, "walltime": "00:10:00"}))
    frame = fiberscope.sweep("gamma", small, grid={"pe.count": [1, 2, 4, 8]}, slurm=file, progress=False)
    assert list(frame["status"]) == ["done"] * 4
    assert frame["cycles"][3] == fiberscope.simulate("gamma", small, pe__count=8).cycles
    told = subprocess.run(["scontrol", "show", "jobs"], capture_output=True, text=True, check=True).stdout
    assert told.count("JobName=dask-worker") == 2  # it was they who ran
