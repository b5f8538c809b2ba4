"""When to try again, and how long to wait before."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tracekit.base.errors import TracekitError

#: What to do about a fetch that came to its end too early.
GO_ON = "run the same command again: it goes on where it stopped"


class FetchError(TracekitError):
    """A download that did not work.

    Parameters
    ----------
    passing : bool
        Whether it may work a little later: a broken line, a busy server. A refusal is no such
        case, and gets one more try only.
    wait_s : float, optional
        How long the server asked to wait.
    everywhere : bool
        Whether every other file would fail alike: no such host, a full disk.
    """

    def __init__(
        self,
        what: str,
        *,
        hint: str | None = None,
        passing: bool = True,
        wait_s: float | None = None,
        everywhere: bool = False,
    ) -> None:
        super().__init__(what, hint=hint)
        self.passing = passing
        self.wait_s = wait_s
        self.everywhere = everywhere


@dataclass(frozen=True, kw_only=True)
class Retries:
    """Exponential back-off with jitter.

    Parameters
    ----------
    tries : int
        Tries in a row that bring nothing new before a file is given up; each byte further than
        ever before starts the count again.
    refused_tries : int
        The same for a refusal (403, 404), which seldom passes.
    first_wait_s, longest_wait_s : float
        The wait doubles from the first to the longest.
    jitter : float
        Each wait is shortened by up to this share, so that many clients do not come at once.
    sleep : callable
        Waits for so many seconds.
    """

    tries: int = 8
    refused_tries: int = 2
    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0
    jitter: float = 0.5
    sleep: Callable[[float], object] = time.sleep

    def given_up(self, failed: int, error: FetchError) -> bool:
        """Whether ``failed`` tries in a row are enough, the last having ended in ``error``."""
        return failed >= (self.tries if error.passing else min(self.refused_tries, self.tries))

    def wait_s(self, failed: int, error: FetchError, rng: np.random.Generator) -> float:
        """Seconds to wait after ``failed`` tries in a row; a server's own wish is heeded."""
        doubled = min(self.first_wait_s * 2.0 ** (failed - 1), self.longest_wait_s)
        own = doubled * (1 - self.jitter * rng.random())
        return max(own, min(error.wait_s or 0.0, self.longest_wait_s))
