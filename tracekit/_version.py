"""The version of tracekit; the distribution's metadata is made from it."""

VERSION = "0.1.0"
