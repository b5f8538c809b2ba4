"""When a fetch tries again, and how long it waits before."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tracekit.base.errors import TracekitError

#: The hint for a fetch that ended too early.
GO_ON = "run the same command again: it goes on where it stopped"


class FetchError(TracekitError):
    """A download failed.

    Parameters
    ----------
    passing : bool
        Whether the cause may pass soon, as a broken line or a busy server. A refusal does not
        pass, and is tried once more only.
    wait_s : float, optional
        The wait that the server asks for.
    everywhere : bool
        Whether every other file would fail too, as with a missing host or a full disk.
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
        The number of failed tries in a row after which a file is given up. A try that brings new
        bytes starts the count again.
    refused_tries : int
        The same number for a refusal (403, 404), which seldom passes.
    first_wait_s, longest_wait_s : float
        The wait doubles from the first to the longest.
    jitter : float
        Each wait is shortened by up to this share, so that many clients do not come at once.
    sleep : callable
        Waits for a number of seconds.
    """

    tries: int = 8
    refused_tries: int = 2
    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0
    jitter: float = 0.5
    sleep: Callable[[float], object] = time.sleep

    def given_up(self, failed: int, error: FetchError) -> bool:
        """Whether to give up after ``failed`` failed tries in a row, the last with ``error``."""
        return failed >= (self.tries if error.passing else min(self.refused_tries, self.tries))

    def wait_s(self, failed: int, error: FetchError, rng: np.random.Generator) -> float:
        """Seconds to wait after ``failed`` failed tries in a row.

        A longer wait that the server asks for counts, up to ``longest_wait_s``.
        """
        doubled = min(self.first_wait_s * 2.0 ** (failed - 1), self.longest_wait_s)
        own = doubled * (1 - self.jitter * rng.random())
        return max(own, min(error.wait_s or 0.0, self.longest_wait_s))
