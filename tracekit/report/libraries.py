"""Scripts and styles of kept libraries, as a page takes them in."""

import re
from importlib import resources

from tracekit.errors import TracekitError

#: What a module hands out, at its end.
_EXPORTS = re.compile(r"export\{([^}]*)\};")
#: Pictures in a style sheet; the page's own signs stand for them.
_PICTURE = re.compile(r"url\([^)]*\)")


def plotly() -> str:
    """The script of plotly, as it lies in the installed package."""
    from plotly.offline import get_plotlyjs  # noqa: PLC0415 - five megabytes, only when needed

    return inline(str(get_plotlyjs()))


def tables() -> str:
    """DataTables, as it lies in the installed package itables, for ``tracekit.DataTable``.

    There it is a module; here it is a function that is called at once, because a module of a page
    hands nothing to the page's other scripts.
    """
    text = resources.files("itables").joinpath("html", "dt_bundle.js").read_text("utf-8")
    exports = _EXPORTS.search(text)
    table = exports and re.search(r"([\w$]+) as default\b", exports[1])
    if exports is None or table is None:
        raise TracekitError(
            "the installed itables has another form than this tracekit knows",
            hint="pip install 'itables>=2.9,<3'",
        )
    handed = f"window.tracekit.DataTable={table[1]};"
    return inline(f"(()=>{{{text[: exports.start()]}{handed}}})();{text[exports.end() :]}")


def tables_style() -> str:
    """The style sheet of DataTables, as it lies in the installed package."""
    text = resources.files("itables").joinpath("html", "dt_bundle.css").read_text("utf-8")
    return _PICTURE.sub("none", text)


def inline(script: str) -> str:
    """A script that may stand in a page: line ends as the browser will hash them."""
    if "</script" in script.lower():
        script = script.replace("</script", "<\\/script")
    return script.replace("\r\n", "\n").replace("\r", "\n")
