"""What a policy is shown when it decides: the cluster at a moment, and the container."""
