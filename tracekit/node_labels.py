"""Labels and taints of Kubernetes nodes: which it is, of what type and where, what it takes."""

HOSTNAME = "kubernetes.io/hostname"
#: The label of the zone, then the one that older clusters bear.
ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
#: The label of the instance type, then the one that older clusters bear.
INSTANCE_TYPES = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
#: The taint of a node that takes nothing new, which it has as long as it is so.
CORDON_TAINT = "node.kubernetes.io/unschedulable"
