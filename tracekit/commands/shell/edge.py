"""The edge, the only one: what went wrong becomes one line, a hint and an exit code."""

import atexit
import contextlib
import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from tracekit.base.errors import TracekitError, system_error
from tracekit.base.files.places import store_error
from tracekit.base.opened import NoFileError
from tracekit.commands.shell.streams import ReaderGoneError, drop_output, fit_streams, visible

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_FULL_HINT = "make room, then run the same command again; what was there before is as it was"


def answered(call: Callable[[], None]) -> int:
    """Run a command line and return its exit code; errors are raised only with TRACEKIT_DEBUG."""
    with fit_streams():
        code = _code(call)
        # what is printed counts only once it is out
        unwritten = _code(sys.stdout.flush)
        if unwritten:
            drop_output()
        return code or unwritten


def _code(call: Callable[[], object]) -> int:
    try:
        call()
    except SystemExit as stop:
        return _exit_code(stop)
    except ReaderGoneError as gone:
        drop_output()
        return gone.exit_code
    except TracekitError as error:
        return _report(error)
    except Exception as error:  # noqa: BLE001 - the one place where a bug must not show a traceback
        return _report(_foreseen(error) or _from_bug(error))
    except BaseException as error:
        # a library in Rust that gives up raises what is no Exception
        if type(error).__name__ != "PanicException":
            raise
        return _report(_from_bug(error))
    return 0


def _exit_code(stop: SystemExit) -> int:
    if stop.code is None:
        return 0
    return stop.code if isinstance(stop.code, int) else 2


def _foreseen(error: Exception) -> TracekitError | None:
    """The error of a refusal by the machine, whichever library met it; None for anything else."""
    clear = store_error(error)
    if clear is not None:
        clear.__cause__ = error
        return clear
    refused = system_error(error)
    if refused is not None:
        clear = _from_os(refused)
    elif isinstance(error, OSError):
        clear = TracekitError(f"the operating system refused: {error}")
    elif isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException":
        clear = TracekitError(
            "this machine has not the memory for it", hint="free some, or use a smaller input"
        )
    elif isinstance(error, UnicodeEncodeError) and error.encoding in {"utf-8", "ascii"}:
        clear = TracekitError(
            f"{error.object!a} is not text in UTF-8",
            hint="rename the file or folder; or set a locale of UTF-8: export LC_ALL=C.UTF-8",
        )
    if clear is not None:
        clear.__cause__ = error
    return clear


def _from_os(error: OSError) -> TracekitError:
    if isinstance(error, NoFileError):
        return TracekitError(
            f"{error.filename} is {error.what}, expected a file", hint="write it to a file first"
        )
    where = f" {os.fsdecode(error.filename)}" if isinstance(error.filename, str | bytes) else ""
    if error.errno in _FULL:
        return TracekitError(
            f"the disk is full{where and ' while writing'}{where}", hint=_FULL_HINT
        )
    if error.errno in _FORBIDDEN:
        return TracekitError(
            f"no permission for{where or ' a file'}: {error.strerror}",
            hint="check the owner and mode of the file and of its folder",
        )
    return TracekitError(
        f"the operating system refused{where}: {error.strerror or error}",
        hint="check the path, and the disk that it is on",
    )


def _from_bug(error: BaseException) -> TracekitError:
    """A failure nobody foresaw, still in one line; its traceback is shown with --debug."""
    bug = TracekitError(
        f"tracekit failed: {type(error).__name__}: {next(iter(str(error).splitlines()), '')}",
        hint="this is a bug; run the same with 'tracekit --debug ...' and report what it prints",
    )
    bug.__cause__ = error
    return bug


def _report(error: TracekitError) -> int:
    if os.environ.get("TRACEKIT_DEBUG"):
        raise error
    try:
        print(f"error: {visible(error.what)}", file=sys.stderr)
        for detail in error.details:
            print(f"  {visible(detail)}", file=sys.stderr)
        if error.hint:
            print(f" hint: {visible(error.hint)}", file=sys.stderr)
    except (ReaderGoneError, OSError):
        return error.exit_code
    return error.exit_code


_ENDING = (signal.SIGTERM, signal.SIGHUP)


class EndedBySignalError(KeyboardInterrupt):
    """SIGTERM or SIGHUP has arrived; handled like Ctrl-C.

    Parameters
    ----------
    number : int
        The signal's number; the exit code is 128 more.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


class Ending:
    """A signal handler that keeps the exit code of the signal it got; None before any signal."""

    exit_code: int | None = None

    def received(self, number: int, _frame: FrameType | None) -> None:
        """Ignore further signals, so that cleaning up is not interrupted, and raise."""
        for one in _ENDING:
            signal.signal(one, signal.SIG_IGN)
        self.exit_code = 128 + number
        raise EndedBySignalError(number)


@contextmanager
def ended_by_signals() -> Iterator[Ending]:
    """Raise EndedBySignalError in the block on SIGTERM or SIGHUP, unless ignored before."""
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


# The end of the process: at once, when all that was to be done is done.


class Leaving:
    """Ends the process quickly, without the half second that Python takes to unload modules.

    Make it before anything else is loaded: functions that libraries register with ``atexit`` later
    than this one still run before the process ends.
    """

    def __init__(self) -> None:
        self._exit_code: int | None = None
        atexit.register(self._leave)

    def with_code(self, exit_code: int) -> None:
        """End the process with this exit code, once the registered functions have run."""
        self._exit_code = exit_code
        sys.exit(exit_code)

    def _leave(self) -> None:
        if self._exit_code is None:
            return
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None and not stream.closed:
                    stream.flush()
        except (OSError, ValueError):
            return  # Python has an exit code of its own for what cannot be written
        os._exit(self._exit_code)
