"""Values of measures as a page writes them: as many digits as their interval allows.

A difference of two percentages is in percentage points (pp).
"""

import math

from tracekit.answer.standings import Difference, Standing
from tracekit.replay.measures import COST_PER_HOUR, Measure
from tracekit.replay.runs.shown import decimals as allowed
from tracekit.replay.runs.shown import most_decimals
from tracekit.units import duration
from tracekit.words import MINUS, NBSP, number

#: Decimals of a percentage without an interval, and the most that one gets.
_PLAIN, _MOST = 1, 2
#: Decimals of money, on every page.
_OF_MONEY = 2
#: The most decimals of an end of an interval that is not 0, and would be shown as 0 with fewer.
_FINEST = 4
#: A share [%] below this is shown as "under" it.
LEAST = 0.01
#: What a difference of nothing is called.
SAME = "none"


def decimals(reach: float | None, plain: int = _PLAIN, most: int = _MOST) -> int:
    """The number of decimals that half an interval allows, as on the terminal, up to ``most``."""
    if not reach or not math.isfinite(reach):
        return plain
    return min(allowed(reach), most)


def scale(measure: Measure) -> float:
    """The factor of a value when it is shown: shares are shown in percent."""
    return 100.0 if measure.share else 1.0


def unit(measure: Measure, *, difference: bool = False) -> str:
    """The unit behind a shown value; empty for plain numbers and counts."""
    if measure.share:
        return f"{NBSP}pp" if difference else f"{NBSP}%"
    return ""


def value_text(measure: Measure, value: float | None, reach: float | None = None) -> str:
    """A value, and what it may be off by: 84.6 ± 0.3 %."""
    if value is None or not math.isfinite(value):
        return "\u2013"
    if measure.name.endswith("_ms"):
        return duration(round(value)) or "0 s"
    factor = scale(measure)
    if measure.share and factor * (reach or 0) < LEAST:
        if 0 < factor * abs(value) < LEAST:
            return f"under {LEAST}{unit(measure)}"
        reach = None
    if reach and _hidden(measure, value, reach):
        reach = None
    off = f" \u00b1{NBSP}{_digits(factor * reach, _of(measure, reach, value))}" if reach else ""
    return f"{_digits(factor * value, _of(measure, reach, value))}{off}{unit(measure)}"


def _of(measure: Measure, reach: float | None, value: float | None = None) -> int | None:
    """How many decimals a value of a measure gets; None for three significant digits."""
    factor = scale(measure)
    if reach:
        most = min(_MOST if measure.share else 6, most_decimals(factor * (value or 0.0)))
        return decimals(factor * reach, most=most)
    if measure.share:
        return _PLAIN
    if measure.name == COST_PER_HOUR:
        return _OF_MONEY
    whole = value is not None and float(value).is_integer()
    return 0 if whole or (value is not None and abs(value) >= 1000) else None


def _hidden(measure: Measure, value: float, reach: float) -> bool:
    """Whether an interval is narrower than the last digit that is shown."""
    places = _of(measure, reach, value)
    return places is not None and scale(measure) * reach < 0.5 * 10.0**-places


def _digits(value: float, decimals_: int | None) -> str:
    if decimals_ is None:
        return number(value)
    shown = f"{value:,.{decimals_}f}"
    return (shown if float(shown.replace(",", "")) else shown.lstrip("-")).replace("-", MINUS)


def standing_text(measure: Measure, row: Standing) -> str:
    """The mean of a standing with its interval."""
    return interval_text(measure, row.mean, row.low, row.high)


def mean_text(measure: Measure, mean: float | None, high: float | None) -> str:
    """A mean alone, with as many digits as its interval allows."""
    if mean is None or high is None or not high > mean or measure.name.endswith("_ms"):
        return value_text(measure, mean)
    return f"{_digits(scale(measure) * mean, _of(measure, high - mean, mean))}{unit(measure)}"


def interval_text(
    measure: Measure, mean: float | None, low: float | None, high: float | None
) -> str:
    """A mean with its interval: 84.6 \u00b1 0.3 %, or 0.2 (0 to 1.2) where one end is cut off."""
    if mean is None or low is None or high is None or measure.name.endswith("_ms"):
        return value_text(measure, mean)
    reach = max(high - mean, mean - low)
    places, factor = _of(measure, reach, mean), scale(measure)
    cut = reach - min(high - mean, mean - low)
    if not reach or not math.isfinite(reach) or not math.isfinite(cut):
        return value_text(measure, mean)
    if factor * cut < 0.5 * 10.0 ** -(places or 0):
        return value_text(measure, mean, reach)
    ends = " to ".join(_digits(factor * end, places if end else 0) for end in (low, high))
    return f"{_digits(factor * mean, places)} ({ends}){unit(measure)}"


def difference_text(measure: Measure, found: Difference | None) -> str:
    """A difference with its interval: +1.8 pp (1.5 to 2.1); a dash where it is not known."""
    if found is None:
        return "\u2013"
    if measure.name.endswith("_ms"):
        sign = MINUS if found.mean < 0 else "+"
        return f"{sign}{duration(round(abs(found.mean)))}" if round(found.mean) else SAME
    factor = scale(measure)
    if not found.mean and not found.low and not found.high:
        return SAME
    ends = [abs(end) for end in (found.mean, found.low, found.high) if end is not None]
    if measure.share and factor * max(ends) < LEAST:
        return f"under {LEAST}{unit(measure, difference=True)}"
    places = places_of_difference(measure, found.mean, found.low, found.high)
    shown = _signed(factor * found.mean, places) + unit(measure, difference=True)
    if found.low is None or found.high is None:
        return shown
    # an end that is not 0 is not shown as 0 where the difference is beyond chance
    while places is not None and found.apart and places < _FINEST:
        if all(
            _digits(factor * end, places).strip(f"0.,{MINUS}") for end in (found.low, found.high)
        ):
            break
        places += 1
        shown = _signed(factor * found.mean, places) + unit(measure, difference=True)
    low, high = (_digits(factor * end, places) for end in (found.low, found.high))
    return shown if low == high else f"{shown} ({low} to {high})"


def places_of_difference(
    measure: Measure, mean: float, low: float | None, high: float | None
) -> int | None:
    """Decimals of a difference and of the ends of its interval; None for significant digits."""
    if low is None or high is None or low == high:
        return _of(measure, None, mean)
    return _of(measure, (high - low) / 2, max(abs(mean), abs(low), abs(high)))


def texts_apart(measure: Measure, one: Standing, other: Standing) -> tuple[str, str]:
    """Two standings as texts with enough digits to show which is the larger.

    Orders of arrival are compared one by one. So two policies may differ beyond chance by less than
    the interval of either.
    """
    said = standing_text(measure, one), standing_text(measure, other)
    factor = scale(measure)
    shown = [mean_text(measure, row.mean, row.high) for row in (one, other)]
    if one.mean == other.mean or shown[0] != shown[1] or measure.name.endswith("_ms"):
        return said
    apart = factor * abs(one.mean - other.mean)
    places = allowed(apart)
    means = (f"{_digits(factor * row.mean, places)}{unit(measure)}" for row in (one, other))
    first, second = means
    return first, second


def _signed(value: float, places: int | None) -> str:
    text = _digits(value, places)
    return text if text.startswith(MINUS) or not text.strip("0.,") else f"+{text}"


#: Worse by the mean alone.
ON_AVERAGE = "worse, maybe chance"


def way(measure: Measure, found: Difference | None, *, average: bool = False) -> str:
    """``better`` or ``worse`` for a difference beyond chance that matters; empty for any other.

    Every page takes this verdict on two policies from here. With ``average`` it is ``ON_AVERAGE``
    where the mean alone is worse: see ``Difference``. A reader wants to know of a possible loss
    before it is proven.
    """
    if found is None or measure.better is None or not found.mean or found.slight:
        return ""
    better = (found.mean < 0) == (measure.better == "low")
    if found.apart:
        return "better" if better else "worse"
    return ON_AVERAGE if average and not better and found.on_average else ""
