"""The end of the process: at once, when all that was to be done is done."""

import atexit
import os
import sys


class Leaving:
    """Ends the process without taking apart what was loaded, which takes half a second.

    Make it before anything else is loaded: what libraries want done at the end is done first, the
    last to ask before the first. Threads that are to be waited for have ended by then.
    """

    def __init__(self) -> None:
        self._exit_code: int | None = None
        atexit.register(self._leave)

    def with_code(self, exit_code: int) -> None:
        """Leave; what the process was asked to do at its end comes first."""
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
