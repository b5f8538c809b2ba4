"""Real fields of a ``DeschedulerPolicy`` that a replay does not follow: of whom may go, mostly."""

#: Real fields that change nothing here. Of whom may go at all, as the replay has nothing of who
#: owns a pod, nor of its volumes:
EVICTOR = (
    *("evictLocalStoragePods", "evictSystemCriticalPods", "evictFailedBarePods"),
    "evictDaemonSetPods",
)
#: Real fields by which the descheduler leaves pods alone that the replay moves.
SPARES = (
    *("ignorePvcPods", "minReplicas", "minPodAge", "ignorePodsWithoutPDB", "nodeSelector"),
    *("labelSelector", "noEvictionPolicy", "podProtections"),
)
#: Of the whole document, that change nothing, and that spare pods:
TOP = (
    *("evictionFailureEventNotification", "metricsCollector"),
    *("metricsProviders", "gracePeriodSeconds"),
)
TOP_SPARES = ("maxNoOfPodsToEvictPerNamespace",)
#: Of every plugin, and of the params of every strategy, that spare pods:
ANY = ("namespaces", "labelSelector", "evictableNamespaces", "thresholdPriorityClassName")
#: Of one plugin, that change nothing, and that spare pods:
OF_PLUGIN = {
    "PodLifeTime": ("includingInitContainers", "includingEphemeralContainers"),
    "LowNodeUtilization": ("evictionModes",),
    "RemovePodsViolatingTopologySpreadConstraint": ("constraints", "includeSoftConstraints"),
}
SPARES_OF_PLUGIN = {"PodLifeTime": ("states", "podStatusPhases")}
