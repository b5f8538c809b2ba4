"""Runs a program of the user's and takes what it prints, for so long and no longer."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from typing import BinaryIO

from tracekit.fetch.http import CHUNK_BYTES

#: What is kept of what it says on stderr: the end, where the reason stands.
_SAID_BYTES = 65_536
#: How long a program that is asked to end may take over it.
_PATIENCE_S = 2.0


def print_into(command: list[str], out: BinaryIO, timeout_s: float) -> tuple[int, str]:
    """Write what a program prints; its exit code, and the end of what it said on stderr.

    It is ended with whatever ends this call: its time is up, a signal, a full disk.

    Raises
    ------
    TimeoutError
        When it has not ended after so many seconds.
    OSError
        When it cannot be started, or its output not be written.
    """
    end = time.monotonic() + timeout_s
    with subprocess.Popen(  # noqa: S603 - the user names the program
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    ) as running:
        try:
            said = _taken(running, out, end)
            return running.wait(_left(end)), said.decode(errors="replace")
        except subprocess.TimeoutExpired as late:
            raise TimeoutError from late
        finally:
            _ended(running)


def _taken(running: subprocess.Popen[bytes], out: BinaryIO, end: float) -> bytes:
    """Pass on stdout to its end; what was said on stderr in the meantime."""
    said = b""
    with selectors.DefaultSelector() as open_pipes:
        for pipe in (running.stdout, running.stderr):
            assert pipe is not None  # noqa: S101 - as asked for
            open_pipes.register(pipe, selectors.EVENT_READ)
        while open_pipes.get_map():
            ready = open_pipes.select(_left(end))
            if not ready:
                raise TimeoutError
            for key, _ in ready:
                chunk = os.read(key.fd, CHUNK_BYTES)
                if not chunk:
                    open_pipes.unregister(key.fileobj)
                elif key.fileobj is running.stdout:
                    out.write(chunk)
                else:
                    said = (said + chunk)[-_SAID_BYTES:]
    return said


def _left(end: float) -> float:
    return max(end - time.monotonic(), 0.0)


def _ended(running: subprocess.Popen[bytes]) -> None:
    """See that it is gone; what it has started itself ends at its closed output."""
    for pipe in (running.stdout, running.stderr):
        if pipe is not None:
            pipe.close()
    if running.poll() is None:
        running.terminate()
        try:
            running.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            running.kill()
