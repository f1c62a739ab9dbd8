"""The workers that a sweep starts on its own computer."""

import os

import psutil

from fiberscope.sweeps.clusters import Where, connected


def test_workers_come_back_when_the_process_that_started_them_is_killed() -> None:
    with connected(Where(workers=1)) as client:
        worker = psutil.Process(client.submit(os.getpid, pure=False).result(timeout=60))
        worker.parent().kill()
        worker.wait(timeout=60)
        assert client.submit(os.getpid, pure=False).result(timeout=60) != worker.pid
