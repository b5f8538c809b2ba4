"""Scripts and styles of kept libraries, as a page takes them in."""

from importlib import resources

from tracekit.base.errors import TracekitError


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
    body, _, behind = text.rpartition("export{")
    exports, _, rest = behind.partition("};")
    table = next((one for one in exports.split(",") if one.endswith(" as default")), "")
    if not body or not table:
        raise TracekitError(
            "the installed itables has another form than this tracekit knows",
            hint="pip install 'itables>=2.9,<3'",
        )
    handed = f"window.tracekit.DataTable={table.removesuffix(' as default').strip()};"
    return inline(f"(()=>{{{body}{handed}}})();{rest}")


def tables_style() -> str:
    """The style sheet of DataTables, without its pictures: the page's own signs stand for them."""
    text = resources.files("itables").joinpath("html", "dt_bundle.css").read_text("utf-8")
    first, *others = text.split("url(")
    return "none".join((first, *(one.partition(")")[2] for one in others)))


def inline(script: str) -> str:
    """A script that may stand in a page: line ends as the browser will hash them."""
    if "</script" in script.lower():
        script = script.replace("</script", "<\\/script")
    return script.replace("\r\n", "\n").replace("\r", "\n")
