"""Signals that ask a process to end: it cleans up as for Ctrl-C, and says nothing."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGTERM, signal.SIGHUP)


class EndedBySignalError(KeyboardInterrupt):
    """SIGTERM or SIGHUP; cleaned up after as an interruption is.

    Parameters
    ----------
    number : int
        The signal's.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


class Ending:
    """What became of the process: the exit code of the signal that ended it, if one did."""

    exit_code: int | None = None

    def received(self, number: int, _frame: FrameType | None) -> None:
        """Leave from wherever the process is; cleaning up is not to be interrupted again."""
        for one in _ENDING:
            signal.signal(one, signal.SIG_IGN)
        self.exit_code = 128 + number
        raise EndedBySignalError(number)


@contextmanager
def ended_by_signals() -> Iterator[Ending]:
    """Raise where a signal asks to end; ``nohup`` and its like, which ignore one, are obeyed."""
    ending = Ending()
    before = {}
    for one in _ENDING:
        if signal.getsignal(one) is not signal.SIG_IGN:
            before[one] = signal.signal(one, ending.received)
    try:
        yield ending
    finally:
        with contextlib.suppress(TypeError, ValueError):
            for one, handler in before.items():
                signal.signal(one, handler)
