"""Where a made-up trace keeps what was planted in it, and how that is known again."""

#: The folder of the truth beside the archives, and the file in it that says what it is.
TRUTH = "truth"
MANIFEST = "manifest.json"
SCHEMA = "tracekit/synth/1"
