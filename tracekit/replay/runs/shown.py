"""How measures and names are written: values with as many digits as their interval allows."""

import math
from collections.abc import Sequence

from tracekit.replay.measures import Measure

PERCENT = 100
#: An interval of so many units of its first digit, or less, shows two digits.
_TWO = 2.95
#: Significant digits of a number on a screen, at most; whole numbers keep theirs.
SIGNIFICANT = 4
#: More names than this are counted.
_NAMED = 4


def shown(
    measure: Measure,
    mean: float,
    reach: float | None,
    *,
    below: float | None = None,
    unit: bool = False,
) -> str:
    """A value with its +-, of a share in percent: ``96.25 ±0.35``, with ``unit`` ``96.25 ±0.35 %``.

    An interval that would begin below 0 begins there: ``5 (0 to 28)``. One that goes further
    downwards than upwards has its ends, too: ``99.3 (98.0 to 100.0)``.

    Parameters
    ----------
    reach : float, optional
        How far its interval goes upwards; without one, or where it is 0, the value stands alone.
    below : float, optional
        How far it goes downwards, if not as far.
    """
    scale = PERCENT if measure.share else 1
    value, wide = mean * scale, (reach or 0.0) * scale
    tail = " %" if unit and measure.share else ""
    down = wide if below is None else max(below * scale, wide)
    places = with_interval(value, down)
    if places is None:
        return f"{_plain(value, share=measure.share)}{tail}"
    if 0 <= value < wide:
        # no measure is below 0
        return f"{value:,.{places}f} (0 to {value + wide:,.{places}f}){tail}"
    if down - wide >= 0.5 * 10.0**-places:
        low, high = f"{value - down:,.{places}f}", f"{value + wide:,.{places}f}"
        return f"{value:,.{places}f} ({low} to {high}){tail}"
    return f"{value:,.{places}f} ±{wide:,.{places}f}{tail}"


def few(names: Sequence[str]) -> str:
    """The names, or how many they are where a sentence cannot hold them."""
    return ", ".join(names) if len(names) <= _NAMED else f"{len(names)} other policies"


def _plain(value: float, *, share: bool) -> str:
    if share:
        return f"{value:.1f}"
    whole = value == round(value) and abs(value) < 1e15
    return f"{value:,.0f}" if whole or abs(value) >= 9_999.5 else f"{value:,.4g}"


def decimals(reach: float) -> int:
    """Decimals that leave an interval one digit, or two where the first is a 1 or a 2."""
    places = math.floor(math.log10(reach))
    # what two digits would show as 3.0 is a 3
    return max(0, -places + int(reach / 10**places < _TWO))


def most_decimals(value: float) -> int:
    """Decimals that leave a value its significant digits, whatever its interval allows."""
    return SIGNIFICANT + 10 if not value else max(0, SIGNIFICANT - 1 - _magnitude(value))


def with_interval(value: float, reach: float) -> int | None:
    """Decimals of a value and of half its interval; None where the value stands alone.

    An interval narrower than the last digit shown is float dust, or as good as none.
    """
    if not math.isfinite(reach) or reach <= 0:
        return None
    places = min(decimals(reach), most_decimals(value))
    return None if reach < 0.5 * 10.0**-places else places


def _magnitude(value: float) -> int:
    return math.floor(math.log10(abs(value)))
