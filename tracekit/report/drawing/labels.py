"""Names beside the marks of a figure: where they cover neither a mark nor one another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tracekit.report.drawing.palette import color

FONT_PX = 12
#: Of a letter at that size; more than most take.
_LETTER_PX, _LINE_PX, _MARK_PX = 7.0, 16.0, 9.0
#: Where a name may stand: its anchor, and how far from the mark, right and down in pixels.
_PLACES = (
    ("left", 12, 0), ("right", -12, 0), ("center", 0, -18), ("center", 0, 18),
    ("left", 14, -20), ("left", 14, 20), ("right", -14, -20), ("right", -14, 20),
    ("left", 20, -42), ("right", -20, -42), ("left", 20, 42), ("right", -20, 42),
    ("left", 26, -66), ("right", -26, -66), ("left", 26, 66), ("right", -26, 66),
)  # fmt: skip
#: Further than this from its mark, a line leads to it.
_BESIDE_PX = 19


@dataclass(frozen=True, kw_only=True)
class Label:
    """A name and its mark, on axes that run from 0 to 1.

    Parameters
    ----------
    must : bool
        Whether it is put at the least bad place where none is free; else it is left out.
    """

    text: str
    x: float
    y: float
    must: bool = False
    bold: bool = False


Box = tuple[float, float, float, float]


def placed(
    labels: Sequence[Label],
    marks: Sequence[tuple[float, float]],
    *,
    width_px: int,
    height_px: int,
    most: int,
) -> list[tuple[Label, dict[str, Any]]]:
    """Each label that found a place, the first ones first, with how its annotation is drawn.

    Parameters
    ----------
    marks : pairs of float
        Every mark of the figure, on axes from 0 to 1.
    width_px, height_px : int
        Of the room between the axes, at its narrowest.
    """
    taken = [_around(x * width_px, (1 - y) * height_px) for x, y in marks]
    found: list[tuple[Label, dict[str, Any]]] = []
    for one in labels:
        if len(found) >= most:
            break
        at = one.x * width_px, (1 - one.y) * height_px
        boxes = [_box(one, at, place) for place in _PLACES]
        costs = [_cost(box, taken, width_px, height_px) for box in boxes]
        best = min(range(len(_PLACES)), key=lambda which: (costs[which], which))
        if costs[best] and not one.must:
            continue
        taken.append(boxes[best])
        found.append((one, _drawn(one, _PLACES[best])))
    return found


def _around(x: float, y: float) -> Box:
    return x - _MARK_PX, y - _MARK_PX, x + _MARK_PX, y + _MARK_PX


def _box(label: Label, at: tuple[float, float], place: tuple[str, int, int]) -> Box:
    anchor, right, down = place
    wide = len(label.text) * _LETTER_PX * (1.08 if label.bold else 1.0)
    x, y = at[0] + right, at[1] + down
    left = x if anchor == "left" else x - wide if anchor == "right" else x - wide / 2
    return left, y - _LINE_PX / 2, left + wide, y + _LINE_PX / 2


def _cost(box: Box, taken: Sequence[Box], width_px: int, height_px: int) -> float:
    """How many square pixels are covered twice, or lie outside."""
    left, top, right, bottom = box
    outside = max(-left, 0) + max(right - width_px, 0) + max(-top, 0) + max(bottom - height_px, 0)
    twice = sum(
        max(min(right, other[2]) - max(left, other[0]), 0)
        * max(min(bottom, other[3]) - max(top, other[1]), 0)
        for other in taken
    )
    return outside * _LINE_PX + twice


def _drawn(label: Label, place: tuple[str, int, int]) -> dict[str, Any]:
    anchor, right, down = place
    far = abs(down) > _BESIDE_PX
    return {
        "text": f"<b>{label.text}</b>" if label.bold else label.text,
        "showarrow": True,
        "arrowhead": 0,
        "arrowwidth": 1,
        "arrowcolor": color("bound") if far else "rgba(0,0,0,0)",
        "ax": right,
        "ay": down,
        "xanchor": anchor,
        "yanchor": "middle",
        "standoff": 6,
        "bgcolor": color("card"),
        "borderpad": 0,
        "font": {"size": FONT_PX},
    }
