"""Made-up traces in the shape of CTM21, with the truth about them on the side.

``write`` leaves archives that ``tracekit ingest`` reads like the released ones, and in ``truth/``
what was planted in them. Shapes follow the statistics published about the real trace; no real row,
id or series is in here.
"""

from tracekit.synth.files import SynthSummary
from tracekit.synth.generate import write

__all__ = ["SynthSummary", "write"]
