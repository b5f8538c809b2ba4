"""Numbers and lists as sentences say them, and commands for a shell in lines that fit a screen."""

import re
import shlex
from collections.abc import Sequence

#: Resources whose use is recorded, in the order of arrays, and their words in a sentence.
RESOURCES = {"cpu": "CPU", "memory": "memory"}
#: The words of further resources whose name is not a word.
_RESOURCE_WORDS = {
    **RESOURCES,
    "gpu": "GPU",
    "nvidia_com_gpu": "GPU (nvidia.com)",
    "net": "network",
}

NBSP = "\u00a0"
MINUS = "\u2212"
#: So many names are listed; further names are counted.
_NAMED = 3
#: Words for one, and for several.
_CHOICES = re.compile(r"\[([^][|]*)\|([^][|]*)\]")


def percent(fraction: float, digits: int | None = None) -> str:
    """Return a fraction 0..1 as a percentage: '0.12 %', '1.2 %', '12 %'.

    Without ``digits`` it has two significant digits below 10 %, and is a whole number above.
    """
    value = 100 * fraction
    if digits is None:
        digits = 0 if abs(value) >= 10 or value == 0 else 1 if abs(value) >= 1 else 2
    least = 10.0**-digits
    if 0 < abs(value) < least / 2:
        return f"under {least:g}{NBSP}%"
    return f"{value:.{digits}f}{NBSP}%".replace("-", MINUS)


def number(value: float, digits: int = 3) -> str:
    """Return a number of ``digits`` significant digits, without an exponent: 0.123, 12.3, 1,230."""
    if value == 0:
        return "0"
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:#.{digits}g}".rstrip(".")
    return text.replace("-", MINUS)


def signed(value: float, digits: int = 2) -> str:
    """Return a number of ``digits`` decimals, with a typographic minus (U+2212) if negative."""
    text = f"{value:.{digits}f}"
    return f"{0:.{digits}f}" if not float(text) else text.replace("-", MINUS)


def count(value: float, noun: str) -> str:
    """Return a count with its noun after a non-breaking space: '1 node', '1,300 nodes'.

    A fraction has four digits: '0.1667 nodes'.
    """
    return counted(value, noun).replace(" ", NBSP, 1)


def counted(value: float, noun: str) -> str:
    """Return what ``count`` returns, with a plain space, for terminals and documents."""
    text = f"{value:,.0f}" if value == int(value) else f"{value:,.4g}"
    return f"{text} {plural(value, noun)}"


def plural(value: float, noun: str) -> str:
    """Return a noun in the singular for a value of 1, and else in the plural: 'policies'."""
    by_y = noun.endswith("y") and noun[-2:-1] not in "aeiou"
    many = f"{noun[:-1]}ies" if by_y else f"{noun}s"
    return noun if value == 1 else many


def agreeing(value: int, text: str) -> str:
    """Return a count and a clause in the singular or plural: '2 containers wait here'.

    The text has both forms: ``[container waits|containers wait] here``.
    """
    clause = _CHOICES.sub(lambda match: match[1 if value == 1 else 2], text)
    return f"{value:,} {clause}"


def listed(items: Sequence[str], joiner: str = "and") -> str:
    """Return items in words: 'a', 'a and b', 'a, b and c'."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {joiner} {items[-1]}"


#: Ids that were hashed.
_DIGITS = re.compile(r"[0-9a-fA-F]+")


#: The lengths of the beginning and the end of a name that a figure shows.
_NAME_HEAD, _NAME_TAIL = 22, 9


def short_hash(text: str) -> str:
    """Return a hash (over 14 hex digits) cut after ten digits; return any other text unchanged."""
    hashed = _DIGITS.fullmatch(text) and len(text) > 14
    return f"{text[:10]}\u2026" if hashed else text


def short_id(text: str) -> str:
    """Return an id shortened for a figure.

    A hash is cut by ``short_hash``. Of a name longer than 32 characters the first 22 and the last 9
    stay, because names of one cluster begin alike.
    """
    short = short_hash(text)
    if short != text or len(text) <= _NAME_HEAD + _NAME_TAIL + 1:
        return short
    return f"{text[:_NAME_HEAD]}\u2026{text[-_NAME_TAIL:]}"


def short_ids(texts: Sequence[str]) -> list[str]:
    """Return ``short_id`` of each id. An id stays whole if another has the same short form."""
    short = [short_id(text) for text in texts]
    meant: dict[str, set[str]] = {}
    for text, one in zip(texts, short, strict=True):
        meant.setdefault(one, set()).add(text)
    return [one if len(meant[one]) == 1 else text for text, one in zip(texts, short, strict=True)]


def few(names: Sequence[str], most: int = _NAMED) -> str:
    """Return up to ``most`` names in words: 'a, b and c', or 'a, b, c and 7 more'."""
    return listed(names) if len(names) <= most else and_more(names[:most], len(names))


def and_more(names: Sequence[str], of: int) -> str:
    """Return ``names``, and how many more make ``of`` in total: 'a, b and 7 more'."""
    more = f" and {of - len(names):,} more" if of > len(names) else ""
    return f"{', '.join(names)}{more}"


def words_of(resource: str) -> str:
    """Return how a sentence calls a resource: 'network' for ``net``."""
    # the share of thousandths is the share of the whole
    name = resource.removesuffix("_milli")
    return _RESOURCE_WORDS.get(name, name.replace("_", " "))


#: A word of a command with what is quoted in it.
_WORD = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")
_INDENT = "    "
#: The end of a line that continues.
_ON = " \\"


def quoted(text: str) -> str:
    """Return a text quoted as one word of a shell command.

    SQL, which has single quotes inside, is put between double quotes if possible.
    """
    if "'" in text and not re.search(r'["$`\\\\!]', text):
        return f'"{text}"'
    return shlex.quote(text)


def in_lines(command: str, width: int) -> str:
    r"""Return a shell command broken before options into lines that end in ``\``, except the last.

    Parameters
    ----------
    command : str
        One line.
    width : int
        The most characters of a line. Only an option with a longer value makes a line longer.
    """
    parts = [""]
    for word in _WORD.findall(command):
        if word.startswith("-") and parts[-1]:
            parts.append(word)
        else:
            parts[-1] = f"{parts[-1]} {word}".strip()
    lines = [""]
    for part in parts:
        longer = f"{lines[-1]} {part}".strip(" ") if len(lines) == 1 else f"{lines[-1]} {part}"
        if lines[-1] and len(longer) + len(_ON) > width:
            lines.append(f"{_INDENT}{part}")
        else:
            lines[-1] = longer
    return f"{_ON}\n".join(lines)
