"""A server of S3's protocol, with a bucket for each test that asks for one."""

import logging
import uuid
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The address of the server."""
    server = pytest.importorskip("moto.server", reason="moto's server is not installed")
    pytest.importorskip("s3fs", reason="the extra 's3' is not installed")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    yield "http://{}:{}".format(*running.get_host_and_port())
    running.stop()


@pytest.fixture
def bucket(s3: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an empty bucket, which a process that is started has too."""
    import s3fs

    given = {"AWS_ENDPOINT_URL": s3, "AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    name = f"test-{uuid.uuid4().hex}"
    s3fs.S3FileSystem(skip_instance_cache=True).mkdir(name)
    return f"s3://{name}"
