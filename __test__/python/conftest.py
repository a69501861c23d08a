"""An engine of its own for the official Python SDK: private home, TCP with a key."""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
BINARY = REPOSITORY / "native" / "pandastack"


def prepared_home() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(os.environ.get("PANDASTACK_HOME") or Path(state) / "pandastack")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def engine():
    """Starts the engine; the official SDK finds it through the environment."""
    home = Path(tempfile.mkdtemp(prefix="pandastack-test-"))
    for shared in ("templates", "bin"):
        if (prepared_home() / shared).exists():
            (home / shared).symlink_to(prepared_home() / shared)
    port = free_port()
    env = {**os.environ, "PANDASTACK_HOME": str(home), "PANDASTACK_API": f"unix:{home}/engine.sock"}
    with open(home / "test-engine.log", "wb") as log:
        daemon = subprocess.Popen([BINARY, "serve", "--listen", f"127.0.0.1:{port}"], env=env, stdout=log, stderr=log)

    def cli(*args: str) -> subprocess.CompletedProcess:
        return subprocess.run([BINARY, *args], env=env, capture_output=True, text=True)

    deadline = time.monotonic() + 30
    while cli("engine", "status").returncode != 0:
        assert daemon.poll() is None and time.monotonic() < deadline, (home / "test-engine.log").read_text()
        time.sleep(0.05)
    token = re.search(r"pds_[0-9a-f]{32}", cli("token", "create", "--label", "python").stdout)
    assert token
    os.environ["PANDASTACK_API"] = f"http://127.0.0.1:{port}"
    os.environ["PANDASTACK_API_KEY"] = token.group()
    yield
    cli("engine", "stop", "--kill")
    daemon.kill()
    daemon.wait()
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def sandbox(engine):
    """A sandbox made by the official SDK, killed afterwards."""
    from pandastack import Sandbox

    made = Sandbox.create(template="code-interpreter", ttl_seconds=3600)
    yield made
    made.kill()
