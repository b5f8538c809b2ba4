"""How results show themselves in a notebook: one file each, named after the result's class.

A file has ``page(result) -> tracekit.shown.Page``; it is imported when such a result is shown.
"""
