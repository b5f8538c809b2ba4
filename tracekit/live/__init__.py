"""From the replay to the cluster: a policy that answers kube-scheduler over HTTP."""
