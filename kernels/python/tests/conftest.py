"""Fixtures: one zygote for all tests, one kernel for each."""

import pytest
from agent import Zygote


@pytest.fixture(scope="session")
def zygote():
    process = Zygote()
    yield process
    process.close()


@pytest.fixture
def kernel(zygote, tmp_path):
    process = zygote.fork(cwd=str(tmp_path))
    yield process
    process.close()
    while zygote.control.receive()["pid"] != process.pid:
        pass
