"""What containers use, in amounts."""

from tracekit.tables._columns import amounts_of

TABLE = amounts_of("container", "containers")
