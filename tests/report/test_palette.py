"""Colours that everybody can read and tell apart, in light and in dark."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tracekit.base.arrays import FloatArray
from tracekit.report.plot import SERIES, SURFACES, TEXT, declarations

#: Machado, Oliveira and Fernandes 2009, severity 1.0, in linear RGB.
DEFICIENCIES = {
    "protan": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deutan": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
}
#: Series that stand in one figure together.
TOGETHER = [
    ("zone-a", "zone-b", "zone-c"),
    ("cpu", "memory"),
    ("policy-1", "policy-2", "policy-3"),
]


def linear(text: str) -> FloatArray:
    """A colour as linear RGB, 0..1."""
    values = np.array([int(text[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def luminance(text: str) -> float:
    return float(linear(text) @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    """WCAG 2.2 contrast ratio, 1..21."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("text", "surface"), list(itertools.product(TEXT, SURFACES)))
def test_text_can_be_read(text: str, surface: str, theme: int) -> None:
    assert contrast(TEXT[text][theme], SURFACES[surface][theme]) >= 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("series", SERIES)
def test_marks_stand_out_from_the_card(series: str, theme: int) -> None:
    assert contrast(SERIES[series][theme], SURFACES["card"][theme]) >= 3


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("deficiency", DEFICIENCIES)
@pytest.mark.parametrize("names", TOGETHER, ids=",".join)
def test_series_of_one_figure_stay_apart(
    names: tuple[str, ...], deficiency: str, theme: int
) -> None:
    seen = [np.array(DEFICIENCIES[deficiency]) @ linear(SERIES[name][theme]) for name in names]
    distances = [np.abs(a - b).max() for a, b in itertools.combinations(seen, 2)]
    assert min(distances) > 0.08


def test_css_holds_every_name_in_both_themes() -> None:
    for dark in (False, True):
        text = declarations(dark=dark)
        assert all(f"--{name}: " in text for name in [*SURFACES, *TEXT, *SERIES])
