"""The engine as a guest in somebody's process: silent, interruptible, and gone when it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap

import pytest
from serving_child import serving_child

from fallback.engine.core import Engine

pytestmark = pytest.mark.engine

START = """
import json, os, signal, sys, threading
from fallback.engine.core import Engine

engine = Engine()

def ask(predict, stream=False):
    body = {"model": "smollm2:135m", "prompt": "1 2 3", "raw": True, "stream": stream,
            "options": {"temperature": 0, "num_predict": predict, "num_ctx": 512}}
    return engine.handle("POST", "/api/generate", json.dumps(body).encode())
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", START + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=200,
    )


def test_nothing_is_printed_and_an_engine_left_open_does_no_harm(engine: Engine) -> None:
    done = run("assert json.loads(ask(3).read())['eval_count'] == 3")

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_generation_left_running_does_not_keep_the_process(engine: Engine) -> None:
    done = run("reply = ask(-1, stream=True); next(reply.body)")

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("where", ["main", "thread"])
def test_ctrl_c_stays_with_python_wherever_the_model_was_loaded(where: str, engine: Engine) -> None:
    done = run(f"""
        if {where!r} == "main":
            ask(1)
        else:
            thread = threading.Thread(target=ask, args=(1,))
            thread.start(); thread.join()
        try:
            os.kill(os.getpid(), signal.SIGINT)
            ask(-1)
        except KeyboardInterrupt:
            print("interrupted,", json.loads(ask(2).read())["eval_count"], "more")
    """)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "interrupted, 2 more\n"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_in_the_middle_of_a_reply_ends_it(engine: Engine) -> None:
    done = run("""
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            ask(-1)
        except KeyboardInterrupt:
            print(json.loads(ask(2).read())["eval_count"])
    """)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "2\n"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_the_served_engine_says_where_it_is_and_ends_on_ctrl_c(engine: Engine) -> None:
    code = """
        from fallback.engine.serve import run
        run(port=0, on_start=lambda url: print(url, flush=True))
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    with serving_child(command, stderr=subprocess.PIPE) as (url, server):
        import httpx

        body = {"model": "smollm2:135m", "prompt": "1 2", "raw": True, "stream": False}
        body["options"] = {"num_predict": 2}
        reply = httpx.post(f"{url}/api/generate", json=body, timeout=120)
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=60)

    assert reply.json()["eval_count"] == 2
    assert errors == ""
