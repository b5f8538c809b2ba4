"""Names of nodes in a request: looked up and answered without an object for each name."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from tracekit.base.arrays import Int32Array, IntArray, UInt8Array
from tracekit.base.errors import TracekitError
from tracekit.base.jit import compiled

_QUOTE, _BRACKETS = ord('"'), (ord("["), ord("]"))
#: The characters between two names.
_BETWEEN = (ord(","), ord(" "), ord("\t"), ord("\n"), ord("\r"))
#: A factor for each byte of a name, by its place; later bytes do not count.
_FACTORS = np.cumprod(np.full(256, 0x5851F42D4C957F2D, dtype=np.int64))
_BEFORE, _AFTER = (np.frombuffer(one, dtype=np.uint8) for one in (b'{"Host":"', b'","Score":'))


@dataclass(frozen=True, kw_only=True)
class Listed:
    """The node names of one request, kept as JSON bytes, and their positions in a table.

    Parameters
    ----------
    text : uint8, shape (bytes,)
        The JSON list of names.
    quotes : int64, shape (2 * names,)
        The offset in ``text`` of each quotation mark: two for each name.
    positions : int64, shape (names,)
        The position of each name in the table; -1 for a name that the table lacks.
    """

    text: UInt8Array
    quotes: IntArray
    positions: IntArray

    def name(self, at: int) -> str:
        """Return the name with index ``at`` in the list."""
        begin, end = self.quotes[2 * at : 2 * at + 2].tolist()
        return self.text[begin + 1 : end].tobytes().decode(errors="replace")

    def answer(self, tenths: IntArray) -> bytes:
        """Return the HostPriorityList as JSON; ``tenths`` has a score 0 to 10 for each name."""
        most = len(self.text) + len(tenths) * (len(_BEFORE) + len(_AFTER) + 4)
        out = np.empty(most, dtype=np.uint8)
        return out[: _write(self.text, self.quotes, tenths, out)].tobytes()


class Names:
    """A hash table from names to their index in a sequence, for lookups of whole JSON lists.

    Parameters
    ----------
    names : sequence of str
        The index of a name is its position.
    """

    def __init__(self, names: Sequence[str] = ()) -> None:
        spelled = [msgspec.json.encode(name)[1:-1] for name in names]
        self._letters = np.frombuffer(b"".join(spelled), dtype=np.uint8)
        self._ends = np.cumsum([0, *map(len, spelled)])
        self._slots = np.full(1 << (4 * len(names) + 16).bit_length(), -1, dtype=np.int32)
        _enter(self._letters, self._ends, self._slots)

    def find(self, listed: Any) -> Listed:
        """Return the positions of the names in a list. Raise TracekitError for any other text.

        Parameters
        ----------
        listed : bytes-like
            The list, in valid JSON.
        """
        text = np.frombuffer(listed, dtype=np.uint8)
        quotes = np.flatnonzero(text == _QUOTE)
        if not _are_names(text, quotes) or b"\\" in bytes(listed):
            raise TracekitError("NodeNames is no list of names")
        positions = _positions(text, quotes, self._letters, self._ends, self._slots)
        return Listed(text=text, quotes=quotes, positions=positions)


@compiled
def _number(name: UInt8Array) -> int:
    """The hash of a name."""
    total = len(name)
    for at in range(min(len(name), len(_FACTORS))):
        total += name[at] * _FACTORS[at]
    return total >> 32


@compiled
def _enter(letters: UInt8Array, ends: IntArray, slots: Int32Array) -> None:
    """Fill the hash table: a name whose slot is taken goes to the next slot; -1 is empty."""
    for one in range(len(ends) - 1):
        slot = _number(letters[ends[one] : ends[one + 1]]) & (len(slots) - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = one


@compiled
def _are_names(text: UInt8Array, quotes: IntArray) -> bool:
    """Whether the text is a list of strings."""
    if text[0] != _BRACKETS[0] or text[-1] != _BRACKETS[1] or len(quotes) % 2:
        return False
    after = 1
    for at in range(0, len(quotes) + 1, 2):
        before = quotes[at] if at < len(quotes) else len(text) - 1
        for place in range(after, before):
            if text[place] not in _BETWEEN:
                return False
        if at < len(quotes):
            after = quotes[at + 1] + 1
    return True


@compiled
def _positions(
    text: UInt8Array, quotes: IntArray, letters: UInt8Array, ends: IntArray, slots: Int32Array
) -> IntArray:
    """The position of each name; -1 for a name that the table lacks."""
    positions = np.full(len(quotes) // 2, -1, dtype=np.int64)
    for at in range(len(positions)):
        name = text[quotes[2 * at] + 1 : quotes[2 * at + 1]]
        slot = _number(name) & (len(slots) - 1)
        while slots[slot] >= 0:
            one = slots[slot]
            other = letters[ends[one] : ends[one + 1]]
            if len(other) == len(name):
                unlike = 0
                for letter in range(len(name)):
                    unlike |= name[letter] ^ other[letter]
                if not unlike:
                    positions[at] = one
                    break
            slot = (slot + 1) & (len(slots) - 1)
    return positions


@compiled
def _write(text: UInt8Array, quotes: IntArray, tenths: IntArray, out: UInt8Array) -> int:
    """Write the list of hosts and scores into ``out``; its length in bytes."""
    out[0], to = ord("["), 1
    for at in range(len(tenths)):
        name = text[quotes[2 * at] + 1 : quotes[2 * at + 1]]
        for part in (_BEFORE, name, _AFTER):
            rest = out[to:]
            for letter in range(len(part)):
                rest[letter] = part[letter]
            to += len(part)
        score = tenths[at]
        if score > 9:  # 10 is the highest
            out[to], score = ord("1"), 0
            to += 1
        out[to], out[to + 1], out[to + 2] = ord("0") + score, ord("}"), ord(",")
        to += 3
    to = max(to - 1, 1)
    out[to] = ord("]")
    return to + 1
