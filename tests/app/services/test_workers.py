"""Ended workers are replaced at once, and signals are obeyed."""

from __future__ import annotations

import logging
import os
import signal
import time
from threading import Thread

import pytest
import uvicorn
from uvicorn.supervisors.multiprocess import SIGNALS

from app.cli.listening import bind_socket
from app.http.server import WorkerSupervisor
from tests.processes.waiting import eventually


async def answer(scope: object, receive: object, send: object) -> None:
    """An application without answers."""


@pytest.mark.system
def test_a_killed_worker_is_replaced_and_signals_are_obeyed_meanwhile(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with bind_socket("127.0.0.1", 0) as listener:
        config = uvicorn.Config(answer, workers=2, lifespan="off", timeout_worker_healthcheck=120)
        former = {one: signal.getsignal(one) for one in SIGNALS}
        supervisor = WorkerSupervisor(config, [listener])
        for one, handler in former.items():
            signal.signal(one, handler)
        caplog.set_level(logging.WARNING, "uvicorn.error")
        logging.getLogger("uvicorn.error").addHandler(caplog.handler)
        running = Thread(target=supervisor.run)
        running.start()
        eventually(lambda: len(supervisor.processes) == 2, 20)
        killed = supervisor.processes[0].pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        eventually(lambda: supervisor.processes[0].pid not in (killed, None), 5)
        supervisor.signal_queue.append(signal.SIGTERM)
        asked = time.monotonic()
        running.join(20)
        logging.getLogger("uvicorn.error").removeHandler(caplog.handler)
    assert not running.is_alive()
    assert time.monotonic() - asked < 10
    assert f"worker {killed} was ended by signal 9" in caplog.text
