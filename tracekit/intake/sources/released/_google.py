"""Notes on Google's cluster data that hold for both releases."""

BEFORE = "the trace begins at 600 s: what stands at time 0 was there before and is put at 600 s"
OF_ATTRIBUTES = "attributes of machines, which become labels of machine_events beside it"
FIRST_MACHINE = "its node is the first machine that an event of it names"
AFTER = "events at 2^63-1 lie behind the trace and say nothing about it: they are left out"
SAMPLED = "a sample stands at the beginning of its 300 s"
LABELS = "a machine's labels are its attributes at the time of its event"
#: What to do with attributes that come alone.
BESIDE_MACHINES = "ingest both together: attributes are labels of machines"
