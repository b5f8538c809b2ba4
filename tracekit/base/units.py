"""Units: the suffixes that names end in, and how quantities look on a screen."""

from collections.abc import Mapping

MILLI_PER_CORE = 1000
#: Whole numbers up to this are exact as doubles.
EXACT_TO = 2**53
BYTES_PER_KIB, BYTES_PER_MIB, BYTES_PER_GIB = 2**10, 2**20, 2**30
#: Sizes in units of 1,024 by their names, KiB and larger.
BINARY_BYTES = {f"{prefix}iB": 1 << (10 * at) for at, prefix in enumerate("KMGTPE", 1)}
MS_PER_S = 1000
MS_PER_MINUTE = 60_000
MS_PER_HOUR = 3_600_000
#: Hours of a month, as clouds bill it.
HOURS_PER_MONTH = 730
#: Times since 1970: as seconds larger ones are after the year 5138, as ms smaller ones before 1974.
SECONDS_UP_TO = 1e11
#: From so many hours on a span is told in days.
_DAYS_FROM_HOURS = 72
MS_PER_DAY = 24 * MS_PER_HOUR


def percent(fraction: float, digits: int = 1) -> str:
    """Return a fraction as a percentage for the screen: 0.1234 -> '12.3 %'."""
    return f"{100 * fraction:.{digits}f} %"


def size(count_bytes: float) -> str:
    """Return a number of bytes as text in a short decimal unit: 1536 -> '1.5 kB'."""
    value = float(count_bytes)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if abs(value) < 1000 or unit == "TB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError("unreachable")


def memory(count_bytes: float) -> str:
    """Return bytes as text in units of 1,024, as for requests and capacities: '1.5 GiB'."""
    value = float(count_bytes)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(value) < BYTES_PER_KIB or unit == "TiB":
            return f"{value:,.1f}".removesuffix(".0") + f" {unit}"
        value /= BYTES_PER_KIB
    raise AssertionError("unreachable")


def duration(time_ms: float) -> str:
    """Return a time span in words: 43,200,000 -> '12 h', 90,000 -> '1 min 30 s'.

    From three days on it has days and hours alone: '3 d 2 h'.
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
    """Return the time from the first step to the end of the last one, which is ``step_ms`` long."""
    return int(last_ms - first_ms) + step_ms


#: Times from here on count from 1970; no trace is three years long.
EPOCH_FROM_MS = 100_000_000_000


def of_two_beginnings(first_ms: float, last_ms: float) -> bool:
    """Return whether the earliest time counts from the trace's start, and the latest from 1970.

    The span between such times is meaningless.
    """
    return first_ms < EPOCH_FROM_MS <= last_ms


#: The unit in which each of these resources is stored; others have that in which they are stated.
UNIT_OF: Mapping[str, str] = {
    "cpu": "cores",
    "memory": "bytes",
    "disk": "bytes",
    "disk_io": "bytes/s",
    "net_in": "bytes/s",
    "net_out": "bytes/s",
    "net": "kbit/s",
    "pods": "count",
}
#: A part of the whole, which any resource may be stated in.
SHARE = "fraction"
_BACKGROUND = "background_"
#: How many of a unit (times, and divided by) one of another is: of the network alone.
_BETWEEN = {("bytes/s", "kbit/s"): (8, 1000), ("kbit/s", "bytes/s"): (1000, 8)}
_DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "p": 10**15, "e": 10**18}
_BYTES = {
    **dict.fromkeys(("b", "byte", "bytes"), 1),
    **{f"{one}b": many for one, many in _DECIMAL.items()},
    **{one.casefold(): many for one, many in BINARY_BYTES.items()},
    **{one.casefold().removesuffix("b"): many for one, many in BINARY_BYTES.items()},
}
#: Units as people write them, in small letters: the unit they are stored in, times and divided by.
_SPELLED: Mapping[str, tuple[str, int, int]] = {
    **dict.fromkeys(("core", "cores", "cpu", "cpus", "vcpu", "vcpus"), ("cores", 1, 1)),
    **dict.fromkeys(
        ("millicore", "millicores", "millicpu", "mcpu", "mcores"), ("cores", 1, MILLI_PER_CORE)
    ),
    "count": ("count", 1, 1),
    **{one: ("bytes", many, 1) for one, many in _BYTES.items()},
    "byte/s": ("bytes/s", 1, 1),
    "bytes/s": ("bytes/s", 1, 1),
    **{
        f"{prefix}{end}": ("kbit/s", many, 1000)
        for prefix, many in {"": 1, **_DECIMAL}.items()
        for end in ("bit/s", "bps")
    },
}
#: Of rates a small b is a bit and a large one a byte: these are taken as they stand.
_RATES: Mapping[str, tuple[str, int, int]] = {
    "B/s": ("bytes/s", 1, 1),
    "b/s": ("kbit/s", 1, 1000),
    **{f"{one.upper()}B/s": ("bytes/s", many, 1) for one, many in _DECIMAL.items()},
    "kB/s": ("bytes/s", 1000, 1),
    **{f"{one.upper()}b/s": ("kbit/s", many, 1000) for one, many in _DECIMAL.items()},
    "kb/s": ("kbit/s", 1, 1),
    **{f"{one}/s": ("bytes/s", many, 1) for one, many in BINARY_BYTES.items()},
}
#: What people know of each unit that is stored, for messages.
_KNOWN_TO_PEOPLE = {
    "cores": "cores, millicores",
    "bytes": "bytes, KB, MB, GB, TB, KiB, MiB, GiB, TiB",
    "bytes/s": "bytes/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, GiB/s, kbit/s, Mbit/s, Gbit/s",
    "kbit/s": "kbit/s, Mbit/s, Gbit/s, bytes/s, kB/s, MB/s, GB/s",
    "count": "count",
}


def stored_unit(resource: str) -> str | None:
    """Return the unit in which amounts of a resource are stored: ``cores`` for ``cpu``.

    Return None for a resource whose amounts are stored in the unit of the trace.
    """
    return UNIT_OF.get(resource.removeprefix(_BACKGROUND))


def in_stored_unit(resource: str, unit: str) -> tuple[str, int, int] | None:
    """Return the stored unit, a factor and a divisor: ``stored = amount * factor / divisor``.

    For example ``cpu`` in ``millicores`` gives ``("cores", 1, 1000)``. Return None for a unit that
    the resource cannot have.
    """
    plain = unit.strip()
    if plain.casefold() == SHARE:
        return SHARE, 1, 1
    wanted = stored_unit(resource)
    # m is short for a thousandth of a core, and for nothing of which there may be much
    short = ("cores", 1, MILLI_PER_CORE) if plain == "m" and wanted == "cores" else None
    conversion = short or _RATES.get(plain) or _SPELLED.get(plain.casefold())
    if conversion is None:
        return (plain, 1, 1) if wanted is None else None
    base, times, per = conversion
    if wanted in (None, base):
        return conversion
    between = _BETWEEN.get((base, wanted))
    return (wanted, times * between[0], per * between[1]) if between else None


def known_units(resource: str) -> str:
    """Return in words the units that a resource may have: 'cores, millicores or fraction'.

    The resource must have a stored unit.
    """
    return f"{_KNOWN_TO_PEOPLE[UNIT_OF[resource.removeprefix(_BACKGROUND)]]} or {SHARE}"
