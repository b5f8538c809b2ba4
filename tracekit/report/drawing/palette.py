"""The colours of a report, once for light and once for dark; figures name them, CSS holds them.

The series colours are of the Okabe-Ito kind: told apart by lightness too, so that they stay apart
for readers with any of the usual colour deficiencies. A test checks every contrast.
"""

#: name: (light, dark). Text needs a contrast of 4.5 to its background, marks need 3.
SURFACES = {
    "page": ("#f5f6f8", "#12161b"),
    "card": ("#ffffff", "#1a2027"),
    "sunken": ("#f0f2f5", "#222a33"),
    "best": ("#e3f3e6", "#1d3a2a"),
}
TEXT = {
    "ink": ("#1a1f26", "#e8ebef"),
    "muted": ("#525c68", "#a9b3bf"),
    "accent": ("#0a58a6", "#84bdff"),
    "warn": ("#8f4700", "#f3b562"),
}
LINES = {
    "line": ("#d9dee4", "#38424e"),
    "grid": ("#e4e8ed", "#2e3742"),
}
SERIES = {
    "zone-a": ("#c4480b", "#ff9a62"),
    "zone-b": ("#7a8594", "#9aa6b5"),
    "zone-c": ("#0a66b5", "#62b0ff"),
    "zone-u": ("#8a6a00", "#e0b83f"),
    "zone-too-short": ("#8b7f95", "#b4a8bf"),
    "cpu": ("#6d3fa8", "#c7a0f5"),
    "memory": ("#00806a", "#4fd0b0"),
    "policy-1": ("#0a66b5", "#62b0ff"),
    "policy-2": ("#c4480b", "#ff9a62"),
    "policy-3": ("#00806a", "#4fd0b0"),
    "policy-4": ("#9a3d97", "#e79be4"),
    "policy-5": ("#8a6a00", "#e0b83f"),
    "policy-6": ("#2f3fb0", "#a3adff"),
    "observed": ("#1a1f26", "#e8ebef"),
    "bound": ("#6b7683", "#93a0ae"),
    "other": ("#8b95a1", "#7d8996"),
}
POLICY_SLOTS = sum(name.startswith("policy-") for name in SERIES)

_ALL = SURFACES | TEXT | LINES | SERIES


def color(name: str) -> str:
    """A colour of the palette, as figures and style sheets write it; KeyError for another name."""
    if name not in _ALL:
        raise KeyError(name)
    return f"var(--{name})"


def declarations(*, dark: bool) -> str:
    """The palette as CSS custom properties."""
    return " ".join(f"--{name}: {values[dark]};" for name, values in _ALL.items())
