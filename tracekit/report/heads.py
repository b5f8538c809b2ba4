"""What stands over the columns of the report's tables, in plain words, in one place.

A cell carries its own unit where it has one (12 %, 3 min, 16 GiB); the head names the unit of a
plain number. A measure of a replay is called by its title, as everywhere.
"""

from tracekit.replay.measures import all_measures

#: Columns whose words do not follow from their names.
_HEADS = {
    "at_once_share": "Requested at one time, at most",
    "in_all_share": "Requested by all together",
    "least_allocated_share": "Least allocated",
    "mean_allocated_share": "Mean allocated",
    "most_allocated_share": "Most allocated",
    "agreement": "Agreement of ranks [tau]",
    "apart_from_best": "Differs from the best beyond chance",
    "between_share": "Variation that lies between services",
    "bin_start": "Difference G from",
    "bound": "Lower bound [nodes]",
    "calls_per_s": "Calls per second",
    "change": "Change",
    "change_high": "Change, upper end",
    "change_low": "Change, lower end",
    "container_share_per_1000_calls_per_s": "Share of a container per 1,000 calls per second",
    "cpu_from": "CPU use from",
    "cv_median": "Variation within a service, median",
    "cv_p90": "Variation within a service, 90 % of services at most",
    "decision_ms": "Time to decide",
    "doubt_from_fraction": "Probability from",
    "explained_share": "CPU explained by calls",
    "gap_mean": "Mean gap to the optimum",
    "high_fraction": "Upper end",
    "highest_cpu_fraction": "Highest CPU use",
    "highest_memory_fraction": "Highest memory use",
    "inflation_fraction": "CPU lost to neighbours",
    "iterations_mean": "Iterations, mean",
    "kind": "Kind",
    "largest_hundredth_from": "The largest 1 % from",
    "largest_tenth_from": "The largest 10 % from",
    "least_cores": "Least [cores]",
    "limit_cores": "CPU limit [cores]",
    "limit_gb": "Memory limit [GB]",
    "low": "Lower end",
    "low_fraction": "Lower end",
    "most_cores": "Most [cores]",
    "most_moved": "Policy that moved most",
    "nodes_high": "Nodes, at most in one order",
    "nodes_low": "Nodes, at least in one order",
    "all_nodes": "All nodes",
    "container_cpu_fraction": "CPU use of containers",
    "container_memory_fraction": "Memory use of containers",
    "cpu_mean": "Mean CPU use",
    "cpu_min_fraction": "Lowest CPU use",
    "cpu_peak_fraction": "Peak CPU use",
    "cpu_share": "CPU use",
    "hill_index_high": "Hill index, upper end",
    "hill_index_low": "Hill index, lower end",
    "high": "Upper end",
    "imbalance_high": "Imbalance, upper end",
    "imbalance_low": "Imbalance, lower end",
    "least_cpu_max_fraction": "Least of the fullest node's CPU",
    "lost_high_vcpus": "Upper end [vCPUs]",
    "lost_low_vcpus": "Lower end [vCPUs]",
    "lost_share": "Share of CPU in use",
    "lost_vcpus": "CPU lost to neighbours [vCPUs]",
    "mean_cpu_max_fraction": "Mean of the fullest node's CPU",
    "means_over_orders": "Their means over the orders",
    "memory_mean": "Mean memory use",
    "memory_min_fraction": "Lowest memory use",
    "memory_peak_fraction": "Peak memory use",
    "most_cpu_max_fraction": "Most of the fullest node's CPU",
    "node_cpu_mean": "Mean CPU use of the node",
    "predicted_share": "Predicted CPU use",
    "reward_high": "Reward, upper end",
    "reward_low": "Reward, lower end",
    "reward_mean": "Mean reward",
    "service_mean_share": "Mean CPU use of the service",
    "tail_nodes": "Nodes in the tail",
    "tail_start_fraction": "Tail begins at",
    "over_orders": "Nodes in one order alone",
    "overflow_share": "Time above the limit",
    "overload_share": "Node-steps that are overloaded",
    "pearson_r": "Correlation r",
    "places": "Places moved",
    "price_per_hour": "Price per hour",
    "problem": "What was wrong",
    "qos_share": "Time within the limit",
    "requested_before_fraction": "Requested before",
    "response_time_p50_ms": "Response time, median",
    "response_time_p95_ms": "Response time, 95 % at most",
    "same": "Policies alike",
    "size_bytes": "Size",
    "stands": "Against the best",
    "tbesk_is": "TBESK is",
    "util_diff": "Difference G",
    "waiting": "Containers left without a node",
    "vcpu_ids": "vCPUs it runs on",
}
#: What single words are called.
_WORDS = {
    "cpu": "CPU",
    "gpu": "GPU",
    "vcpu": "vCPU",
    "vcpus": "vCPUs",
    "qos": "QoS",
    "sha256": "SHA-256",
    "pearson": "correlation",
    "util": "utilization",
    "diff": "difference G",
    "debris": "debris D",
    "std": "standard deviation",
    "max": "highest",
    "min": "lowest",
}
#: Ends of names that the cells say, and words for those that heads say.
_IN_CELLS = ("_fraction", "_ms", "_bytes")
_UNITS = {
    "_cores": " [cores]",
    "_gb": " [GB]",
    "_gib": " [GiB]",
    "_kbit": " [kbit/s]",
    "_milli": " [thousandths]",
}
#: What a single letter or word of another case begins a head with.
_AS_THEY_ARE = ("vCPU", "r")


def head(name: str) -> str:
    """What stands over a column of this name."""
    known = _HEADS.get(name)
    if known is not None:
        return known
    measure = all_measures().get(name)
    return measure.title if measure is not None else from_name(name)


def from_name(name: str) -> str:
    """A head made of the name's own words: its end becomes a unit where cells do not say it."""
    unit = ""
    for ending in _IN_CELLS:
        name = name.removesuffix(ending)
    for ending, words in _UNITS.items():
        if name.endswith(ending):
            name, unit = name.removesuffix(ending), words
    return capital(" ".join(_WORDS.get(word, word) for word in name.split("_"))) + unit


def capital(text: str) -> str:
    """A text with a capital, but where its first word has its own spelling."""
    first = text.split(" ", 1)[0].removesuffix("s")
    return text if first in _AS_THEY_ARE else text[:1].upper() + text[1:]
