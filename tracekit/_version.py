"""The version of tracekit, as the distribution's metadata says it."""

import importlib.metadata

VERSION = importlib.metadata.version("tracekit")
