"""Recognises trace files that ``tracekit synth`` made, by the planted truth beside them."""

import json
from pathlib import Path

from tracekit.base.constants import SYNTH_MANIFEST, SYNTH_SCHEMA, TRUTH
from tracekit.base.files.places import is_remote
from tracekit.base.opened import read_text

#: The number of folders above a source that may hold the planted truth.
_BELOW = 2


def is_made_up(source: Path) -> bool:
    """Whether a source is a made-up trace or, on this machine, a file or folder of one."""
    above = () if is_remote(source) else source.resolve().parents[:_BELOW]
    return any(_is_truth(folder.joinpath(TRUTH, SYNTH_MANIFEST)) for folder in (source, *above))


def _is_truth(about: Path) -> bool:
    if not about.is_file():
        return False
    try:
        document = json.loads(read_text(about))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and document.get("schema") == SYNTH_SCHEMA
