"""Commands for a shell in lines that fit where they are shown and can be copied as they stand."""

import re
import shlex

#: A word of a command with what is quoted in it.
_WORD = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")
_INDENT = "    "
#: What ends a line that goes on.
_ON = " \\"


def quoted(text: str) -> str:
    """A text as one word of a shell; SQL, which holds single quotes, stands between double ones."""
    if "'" in text and not re.search(r'["$`\\\\!]', text):
        return f'"{text}"'
    return shlex.quote(text)


def in_lines(command: str, width: int) -> str:
    r"""A command broken before its options, with ``\`` at the end of each line but the last.

    Parameters
    ----------
    command : str
        One line.
    width : int
        Characters of a line. A line is longer where one option with its value is.
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
