"""Limits on trace files, so that no file can take memory or time without end.

Real archives hold one CSV whose lines have some 300 bytes. Each limit is thousands of times more.
"""

#: The longest line of a CSV; a longer one is rejected as no row of any table.
LINE_BYTES = 1 << 20
#: The most empty lines one behind another; each is a rejected row, and no table has so many.
EMPTY_LINES = 1 << 22
#: The longest extended header of a tar archive.
HEADER_BYTES = 1 << 20
#: The most files that an archive may hold.
MEMBERS = 10_000


class BeyondLimitError(Exception):
    """A file asks for more than a limit allows; the text goes on after the file's name."""
