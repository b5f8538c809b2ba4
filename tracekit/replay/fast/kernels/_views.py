"""What bounds by views share: room for rounding, and values that no view can reach.

A view and a bound by it are computed otherwise than the score, so that they differ from it in the
last digits. Bounds are worked out from views a little better than they are.
"""

from __future__ import annotations

#: By how much a view may be wrong: far more than doubles round, far less than scores tell apart.
SLACK = 1e-9

#: The view of a node that scores 0 whatever the container, and from where on a view is that.
HOPELESS, BEYOND = 3.0, 2.5
