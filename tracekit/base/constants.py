"""Numbers and names that several packages share, each with its source or its meaning."""

from tracekit.base.units import BYTES_PER_GIB

#: The assumed size of a node: two sockets of 52 vCPU (the hosts of the patent); its memory is ours.
NODE_CPU_CORES, NODE_MEMORY_BYTES = 104.0, 384 * BYTES_PER_GIB
#: The assumed disk of a node, without a source.
NODE_DISK_BYTES = 3600 * BYTES_PER_GIB
#: The assumed size of a container: at most 4 cores (the study of the trace); its memory is ours.
CONTAINER_CPU_CORES, CONTAINER_MEMORY_BYTES = 4.0, 4 * BYTES_PER_GIB
#: The experiment of the TBESK paper (Geng and Wang 2023, section 5.2); the allocated share is ours.
PAPER_NODES, PAPER_CONTAINERS, PAPER_ALLOC_FRACTION = 31, 1800, 0.75
#: The time between two samples of use in the trace; also the default for other data.
STEP_MS = 30_000

#: A series is silent after five minutes without a sample, as in Prometheus. A series whose samples
#: are usually further apart is silent only after so many of its usual distances: one sample may be
#: missing, and beyond this there are two.
SILENCE_LEAST_MS, SILENCE_DISTANCES = 300_000, 2.5
#: A series with fewer distances has no usual one: the most common distance of all series counts.
SILENCE_ENOUGH_DISTANCES = 3

#: Correlations that are closer to 0 than this are in zone B, and weak.
ZONE_LIMIT = 0.3

#: Policies whose values differ by less than this part of the largest are equal by that measure.
MATERIAL = 0.01
#: The share of containers, and of the requests for each resource, that may wait. It is half of the
#: least difference that counts, so that no policy gains by leaving containers waiting.
WAITING_SHARE = MATERIAL / 2

#: The folder of a made-up trace's truth, its manifest, and the manifest's schema.
TRUTH = "truth"
SYNTH_MANIFEST = "manifest.json"
SYNTH_SCHEMA = "tracekit/synth/1"

HOSTNAME = "kubernetes.io/hostname"
#: The label of the zone, then the label of older clusters.
ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
#: The label of the instance type, then the label of older clusters.
INSTANCE_TYPES = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
#: The taint of a cordoned node.
CORDON_TAINT = "node.kubernetes.io/unschedulable"
#: The hint after an ingest that stopped early.
GO_ON = "what was finished is in the store; run the same command again to go on"
#: The default memory limit for all processes of an ingest together.
MEMORY_LIMIT_BYTES = BYTES_PER_GIB
