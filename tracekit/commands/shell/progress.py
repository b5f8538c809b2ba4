"""Progress of long work on stderr: lines that say when, what, how much in how long, and what next.

A terminal, a pipe and a file get the same lines; a terminal also shows a bar for each task.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tracekit.base.progress import SILENT, Progress, Task
from tracekit.commands.shell.streams import visible

#: The environment variable that ``tracekit --quiet`` sets: no progress is printed.
QUIET = "TRACEKIT_QUIET"
#: Seconds after which a task first prints how far it is.
_FIRST_S = 5.0
#: Each further line of a task waits until the task has taken this many times as long.
_LONGER = 1.4
#: The longest silence of a task.
_SILENT_S = 600.0
#: The share of a task that must be done before the remaining time is estimated.
_ESTIMATED_FROM = 0.1
#: Tasks of fewer parts get no estimate: their parts are too large, and too unlike each other.
_MANY = 10


@contextmanager
def progress(verb: str) -> Iterator[Progress]:
    """Yield what shows the progress of a subcommand on stderr; silent under ``--quiet``."""
    if os.environ.get(QUIET):
        yield SILENT
    elif sys.stderr.isatty():
        with _bars() as drawn:
            yield _Terminal(drawn)
    else:
        lines = Lines(lambda line: print(visible(line), file=sys.stderr, flush=True))
        yield lines
        if lines.printed:
            lines.stage(f"{verb} is done")


class Lines:
    """Progress as lines, each with the time since the beginning.

    Parameters
    ----------
    write : callable
        Takes a line.
    clock : callable
        Gives seconds.
    """

    def __init__(
        self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._write = write
        self._clock = clock
        self._start = clock()
        self._one_at_a_time = threading.Lock()
        self.printed = 0

    def stage(self, text: str, *, then: str = "") -> None:
        """Print that a stage begins, and which stage comes after it."""
        self._line(f"{text}; next: {then}" if then else text)

    def say(self, text: str) -> None:
        """Print a result of the stage that is under way."""
        self._line(f"  {text}")

    @contextmanager
    def task(self, text: str, total: float | None, unit: str) -> Iterator[Task]:
        """A task that prints how far it is now and then, and its duration at the end."""
        task = _LineTask(self, text, total, unit, self._clock)
        yield task
        if task.done:
            self.say(task.summary())

    def _line(self, text: str) -> None:
        with self._one_at_a_time:
            self.printed += 1
            self._write(f"{_seconds(self._clock() - self._start):>9}  {text}")


class _LineTask:
    """One task of ``Lines``."""

    def __init__(
        self, lines: Lines, text: str, total: float | None, unit: str, clock: Callable[[], float]
    ) -> None:
        self._lines, self._text, self._total, self._unit = lines, text, total, unit
        self._clock, self._start = clock, clock()
        self._next_s = _FIRST_S
        self.done = 0.0

    def advance(self, amount: float, note: str = "") -> None:
        """Count an amount as done; print a line if the last one is long ago."""
        self.done += amount
        passed_s = self._clock() - self._start
        if passed_s >= self._next_s and self.done != self._total:
            self._next_s = min(passed_s * _LONGER, passed_s + _SILENT_S)
            self._lines.say(self._so_far(passed_s, note))

    def summary(self) -> str:
        """Return the finished task: how much in how long."""
        return (
            f"{self._text}: {_amount(self.done, self._unit)}"
            f" in {_seconds(self._clock() - self._start)}"
        )

    def _so_far(self, passed_s: float, note: str) -> str:
        after = f", after {note}" if note else ""
        if not self._total or not self.done:
            return f"{self._text}: {_amount(self.done, self._unit)} so far{after}"
        share = min(self.done / self._total, 1.0)
        estimated = _is_estimated(self._total, share)
        left = f", about {_seconds(passed_s / share - passed_s)} left" if estimated else ""
        return f"{self._text}: {share:.0%} of {_amount(self._total, self._unit)}{after}{left}"


def _is_estimated(total: float, share: float) -> bool:
    """Whether enough parts of a task are done to estimate the remaining time."""
    return total >= _MANY and _ESTIMATED_FROM <= share < 1


def _amount(number: float, unit: str) -> str:
    from tracekit.base.units import size

    if unit == "bytes":
        return size(int(number))
    return f"{number:,.0f} {_singular(unit) if number == 1 else unit}"


def _singular(unit: str) -> str:
    if unit.endswith("ies"):
        return f"{unit.removesuffix('ies')}y"
    return unit.removesuffix("es" if unit.endswith("ches") else "s")


def _seconds(seconds: float) -> str:
    """Seconds; minutes and hours from 100 seconds on."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    hours, minutes = divmod(whole // 60, 60)
    if whole < 100:
        return f"{whole} s"
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {whole % 60:02} s"


@contextmanager
def _bars() -> Iterator[Any]:
    """The bars of rich, which vanish at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    class Left(TimeRemainingColumn):
        """The remaining time, once it is estimated."""

        def render(self, task: Any) -> Any:
            share = (task.completed / task.total) if task.total else 0.0
            estimated = (task.elapsed or 0.0) >= _FIRST_S and _is_estimated(task.total or 0, share)
            return super().render(task) if estimated else ""

    with Bars(
        TextColumn("{task.description:<24}"),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TextColumn("{task.fields[note]}"),
        Left(compact=True),
        console=Console(stderr=True),
        transient=True,
    ) as drawn:
        yield drawn


class _Terminal(Lines):
    """The same lines, with a bar below them for each unfinished task."""

    def __init__(self, drawn: Any) -> None:
        super().__init__(
            lambda line: drawn.console.print(visible(line), highlight=False, markup=False)
        )
        self._drawn = drawn

    @contextmanager
    def task(self, text: str, total: float | None, unit: str) -> Iterator[Task]:
        """A task as a bar, and a line at its end."""
        bar = self._drawn.add_task(visible(text), total=total, note=unit)
        task = _BarTask(self._drawn, bar, _LineTask(self, text, None, unit, time.monotonic))
        try:
            yield task
        finally:
            self._drawn.remove_task(bar)
        if task.line.done:
            self.say(task.line.summary())


class _BarTask:
    """One bar, and the line that takes its place at the end."""

    def __init__(self, drawn: Any, bar: Any, line: _LineTask) -> None:
        self._drawn, self._bar, self.line = drawn, bar, line

    def advance(self, amount: float, note: str = "") -> None:
        """Move the bar by an amount that is done."""
        self.line.done += amount
        fields = {"note": visible(note)} if note else {}
        self._drawn.update(self._bar, advance=amount, **fields)
