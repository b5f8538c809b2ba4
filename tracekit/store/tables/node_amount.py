"""What nodes use, in amounts."""

from tracekit.store.tables._columns import amounts_of

TABLE = amounts_of("node", "nodes")
