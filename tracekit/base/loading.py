"""Loading what takes long to load."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def nothing_collected() -> Iterator[None]:
    """Load libraries without looking for garbage.

    Nothing that is loaded is ever garbage, yet Python looks through all of it again and again,
    a quarter of the time that loading takes. A process that has frozen what it loaded at its start,
    as those of tracekit's own do, freezes this too.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
        if gc.get_freeze_count():
            gc.freeze()
    finally:
        if was:
            gc.enable()
