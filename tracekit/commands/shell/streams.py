r"""What is printed: fit for any terminal, and quiet when nobody reads on.

Text that came from a trace may hold anything, and a terminal obeys what it is sent. So control
characters reach a screen as ``\x1b``, never as themselves; data formats go past this, see
``print_raw``.
"""

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: What ends or directs a line of text; everything else that steers a terminal is shown.
_LAYOUT = frozenset("\n\t")
#: Control characters (C0, DEL, C1) and the marks that turn the direction of writing.
_STEERING = [*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_SHOWN = {code: f"\\x{code:02x}" if code < 0x20 else f"\\u{code:04x}" for code in _STEERING}
_ON_A_LINE = {**_SHOWN, **{ord(mark): repr(mark)[1:-1] for mark in "\n\r\t"}}
_ON_A_PAGE = {code: shown for code, shown in _SHOWN.items() if chr(code) not in _LAYOUT}


def visible(text: str, *, lines: bool = False) -> str:
    """Return the text with control characters spelled out; ``lines`` keeps tabs and line ends."""
    return text.translate(_ON_A_PAGE if lines else _ON_A_LINE)


class ReaderGoneError(Exception):
    """The program that read the output has ended, as ``head`` does; nothing more is printed."""

    exit_code = 141


class _Output:
    """A stream that tells of a reader who is gone in a way that no library takes for its own."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with _reader():
            return int(self._stream.write(text) or 0)

    def flush(self) -> None:
        with _reader():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Visible(_Output):
    """A stream for people: nothing that is written steers their terminal.

    ``rich_proxied_file`` is where rich writes, which has colours of its own to send.
    """

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self.rich_proxied_file = _Output(stream)

    def write(self, text: str) -> int:
        return super().write(visible(text, lines=True))


@contextmanager
def _reader() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise ReaderGoneError from None


@contextmanager
def fit_streams() -> Iterator[None]:
    """Spell out control characters on standard output and error while the block runs."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (_Visible(_encodable(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def _encodable(stream: Any) -> Any:
    """The stream, spelling out what its encoding cannot say; a closed one leads nowhere."""
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - for the rest of the process
    if isinstance(stream, io.TextIOWrapper) and stream.errors != "backslashreplace":
        stream.reconfigure(errors="backslashreplace")
    return stream


def open_standard_files() -> None:
    """Open closed standard streams on the null device, so that no later file gets their numbers."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # the lowest free number is taken, which is this one
            os.open(os.devnull, os.O_RDWR)


def drop_output() -> None:
    """Send output that could not be written to the null device."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
    with contextlib.suppress(OSError, ValueError, ReaderGoneError):
        sys.stdout.flush()


def print_raw(text: str) -> None:
    """Print data as it is, in UTF-8: a program reads it."""
    sys.stdout.flush()
    with _reader():
        sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
        sys.stdout.buffer.flush()
