"""A hash table from id texts to keys, for compiled loops; it uses open addressing.

The hash says where to look. A text matches an id only if all bytes are equal.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from tracekit.base.arrays import Int32Array, IntArray, UInt8Array, UInt64Array
from tracekit.base.jit import Type, cgutils, compiled, intrinsic, types
from tracekit.intake.read.blocks import PADDING

_U0, _U29, _U32 = (np.uint64(n) for n in (0, 29, 32))
_MIX_A = np.uint64(0x9E3779B97F4A7C15)
_MIX_B = np.uint64(0xD6E8FEB86659FD93)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_EIGHT = np.uint64(8)
F = TypeVar("F", bound=Callable[..., Any])
_instruction = cast("Callable[[F], F]", intrinsic)
_WORD = ir.IntType(64)
_DOUBLE_WORD = ir.IntType(128)


class KeyTable(NamedTuple):
    """A hash table of one file's names, for compiled code; equal texts of two kinds are two ids.

    An id is the number of a name in order of its first occurrence, over all kinds.

    Attributes
    ----------
    slots : the hash table: id + 1, or 0 in a free slot; shape (a power of two,) int32
    hashes : by id, uint64
    starts : by id, the start of its text, and at the end the length of all texts; int64
    text : the texts, one after another, uint8
    kinds : by id, its kind (an entity or a text column), uint8
    numbers : by id, its key within its kind, int32; negative for a spelling of "unknown"
    counts : by kind, the number of keys, int64
    used : the number of ids, and the number of bytes of their texts
    """

    slots: Int32Array
    hashes: UInt64Array
    starts: IntArray
    text: UInt8Array
    kinds: UInt8Array
    numbers: Int32Array
    counts: IntArray
    used: IntArray


def new_table(kinds: int) -> KeyTable:
    """Return an empty table."""
    ids, text_bytes = 1 << 12, 1 << 18
    return KeyTable(
        slots=np.zeros(2 * ids, dtype=np.int32),
        hashes=np.empty(ids, dtype=np.uint64),
        starts=np.zeros(ids + 1, dtype=np.int64),
        text=np.zeros(text_bytes + PADDING, dtype=np.uint8),
        kinds=np.empty(ids, dtype=np.uint8),
        numbers=np.empty(ids, dtype=np.int32),
        counts=np.zeros(kinds, dtype=np.int64),
        used=np.zeros(2, dtype=np.int64),
    )


def grown(arrays: list[NDArray[Any]], ids: int, text_bytes: int) -> KeyTable:
    """Return a table with room for at least ``ids`` more ids and ``text_bytes`` more bytes.

    Arrays that are too short are doubled. ``arrays`` must be the only reference to them, so that
    each is freed once its longer copy exists: a table of millions of ids is never in memory twice.
    """
    place = {name: at for at, name in enumerate(KeyTable._fields)}
    used_ids, length = (int(used) for used in arrays[place["used"]])
    room, long = arrays[place["hashes"]].size, arrays[place["text"]].size - PADDING
    while long < length + text_bytes:
        long *= 2
    _lengthen(arrays, place["text"], long + PADDING, length)
    if room >= used_ids + ids:
        return KeyTable(*arrays)
    while room < used_ids + ids:
        room *= 2
    arrays[place["slots"]] = np.zeros(2 * room, dtype=np.int32)
    for name in ("hashes", "kinds", "numbers"):
        _lengthen(arrays, place[name], room, used_ids)
    _lengthen(arrays, place["starts"], room + 1, used_ids + 1)
    table = KeyTable(*arrays)
    _place_all(table.slots, table.hashes, used_ids)
    return table


def _lengthen(arrays: list[NDArray[Any]], at: int, size: int, used: int) -> None:
    if arrays[at].size == size:
        return
    longer = np.zeros(size, dtype=arrays[at].dtype)
    longer[:used] = arrays[at][:used]
    arrays[at] = longer


@compiled
def _place_all(slots: Int32Array, hashes: UInt64Array, ids: int) -> None:
    mask = slots.size - 1
    for key in range(ids):
        at = np.int64(hashes[key]) & mask
        while slots[at] != 0:
            at = (at + 1) & mask
        slots[at] = key + 1


@compiled
def _masked(word: np.uint64, size: int) -> np.uint64:
    """The first ``size`` bytes of a word; ``size`` is 1 to 8."""
    return word & (_ALL >> (_EIGHT * np.uint64(8 - size)))


@compiled
def hash_of(text: UInt8Array, start: int, size: int, kind: int) -> np.uint64:
    """Return the hash of a text of this kind.

    The text must have ``PADDING`` bytes behind it.
    """
    left = np.uint64(size) * _MIX_A + np.uint64(kind)
    right = _MIX_B
    at = 0
    while at + 16 <= size:
        left = (left ^ load_word(text, start + at)) * _MIX_A  # type: ignore[call-arg, arg-type]
        right = (right ^ load_word(text, start + at + 8)) * _MIX_B  # type: ignore[call-arg, arg-type]
        left ^= left >> _U29
        right ^= right >> _U32
        at += 16
    while at < size:
        word = load_word(text, start + at)  # type: ignore[call-arg, arg-type]
        left = (left ^ _masked(word, min(8, size - at))) * _MIX_A
        left ^= left >> _U29
        at += 8
    left = (left ^ right) * _MIX_A
    return left ^ (left >> _U32)


@compiled
def same_text(left: UInt8Array, at: int, right: UInt8Array, right_at: int, size: int) -> bool:
    """Return whether ``size`` bytes are equal.

    Both texts must have ``PADDING`` bytes behind them.
    """
    done = 0
    while done + 8 <= size:
        if load_word(left, at + done) != load_word(right, right_at + done):  # type: ignore[call-arg, arg-type]
            return False
        done += 8
    if done == size:
        return True
    one = load_word(left, at + done)  # type: ignore[call-arg, arg-type]
    other = load_word(right, right_at + done)  # type: ignore[call-arg, arg-type]
    return _masked(one ^ other, size - done) == _U0


@compiled
def find(
    slots: Int32Array,
    hashes: UInt64Array,
    starts: IntArray,
    id_text: UInt8Array,
    text: UInt8Array,
    start: int,
    size: int,
    code: np.uint64,
) -> int:
    """Return the id of a text, or -1 if the table does not have it.

    The arguments up to ``id_text`` are fields of the ``KeyTable``, as passing the whole table would
    cost more than the search. The text is ``size`` bytes of ``text`` from ``start`` on. ``code`` is
    the hash of this text and of its kind.
    """
    mask = slots.size - 1
    at = np.int64(code) & mask
    while True:
        key = np.int64(slots[at]) - 1
        if key < 0:
            return -1
        if hashes[key] == code:
            id_start = starts[key]
            if starts[key + 1] - id_start == size and same_text(
                text, start, id_text, id_start, size
            ):
                return key
        at = (at + 1) & mask


@compiled
def add(
    slots: Int32Array,
    hashes: UInt64Array,
    starts: IntArray,
    id_text: UInt8Array,
    kinds: UInt8Array,
    numbers: Int32Array,
    counts: IntArray,
    used: IntArray,
    text: UInt8Array,
    start: int,
    size: int,
    kind: int,
    code: np.uint64,
) -> int:
    """Return the id of a text, and add the text if it is new.

    The table must have room for it; ``grown`` makes room.
    """
    key = find(slots, hashes, starts, id_text, text, start, size, code)
    if key >= 0:
        return key
    key, begun = used[0], used[1]
    for n in range(size):
        id_text[begun + n] = text[start + n]
    starts[key + 1] = begun + size
    hashes[key] = code
    kinds[key] = kind
    numbers[key] = counts[kind]
    counts[kind] += 1
    used[0] += 1
    used[1] += size
    mask = slots.size - 1
    at = np.int64(code) & mask
    while slots[at] != 0:
        at = (at + 1) & mask
    slots[at] = key + 1
    return key


@compiled
def add_all(table: KeyTable, text: UInt8Array, starts: IntArray, kind: int) -> Int32Array:
    """Return the keys of texts of one kind, shape (texts,); new texts are added.

    Text i is ``text[starts[i]:starts[i + 1]]``. The table must have room for all.
    """
    slots, hashes, begins, id_text, kinds, numbers, counts, used = table
    keys = np.empty(starts.size - 1, dtype=np.int32)
    for n in range(starts.size - 1):
        start, size = starts[n], starts[n + 1] - starts[n]
        code = hash_of(text, start, size, kind)
        key = add(
            slots,
            hashes,
            begins,
            id_text,
            kinds,
            numbers,
            counts,
            used,
            text,
            start,
            size,
            kind,
            code,
        )
        keys[n] = numbers[key]
    return keys


def add_unknown(table: KeyTable, spellings: list[str]) -> KeyTable:
    """Return an empty table with the spellings of an unknown name added under each kind.

    The spelling at index n has the key ``-1 - n``.
    """
    for kind in range(table.counts.size):
        for n, spelling in enumerate(spellings):
            text = padded([spelling.encode()])
            table = grown(list(table), 1, len(spelling.encode()))
            add_all(table, text, np.array([0, len(spelling.encode())]), kind)
            table.numbers[table.used[0] - 1] = -1 - n
        table.counts[kind] = 0
    return table


def padded(texts: list[bytes]) -> UInt8Array:
    """Return texts, one after another, with the padding that compiled loops may read."""
    return np.frombuffer(b"".join([*texts, bytes(PADDING)]), dtype=np.uint8)


@compiled
def in_key_order(table: KeyTable, kind: int) -> Int32Array:
    """Return the ids of one kind in the order of their keys."""
    kinds, numbers = table.kinds, table.numbers
    ids = np.empty(table.counts[kind], dtype=np.int32)
    for key in range(table.used[0]):
        if kinds[key] == kind and numbers[key] >= 0:
            ids[numbers[key]] = key
    return ids


@compiled
def gathered(table: KeyTable, ids: Int32Array) -> tuple[UInt8Array, IntArray]:
    """Return the texts of some ids one after another, uint8, and their offsets, (ids + 1,)."""
    starts, id_text = table.starts, table.text
    offsets = np.zeros(ids.size + 1, dtype=np.int64)
    for n in range(ids.size):
        offsets[n + 1] = offsets[n] + starts[ids[n] + 1] - starts[ids[n]]
    text = np.empty(offsets[ids.size], dtype=np.uint8)
    for n in range(ids.size):
        begun = starts[ids[n]]
        for at in range(offsets[n], offsets[n + 1]):
            text[at] = id_text[begun + at - offsets[n]]
    return text, offsets


@_instruction
def load_word(_context: Any, array: Type, at: Type) -> Any:
    """Return eight bytes of a uint8 array as a little-endian uint64.

    The bytes begin at any position, which is not checked.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = cgutils.gep_inbounds(builder, data, arguments[1])
        return builder.load(builder.bitcast(place, _WORD.as_pointer()), typ=_WORD, align=1)

    del at
    return types.uint64(array, types.int64), generate


@_instruction
def high_product(_context: Any, left: Type, right: Type) -> Any:
    """Return the upper 64 bits of the product of two uint64."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        wide = [builder.zext(argument, _DOUBLE_WORD) for argument in arguments]
        shifted = builder.lshr(builder.mul(*wide), ir.Constant(_DOUBLE_WORD, 64))
        return builder.trunc(shifted, _WORD)

    del left, right
    return types.uint64(types.uint64, types.uint64), generate


@_instruction
def leading_zeros(_context: Any, word: Type) -> Any:
    """Return the number of leading zero bits of a uint64 that is not zero."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))

    del word
    return types.uint64(types.uint64), generate


@_instruction
def as_double(_context: Any, bits: Type) -> Any:
    """Return the float64 whose bits are those of a uint64."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    del bits
    return types.float64(types.uint64), generate
