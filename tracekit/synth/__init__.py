"""Made-up traces in the shape of CTM21, with the truth that was planted in them.

``write`` makes archives that ``tracekit ingest`` reads like the released ones, and the folder
``truth`` with the planted values. The distributions follow published statistics of the real trace;
a made-up trace has no real row, id or series.
"""

from tracekit.synth.files import SynthSummary
from tracekit.synth.generate import write

__all__ = ["SynthSummary", "write"]
