"""The place where a made-up trace keeps its planted truth, and how it is recognised."""

#: The folder of the truth beside the archives, and the file in it that says what it is.
TRUTH = "truth"
MANIFEST = "manifest.json"
SCHEMA = "tracekit/synth/1"
