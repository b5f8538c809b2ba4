"""How often the rule of chance is wrong, what it finds, and how often intervals hold the truth.

Prints four tables, from draws alone, with no replay:

- equal policies: in how many runs of eight equal ones any pair is told apart (5 % stated);
- power: in how many runs the one better policy is told from all seven others;
- two looks: both of that where orders are added while it is open which policy is best
  (--repeat-up-to), each look at half of what may go wrong;
- coverage: how often 95 % intervals of a mean hold the true mean, by distribution and repeats.

``python bench/chance.py [--draws 2000] [--seed 0]``
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable

import numpy as np
from scipy.special import ndtr

from tracekit.analysis.metrics import LEVEL
from tracekit.base.arrays import BoolArray, FloatArray
from tracekit.replay.chance import compare, means, quantile

POLICIES, ORDERS, ANSWERS, DETAILS = 8, 6, 8, 39
#: Up to how many orders are added for a second look.
UP_TO = 12
#: How far a measure of one order goes with the others of that order.
TOGETHER = 0.7

Draw = Callable[[np.random.Generator, tuple[int, ...]], FloatArray]
DRAWS: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "lognormal": lambda rng, shape: rng.lognormal(0.0, 1.0, shape),
    "few values": lambda rng, shape: rng.binomial(3, 0.4, shape).astype(np.float64),
    "bounded": lambda rng, shape: rng.beta(0.5, 1.5, shape),
}
TRUE = {"normal": 0.0, "lognormal": float(np.exp(0.5)), "few values": 1.2, "bounded": 0.25}


def runs(rng: np.random.Generator, name: str, orders: int = ORDERS) -> FloatArray:
    """One run: shape (orders, policies, measures), measures of one order going together."""
    common = DRAWS[name](rng, (orders, POLICIES, 1))
    own = DRAWS[name](rng, (orders, POLICIES, ANSWERS + DETAILS))
    made = TOGETHER * common + (1 - TOGETHER) * own
    return np.round(made) if name == "few values" else made


def apart(run: FloatArray, looks: int = 1) -> dict[tuple[int, int], BoolArray]:
    """Which measures tell each pair apart, after the correction for all of them."""
    pairs = list(itertools.combinations(range(POLICIES), 2))
    table = np.concatenate([run[:, a] - run[:, b] for a, b in pairs], axis=1)
    first = np.tile(np.arange(ANSWERS + DETAILS) < ANSWERS, len(pairs))
    told = compare(table, first=first, looks=looks).separated.reshape(len(pairs), -1)
    return dict(zip(pairs, told, strict=True))


Looks = tuple[int, ...]


def equal(rng: np.random.Generator, name: str, draws: int, looks: Looks = (ORDERS,)) -> float:
    """Share of runs of equal policies in which any pair is told apart by anything, at any look."""
    found = []
    for _ in range(draws):
        run = runs(rng, name, looks[-1])
        every = (one for orders in looks for one in apart(run[:orders], len(looks)).values())
        found.append(any(one.any() for one in every))
    return float(np.mean(found))


def own_draw(rng: np.random.Generator, name: str, draws: int, better: float = 0.0) -> float:
    """Share of runs in which a policy is told from production that is one more order of it.

    Better by so many deviations of one order in the first measure, if asked for.
    """
    once = np.ones(ANSWERS + DETAILS, dtype=np.bool_)
    first = np.arange(ANSWERS + DETAILS) < ANSWERS
    found = []
    for _ in range(draws):
        run = runs(rng, name, ORDERS + 1)[:, 0]
        run[:ORDERS, 0] -= better * np.hypot(TOGETHER, 1 - TOGETHER)
        told = compare(run[:ORDERS] - run[ORDERS], first=first, once=once).separated
        found.append(bool(told[0] if better else told.any()))
    return float(np.mean(found))


def power(rng: np.random.Generator, better: float, draws: int, looks: Looks = (ORDERS,)) -> float:
    """Share of runs in which policy 0, better by so many deviations, is told from all others."""
    found = []
    for _ in range(draws):
        run = runs(rng, "normal", looks[-1])
        run[:, 0, 0] -= better * np.hypot(TOGETHER, 1 - TOGETHER)
        every = (apart(run[:orders], len(looks)) for orders in looks)
        found.append(any(all(told[0, other][0] for other in range(1, POLICIES)) for told in every))
    return float(np.mean(found))


def percentiles(samples: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Limits of each column's mean by percentiles of resampled rows, expanded for few rows.

    They are taken at Phi(-sqrt(n / (n - 1)) t), with t the quantile of Student's distribution with
    n - 1 degrees of freedom (Hesterberg, The American Statistician 2015, 69(4), section 4.4).
    """
    rows = len(samples)
    drawn = rng.integers(rows, size=(2000, rows))
    counts = np.zeros((2000, rows))
    np.add.at(counts, (np.arange(2000)[:, None], drawn), 1.0)
    means = np.round(counts @ samples / rows, 12)
    tail = float(ndtr(-np.sqrt(rows / (rows - 1)) * quantile(rows - 1, 1 - LEVEL)))
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)
    return low, high


def intervals(samples: FloatArray, rng: np.random.Generator) -> dict[str, tuple[FloatArray, ...]]:
    """Limits by each way; samples of shape (repeats, columns)."""
    count = len(samples)
    student = means(samples)
    middle, spread = samples.mean(axis=0), samples.std(axis=0, ddof=1)
    third = ((samples - middle) ** 3).mean(axis=0)
    shift = np.divide(third, 6 * spread**2 * count, out=np.zeros_like(third), where=spread > 0)
    reach = quantile(count - 1, 1 - LEVEL) * spread / np.sqrt(count)
    return {
        "student (replay)": (student.low, student.high),
        "percentile": percentiles(samples, rng),
        "skewness-corrected t": (middle + shift - reach, middle + shift + reach),
        "bootstrap-t": studentised(samples, rng),
    }


def studentised(samples: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """The studentised bootstrap; resamples that are all alike are left out."""
    count, columns = samples.shape
    middle, spread = samples.mean(axis=0), samples.std(axis=0, ddof=1)
    low, high = np.empty(columns), np.empty(columns)
    for column in range(columns):
        drawn = samples[rng.integers(count, size=(999, count)), column]
        error = drawn.std(axis=1, ddof=1)
        sound = error > 1e-12
        if not sound.any():
            low[column] = high[column] = middle[column]
            continue
        t = (drawn.mean(axis=1)[sound] - middle[column]) / error[sound]
        ends = np.quantile(t, [0.025, 0.975]) * spread[column]
        low[column], high[column] = middle[column] - ends[1], middle[column] - ends[0]
    return low, high


def coverage(rng: np.random.Generator, name: str, count: int, draws: int) -> dict[str, float]:
    """Share of intervals that hold the true mean."""
    samples = DRAWS[name](rng, (count, draws))
    return {
        way: float(((low <= TRUE[name] + 1e-9) & (TRUE[name] - 1e-9 <= high)).mean())
        for way, (low, high) in intervals(samples, rng).items()
    }


def main() -> None:
    """Print the tables."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--draws", type=int, default=2000)
    given.add_argument("--seed", type=int, default=0)
    asked = given.parse_args()
    rng = np.random.default_rng(asked.seed)
    print(
        f"{asked.draws} draws, seed {asked.seed}; {POLICIES} policies, {ORDERS} orders of arrival"
    )
    print("\nequal policies: share of runs with any pair told apart (at most 0.05 is stated)")
    for name in DRAWS:
        print(f"  {name:12} {equal(rng, name, asked.draws):.4f}")
    print("\nproduction is one more order of the policy: share of runs that tell them apart")
    for name in DRAWS:
        print(f"  {name:12} {own_draw(rng, name, asked.draws):.4f}")
    print("the same, the policy better by so many standard deviations of one order")
    for better in (6, 8, 10, 14):
        print(f"  {better:4} {own_draw(rng, 'normal', asked.draws, better):.3f}")
    print("\npower: one policy better by so many standard deviations, told from all others")
    for better in (2, 4, 6, 8, 10, 14):
        print(f"  {better:4} {power(rng, better, max(asked.draws // 10, 1)):.3f}")
    print(f"\ntwo looks, after {ORDERS} and {UP_TO} orders: equal policies told apart, then power")
    for name in DRAWS:
        told_apart = equal(rng, name, max(asked.draws // 4, 1), (ORDERS, UP_TO))
        print(f"  {name:12} {told_apart:.4f}")
    for better in (2, 3, 4, 6, 8, 10):
        found = power(rng, better, max(asked.draws // 10, 1), (ORDERS, UP_TO))
        print(f"  {better:4} {found:.3f}")
    print("\ncoverage of 95 % intervals of a mean")
    for name in DRAWS:
        for count in (5, 6, 8, 12, 20):
            told = coverage(rng, name, count, asked.draws)
            said = ", ".join(f"{way} {share:.3f}" for way, share in told.items())
            print(f"  {name:12} n={count:2}  {said}")


if __name__ == "__main__":
    main()
