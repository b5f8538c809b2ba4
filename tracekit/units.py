"""Units: the suffixes that names end in, and how quantities look on a screen."""

MILLI_PER_CORE = 1000
#: Whole numbers up to this are exact as doubles.
EXACT_TO = 2**53
BYTES_PER_KIB, BYTES_PER_MIB, BYTES_PER_GIB = 2**10, 2**20, 2**30
MS_PER_S = 1000
MS_PER_MINUTE = 60_000
MS_PER_HOUR = 3_600_000
#: Times since 1970: as seconds larger ones are after the year 5138, as ms smaller ones before 1974.
SECONDS_UP_TO = 1e11
#: From so many hours on a span is told in days.
_DAYS_FROM_HOURS = 72
MS_PER_DAY = 24 * MS_PER_HOUR


def percent(fraction: float, digits: int = 1) -> str:
    """A fraction as screens show it: 0.1234 -> '12.3 %'."""
    return f"{100 * fraction:.{digits}f} %"


def count(number: int) -> str:
    """A count with thousands separators: 1234567 -> '1,234,567'."""
    return f"{number:,}"


def size(count_bytes: float) -> str:
    """A number of bytes in the unit that keeps it short: 1536 -> '1.5 kB' (decimal units)."""
    value = float(count_bytes)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if abs(value) < 1000 or unit == "TB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError("unreachable")


def memory(count_bytes: float) -> str:
    """What containers ask for and nodes have, in units of 1,024: 1536 MiB -> '1.5 GiB'."""
    value = float(count_bytes)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(value) < BYTES_PER_KIB or unit == "TiB":
            return f"{value:,.1f}".removesuffix(".0") + f" {unit}"
        value /= BYTES_PER_KIB
    raise AssertionError("unreachable")


def duration(time_ms: float) -> str:
    """A time span in words a person reads: 43,200,000 -> '12 h', 90,000 -> '1 min 30 s'.

    Three days and more are told in days and hours.
    """
    if time_ms < MS_PER_S:
        return f"{time_ms:.0f} ms"
    if time_ms < MS_PER_MINUTE:
        return f"{time_ms / MS_PER_S:g} s"
    hours, rest = divmod(int(time_ms), MS_PER_HOUR)
    if hours >= _DAYS_FROM_HOURS:
        days, hours = divmod(hours, 24)
        return f"{days:,} d {hours} h" if hours else f"{days:,} d"
    minutes, rest = divmod(rest, MS_PER_MINUTE)
    parts = [(hours, "h"), (minutes, "min"), (rest // MS_PER_S, "s")]
    return " ".join(f"{value} {unit}" for value, unit in parts if value)


def covered_ms(first_ms: float, last_ms: float, step_ms: int) -> int:
    """From the first of some steps to the end of the last one."""
    return int(last_ms - first_ms) + step_ms


#: Times from here on count from 1970; no trace is three years long.
EPOCH_FROM_MS = 100_000_000_000


def of_two_beginnings(first_ms: float, last_ms: float) -> bool:
    """Whether some times count from 1970 and others have no date: between them is no span."""
    return first_ms < EPOCH_FROM_MS <= last_ms
