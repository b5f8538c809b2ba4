"""What containers ask for."""

from tracekit.store.tables._columns import parts_of_requests

TABLE = parts_of_requests(
    "container_resource",
    "Requests and limits of containers, resource by resource",
    {"request": "What is reserved for it.", "limit": "What it may use at most."},
)
