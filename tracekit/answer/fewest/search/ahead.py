"""Replays of a search that are under way before their answer is asked for."""

from collections.abc import Iterable
from concurrent.futures import Executor, Future

from tracekit.answer.fewest.search.few_nodes import Ask, Came
from tracekit.arrays import IntArray


class Ahead:
    """Replays by others; those that are likely to be asked for next are begun early.

    What a search finds does not depend on it: a replay that nobody asks for is only lost work.

    Parameters
    ----------
    beside : int
        How many replays are under way at a time.
    """

    def __init__(self, ask: Ask, threads: Executor, beside: int) -> None:
        self._ask, self._threads, self.beside = ask, threads, beside
        self._begun: dict[tuple[int, bytes], Future[Came]] = {}

    def begin(self, order: int, kept: IntArray | None) -> None:
        """Begin a replay, unless it is under way."""
        key = _key(order, kept)
        if key not in self._begun:
            self._begun[key] = self._threads.submit(self._ask, order, kept)

    def __call__(self, order: int, kept: IntArray | None) -> Came:
        """The replay that was begun, or a new one."""
        begun = self._begun.pop(_key(order, kept), None)
        return self._ask(order, kept) if begun is None else begun.result()


def begin(ask: Ask, which: Iterable[tuple[int, IntArray | None]]) -> None:
    """Begin the first of these replays, as many as are under way at a time where others replay."""
    if isinstance(ask, Ahead):
        for _, (order, kept) in zip(range(ask.beside), which, strict=False):
            ask.begin(order, kept)


def _key(order: int, kept: IntArray | None) -> tuple[int, bytes]:
    return order, b"all" if kept is None else kept.tobytes()
