"""The compiled walk over lines of CSV: fields to times, numbers and keys in one pass.

It takes only what is plainly right. A line with anything unusual about it is "odd": its place is
noted, and ``parse`` and ``validate`` decide about it, as they do about every line of a small file.
"""

from typing import NamedTuple

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, Int32Array, IntArray, UInt8Array
from tracekit.base.jit import compiled
from tracekit.intake.read.blocks import PADDING
from tracekit.intake.read.decimals import number_at
from tracekit.intake.read.keytable import KeyTable, add, find, hash_of, same_text
from tracekit.intake.read.plan import NAME, NUMBER, TIME, Fields

DONE, FULL, SHORT_OF_KEYS = 0, 1, 2
_COMMA, _END, _SPACE, _DELETE, _ZERO = 0x2C, 0x0A, 0x20, 0x7F, 0x30
_MOST_TIME_FIGURES = 18


class Rows(NamedTuple):
    """Where rows go: room for as many as ``lines`` is long.

    Attributes
    ----------
    times, numbers, keys : (columns, rows) int64, float64, int32
    lines : the line number of each row, int64
    odd : start, end and number of each odd line, (3, rows) int64
    unknown : by field and spelling, how many names were unknown, int64
    above : by field, how many values were above the usual maximum, int64
    guess : by field, how long its last name was, int64
    follow : by field and context, the id that stood there the last time, -1 for none, int32
    trusted : by field, whether to look at ``follow`` first
    hits : by field, how many rows ``follow`` had right, int64
    """

    times: IntArray
    numbers: FloatArray
    keys: Int32Array
    lines: IntArray
    odd: IntArray
    unknown: IntArray
    above: IntArray
    guess: IntArray
    follow: Int32Array
    trusted: BoolArray
    hits: IntArray


@compiled
def scan(  # noqa: C901, PLR0912, PLR0915 - one walk: with names looked up in a part of its own it takes twice as long
    text: UInt8Array,
    start: int,
    line: int,
    fields: Fields,
    table: KeyTable,
    rows: Rows,
    main: int,
) -> tuple[int, int, int, int, int]:
    """Walk over lines from ``start`` until the text, the room for rows or that for keys ends.

    ``text`` holds whole lines and ``PADDING`` bytes. Returns why it ended, the place and number of
    the next line, and how many rows and odd lines there are. What was counted stands in ``rows``.

    Rows come in an order that repeats: behind one container stands the same container, service
    and node as the last time. So a name is first compared with the one that ``follow`` has for its
    context: the id of field ``main`` in this line, or in the line before for fields up to ``main``.
    Its text lies where the last one's neighbour was, while a hash leads all over the memory.
    """
    whats, places, kinds_of, required, absent, least, usual_most = fields
    slots, hashes, starts, known, kinds, local_keys, counts, used = table
    times, numbers, keys, lines, odds, unknown, above, guess, follow, trusted, hits = rows
    end, width, room = text.size - PADDING, whats.size, lines.size
    name_start, name_size = np.empty(width, np.int64), np.empty(width, np.int64)
    name_code, name_key = np.empty(width, np.uint64), np.empty(width, np.int64)
    contexts = follow.shape[1] - 1
    row = odd = 0
    before = np.int64(-1)
    while start < end:
        if room in (row, odd):
            return FULL, start, line, row, odd
        at, good, new_ids, new_bytes = start, True, 0, 0
        for field in range(width):
            stop = _COMMA if field < width - 1 else _END
            what = whats[field]
            if what == NAME:
                kind, size = kinds_of[field], guess[field]
                key, code = -1, np.uint64(0)
                # what equals a known id byte for byte needs no looking through
                if trusted[field]:
                    context = name_key[main] if field > main else before
                    likely = follow[field, context & contexts] if context >= 0 else np.int32(-1)
                    if likely >= 0:
                        there = starts[likely]
                        long = starts[likely + 1] - there
                        if (
                            at + long < end
                            and text[at + long] == stop
                            and same_text(text, at, known, there, long)
                        ):
                            key, size = np.int64(likely), long
                if key < 0 and at + size < end and text[at + size] == stop:
                    code = hash_of(text, at, size, kind)
                    key = find(slots, hashes, starts, known, text, at, size, code)
                if key < 0:
                    size = _plain_end(text, at) - at
                    if text[at + size] != stop:
                        good = False
                        break
                    code = hash_of(text, at, size, kind)
                    key = find(slots, hashes, starts, known, text, at, size, code)
                    guess[field] = size
                if key < 0:
                    new_ids += 1
                    new_bytes += size
                elif local_keys[key] < 0 and required[field]:
                    good = False
                    break
                name_start[field], name_size[field] = at, size
                name_code[field], name_key[field] = code, key
                at += size
            elif what == NUMBER:
                if text[at] == stop and absent[field]:
                    numbers[places[field], row] = np.nan
                else:
                    value, at = number_at(text, at)
                    # a NaN fails this comparison too
                    good = value >= least[field]
                    numbers[places[field], row] = value
            elif what == TIME:
                time, at = _whole_at(text, at)
                good = time >= least[field]
                times[places[field], row] = time
            else:
                at = _plain_end(text, at)
            if not good or text[at] != stop:
                good = False
                break
            at += 1
        if not good:
            at = _line_end(text, start) + 1
            odds[0, odd], odds[1, odd], odds[2, odd] = start, at, line
            odd += 1
        else:
            if used[0] + new_ids > hashes.size or used[1] + new_bytes > known.size - PADDING:
                return SHORT_OF_KEYS, start, line, row, odd
            for field in range(width):
                if whats[field] == NAME:
                    key = name_key[field]
                    if key < 0:
                        key = add(
                            slots, hashes, starts, known, kinds, local_keys, counts, used, text,
                            name_start[field], name_size[field], kinds_of[field], name_code[field],
                        )  # fmt: skip
                        name_key[field] = key
                    context = name_key[main] if field > main else before
                    if context >= 0:
                        hits[field] += follow[field, context & contexts] == key
                        follow[field, context & contexts] = key
                    local = local_keys[key]
                    if local < 0:
                        unknown[field, -1 - local] += 1
                        local = np.int32(-1)
                    keys[places[field], row] = local
                elif whats[field] == NUMBER and numbers[places[field], row] > usual_most[field]:
                    above[field] += 1
            before = name_key[main]
            lines[row] = line
            row += 1
        start = at
        line += 1
    return DONE, start, line, row, odd


@compiled
def _plain_end(text: UInt8Array, at: int) -> int:
    """The end of the plain ASCII from ``at`` on: a comma, a line end, or a byte out of place."""
    while True:
        byte = text[at]
        if byte == _COMMA or byte < _SPACE or byte >= _DELETE:
            return at
        at += 1


@compiled
def _line_end(text: UInt8Array, at: int) -> int:
    while text[at] != _END:
        at += 1
    return at


@compiled
def _whole_at(text: UInt8Array, start: int) -> tuple[int, int]:
    """The whole number at ``start``, and its end; the smallest of all when there is none."""
    at, value = start, 0
    while True:
        figure = np.int64(text[at]) - _ZERO
        if figure < 0 or figure > 9 or at - start > _MOST_TIME_FIGURES:
            break
        value = value * 10 + figure
        at += 1
    if at == start or at - start > _MOST_TIME_FIGURES:
        return np.int64(-(2**63)), at
    return value, at
