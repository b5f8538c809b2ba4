"""What one pass over a store on an object store takes: bytes, requests, time and money."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tracekit.files.places import filesystem, within

#: So much of a file is read to learn the rate of the network.
_SAMPLE_BYTES = 32 << 20


@dataclass(frozen=True, kw_only=True)
class Prices:
    """Public list prices in USD, on demand, of one provider's region us-east-1 in 2025.

    ``machine_hour`` is that of two cores and 8 GiB (m6i.large); the others are those of its
    standard object storage. What goes out of the region costs extra and is not counted here.
    """

    machine_hour: float = 0.096
    gb_month: float = 0.023
    thousand_gets: float = 0.0004


@dataclass(frozen=True, kw_only=True)
class Reach:
    """What one pass over a store on an object store takes.

    Parameters
    ----------
    bytes : int
        Of all tables: a pass that needs few columns reads less.
    requests : int
        One for each row group, and two for the foot of each file.
    bytes_per_s : float
        Measured on the beginning of the largest file.
    transfer_s : float
        All bytes at that rate.
    free_bytes : int
        Room on the disk of this machine where temporary files go.
    pass_usd, month_usd : float
        List price of a pass in a machine of two cores, and of a month of storage.
    """

    bytes: int
    requests: int
    bytes_per_s: float
    transfer_s: float
    free_bytes: int
    pass_usd: float
    month_usd: float


def measure_reach(
    largest: Path, size: int, requests: int, pass_s: float, clock: Callable[[], float]
) -> Reach:
    """Read a piece of the largest file, and scale it to ``size`` bytes of a whole pass."""
    prices = Prices()
    began = clock()
    read = len(filesystem(largest).cat_file(within(largest), start=0, end=_SAMPLE_BYTES))
    rate = read / max(clock() - began, 1e-9)
    transfer_s = size / rate
    machine = max(pass_s, transfer_s) / 3600 * prices.machine_hour
    return Reach(
        bytes=size,
        requests=requests,
        bytes_per_s=rate,
        transfer_s=transfer_s,
        free_bytes=shutil.disk_usage(tempfile.gettempdir()).free,
        pass_usd=machine + requests / 1000 * prices.thousand_gets,
        month_usd=size / 1e9 * prices.gb_month,
    )


def advice_on(reach: Reach) -> str:
    """Whether to copy the store here first."""
    size = f"{reach.bytes / 1e9:,.1f} GB"
    if reach.bytes > reach.free_bytes:
        return (
            f"its {size} do not fit this disk ({reach.free_bytes / 1e9:,.1f} GB free):"
            " they are read where they are, a row group at a time"
        )
    return (
        f"to copy its {size} here takes {reach.transfer_s:,.0f} s once;"
        " read where they are, each pass takes that again for the columns it needs"
    )
