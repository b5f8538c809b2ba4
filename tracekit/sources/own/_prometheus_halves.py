"""A difference of two metrics that lie in two files: answers to ``query_range`` hold one each."""

from collections.abc import Callable, Iterator

from tracekit.sources._cluster import Opened
from tracekit.sources.own._prometheus_metrics import USES
from tracekit.sources.own._prometheus_series import Series, read_series

#: Forms of files with series.
FORMS = ("range", "text", "export")


def from_beside(opened: Opened, met: set[int], take: Callable[[Series], object]) -> int:
    """Take from the files beside this one the halves that it has not.

    The file of what is taken off borrows the other half. Where a file has that other half alone and
    one beside it has what is taken off, its samples are for that one.

    Parameters
    ----------
    met : set of int
        The signs of the halves that the file itself has.

    Returns
    -------
    int
        The sign of the halves that are not the file's own to tell: 0 for none.
    """
    if len(met) != 1:
        return 0
    mine = next(iter(met))
    others = [series for one in _others(opened) for series in _halves(one, -mine)]
    if not others:
        return 0
    if mine < 0:
        for series in others:
            take(series)
    return 1


def _others(opened: Opened) -> Iterator[tuple[str, Opened]]:
    for word in FORMS:
        for one in opened.beside.get(word, ()):
            if one.path != opened.path:
                yield word, one


def _halves(file: tuple[str, Opened], sign: int) -> Iterator[Series]:
    """The series of a file that are halves with this sign."""
    word, opened = file
    names = {name for name, use in USES.items() if use.sign == sign}
    parts = tuple(name.encode() for name in sorted(names))
    for series in read_series(opened, word, names.__contains__, parts=parts):
        if isinstance(series, Series):
            yield series
