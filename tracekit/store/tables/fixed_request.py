"""What a request keeps, whatever the containers of a pod ask for, and what these ask for."""

from tracekit.store.tables._columns import parts_of_requests

TABLE = parts_of_requests(
    "fixed_request",
    "The part of requests that other requests of a pod's containers do not change",
    {
        "init": "What its init containers need; less is never reserved for it.",
        "overhead": "What is reserved on top of its containers, init containers too.",
        "own_request": "What its containers ask for together while they run.",
        "own_limit": "What these may use at most together.",
    },
)
