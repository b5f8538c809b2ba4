"""Population searches: minimise a cost over a box by moving many candidates at once.

One search per file in ``searches``, one test function per file in ``functions``. A cost takes all
candidates in one call.
"""
