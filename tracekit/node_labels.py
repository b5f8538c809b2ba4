"""Labels of Kubernetes nodes that say which node it is and where it stands."""

HOSTNAME = "kubernetes.io/hostname"
#: The label of the zone, then the one that older clusters bear.
ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
