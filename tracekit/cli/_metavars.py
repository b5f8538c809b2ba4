"""What stands for a value in the help: a word that says what it is, not the type it has.

A verb's own word goes first (``metavar``); these are the words of parameters that many verbs have,
and of those whose name alone says it.
"""

from __future__ import annotations

from typing import Any

_WORDS = {
    "base_url": "URL",
    "batches": "BATCHES",
    "binding": "FILE",
    "chains": "CHAINS",
    "containers": "CONTAINERS",
    "context": "CONTEXT",
    "dimensions": "DIMENSIONS",
    "end": "TIME",
    "epochs": "EPOCHS",
    "export": "FOLDER",
    "fit": "FOLDER",
    "functions": "FUNCTION",
    "iterations": "ITERATIONS",
    "jobs": "PROCESSES",
    "kubectl": "PROGRAM",
    "max_rejects_fraction": "FRACTION",
    "measure": "MEASURE",
    "memory_limit_bytes": "SIZE",
    "out": "FOLDER",
    "params": "NAME=VALUE",
    "parts": "PARTS",
    "policies": "POLICY",
    "population": "CANDIDATES",
    "preset": "PRESET",
    "rate": "SPAN",
    "release": "TRACE",
    "repeats": "ORDERS",
    "repeats_up_to": "ORDERS",
    "ridge": "ROWS",
    "runs": "RUNS",
    "scale": "FACTOR",
    "searches": "SEARCH",
    "seed": "SEED",
    "seeds": "SEEDS",
    "sets": "SETS",
    "sockets": "SOCKETS",
    "start": "TIME",
    "step": "SPAN",
    "studies": "STUDY",
    "tables": "TABLE,...",
    "target_alloc_fraction": "FRACTION",
    "threads_per_core": "VCPUS",
    "timeout_s": "SECONDS",
    "topology": "FILE",
    "truth": "FILE",
    "url": "URL",
}


def metavar(param: Any) -> str | None:
    """The word for a parameter's value; None where its choices are shown instead."""
    if param.metavar is not None or getattr(param.type, "choices", None):
        return param.metavar  # type: ignore[no-any-return]
    return _WORDS.get(param.name)
