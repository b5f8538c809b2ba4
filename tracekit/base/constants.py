"""Numbers and names that several rooms share, each with its source or its meaning."""

from tracekit.base.units import BYTES_PER_GIB

#: A node: two sockets of 52 vCPU (the hosts of the patent); its memory is read here.
NODE_CPU_CORES, NODE_MEMORY_BYTES = 104.0, 384 * BYTES_PER_GIB
#: Its disk is read here too.
NODE_DISK_BYTES = 3600 * BYTES_PER_GIB
#: A container: at most 4 cores (the study of the trace); its memory is read here.
CONTAINER_CPU_CORES, CONTAINER_MEMORY_BYTES = 4.0, 4 * BYTES_PER_GIB
#: The experiment of the TBESK paper (Geng and Wang 2023, section 5.2); the fill is read here.
PAPER_NODES, PAPER_CONTAINERS, PAPER_ALLOC_FRACTION = 31, 1800, 0.75
#: Time between two samples of use in the trace; what is taken for it where nothing tells.
STEP_MS = 30_000

#: Correlations nearer to 0 than this are zone B, and weak.
ZONE_LIMIT = 0.3

#: The folder of the truth beside the archives, and the file in it that says what it is.
TRUTH = "truth"
SYNTH_MANIFEST = "manifest.json"
SYNTH_SCHEMA = "tracekit/synth/1"

HOSTNAME = "kubernetes.io/hostname"
#: The label of the zone, then the one that older clusters bear.
ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
#: The label of the instance type, then the one that older clusters bear.
INSTANCE_TYPES = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
#: The taint of a node that takes nothing new, which it has as long as it is so.
CORDON_TAINT = "node.kubernetes.io/unschedulable"
#: What to do about an ingest that came to its end too early.
GO_ON = "what was finished is in the store; run the same command again to go on"
#: Memory for all processes of an ingest together, unless stated.
MEMORY_LIMIT_BYTES = BYTES_PER_GIB
