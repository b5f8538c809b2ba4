"""What one must know of a store who sees nothing of it but an answer."""

from tracekit.store import never_ran
from tracekit.store.broken_rows import unread
from tracekit.store.folder import Store
from tracekit.store.manifest import MADE_UP


def caveats(store: Store) -> tuple[str, ...]:
    """That nobody recorded it, files that could not be read, and containers that never ran."""
    made_up = [MADE_UP] if store.manifest.made_up else []
    return (*made_up, *unread(store.manifest.sources), *filter(None, [never_ran.told(store)]))
