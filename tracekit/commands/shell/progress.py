"""What long work says on stderr while it is under way: a line per stage, a bar on a terminal.

The lines go to a file or a pipe as to a terminal: when, what, how much in how long, what is next.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tracekit.base.progress import SILENT, Progress, Task
from tracekit.commands.shell.output import console
from tracekit.commands.shell.streams import visible

#: The setting that ``tracekit --quiet`` makes: nothing is said on the way.
QUIET = "TRACEKIT_QUIET"
#: After so long a task says how far it is; then whenever it has taken this much longer again.
_FIRST_S = 5.0
_LONGER = 1.4
#: Before this share is done nobody can say how long the rest takes.
_TOLD_FROM = 0.1
#: Of fewer parts each is too large, and too unlike the others, to foretell the rest by.
_MANY = 10
#: No longer than this nothing is said.
_SILENT_S = 600.0


@contextmanager
def progress(verb: str) -> Iterator[Progress]:
    """Progress of a verb on stderr: lines, and a bar too where it is a terminal."""
    if os.environ.get(QUIET):
        yield SILENT
    elif sys.stderr.isatty():
        with _bars() as drawn:
            yield drawn
    else:
        lines = Lines(_print)
        yield lines
        if lines.said:
            lines.stage(f"{verb} is done")


def _print(line: str) -> None:
    print(visible(line), file=sys.stderr, flush=True)


class Lines:
    """Progress as lines, each with the time since the beginning.

    Parameters
    ----------
    say : takes a line
    clock : gives seconds
    """

    def __init__(
        self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._say = say
        self._clock = clock
        self._start = clock()
        self._one_at_a_time = threading.Lock()
        self.said = 0

    def stage(self, text: str, *, then: str = "") -> None:
        """Say that a stage begins, and what comes after it."""
        self._line(f"{text}; next: {then}" if then else text)

    def say(self, text: str) -> None:
        """Say what a stage came to."""
        self._line(f"  {text}")

    @contextmanager
    def task(self, text: str, total: float | None, unit: str) -> Iterator[Task]:
        """A task that says how far it is now and then, and what it was at the end."""
        task = _LineTask(self, text, total, unit, self._clock)
        yield task
        if task.done:
            self.say(task.ended())

    def _line(self, text: str) -> None:
        with self._one_at_a_time:
            self.said += 1
            self._say(f"{_seconds(self._clock() - self._start):>9}  {text}")


class _LineTask:
    """One task told in lines."""

    def __init__(
        self, lines: Lines, text: str, total: float | None, unit: str, clock: Callable[[], float]
    ) -> None:
        self._lines, self._text, self._total, self._unit = lines, text, total, unit
        self._clock, self._start = clock, clock()
        self._next_s = _FIRST_S
        self.done = 0.0

    def advance(self, amount: float, note: str = "") -> None:
        """More is done; it is said when there was nothing to read for a while."""
        self.done += amount
        passed = self._clock() - self._start
        if passed >= self._next_s and self.done != self._total:
            self._next_s = min(passed * _LONGER, passed + _SILENT_S)
            self._lines.say(self._on_the_way(passed, note))

    def ended(self) -> str:
        """The finished task: how much in how long."""
        return (
            f"{self._text}: {_amount(self.done, self._unit)}"
            f" in {_seconds(self._clock() - self._start)}"
        )

    def _on_the_way(self, passed: float, note: str) -> str:
        at = f", after {note}" if note else ""
        if not self._total or not self.done:
            return f"{self._text}: {_amount(self.done, self._unit)} so far{at}"
        share = min(self.done / self._total, 1.0)
        foretold = self._total >= _MANY and _foretold(share, passed)
        left = f", about {_seconds(passed / share - passed)} left" if foretold else ""
        return f"{self._text}: {share:.0%} of {_amount(self._total, self._unit)}{at}{left}"


def _foretold(share: float, passed: float) -> bool:
    """Whether enough is done to say how long the rest takes."""
    return passed >= _FIRST_S and _TOLD_FROM <= share < 1


def _amount(number: float, unit: str) -> str:
    from tracekit.base.units import size

    if unit == "bytes":
        return size(int(number))
    one = _singular(unit) if number == 1 else unit
    return f"{number:,.0f} {one}"


def _singular(unit: str) -> str:
    if unit.endswith("ies"):
        return f"{unit.removesuffix('ies')}y"
    return unit.removesuffix("es" if unit.endswith("ches") else "s")


def _seconds(seconds: float) -> str:
    """Seconds, or minutes and hours where there are many."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    hours, minutes = divmod(whole // 60, 60)
    if whole < 100:
        return f"{whole} s"
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {whole % 60:02} s"


@contextmanager
def _bars() -> Iterator[Progress]:
    from rich.progress import (
        BarColumn,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.progress import (
        Progress as RichProgress,
    )

    class Left(TimeRemainingColumn):
        """How long the rest takes, once that can be said."""

        def render(self, task: Any) -> Any:
            share = (task.completed / task.total) if task.total else 0.0
            foretold = (task.total or 0) >= _MANY and _foretold(share, task.elapsed or 0.0)
            return super().render(task) if foretold else ""

    with RichProgress(
        TextColumn("{task.description:<24}"),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TextColumn("{task.fields[note]}"),
        Left(compact=True),
        console=console(stderr=True),
        transient=True,
    ) as drawn:
        yield _Terminal(drawn)


class _Terminal(Lines):
    """The same lines, and a bar below them for each task under way, drawn by rich."""

    def __init__(self, drawn: Any) -> None:
        super().__init__(self._above)
        self._drawn = drawn

    def _above(self, line: str) -> None:
        self._drawn.console.print(visible(line), highlight=False, markup=False)

    @contextmanager
    def task(self, text: str, total: float | None, unit: str) -> Iterator[Task]:
        """A task as a bar, and a line at its end."""
        bar = self._drawn.add_task(visible(text), total=total, note=unit)
        task = _BarTask(self._drawn, bar, _LineTask(self, text, None, unit, time.monotonic))
        try:
            yield task
        finally:
            self._drawn.remove_task(bar)
        task.end(self)


class _BarTask:
    """One line of the drawn progress."""

    def __init__(self, drawn: Any, bar: Any, line: _LineTask) -> None:
        self._drawn, self._bar, self._line = drawn, bar, line

    def advance(self, amount: float, note: str = "") -> None:
        """Move the bar."""
        self._line.done += amount
        fields = {"note": visible(note)} if note else {}
        self._drawn.update(self._bar, advance=amount, **fields)

    def end(self, lines: Lines) -> None:
        """Say what it was."""
        if self._line.done:
            lines.say(self._line.ended())
