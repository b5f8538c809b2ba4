"""Population searches: minimise a cost over a box by moving many candidates at once.

One search per file in ``searches``, one test function per file in ``functions``. Everything is
vectorised over the population: a cost takes all candidates in one call.
"""
