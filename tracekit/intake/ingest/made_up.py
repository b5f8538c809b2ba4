"""Whether trace files were drawn by ``tracekit synth``: the truth it planted lies with them."""

import json
from pathlib import Path

from tracekit.base.constants import SYNTH_MANIFEST, SYNTH_SCHEMA, TRUTH
from tracekit.base.files.places import is_remote
from tracekit.base.opened import read_text

#: A file of a made-up trace lies at most so many folders below the trace's own.
_BELOW = 2


def is_made_up(source: Path) -> bool:
    """Whether a folder of a trace is made up; on this machine also a part of such a folder."""
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
