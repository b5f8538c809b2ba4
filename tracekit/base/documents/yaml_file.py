"""A document in YAML or JSON that another program reads too: plain data, nothing run."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracekit.base.errors import TracekitError
from tracekit.base.opened import read_text

#: Endings of files that are such documents.
ENDINGS = (".yaml", ".yml", ".json")
#: No configuration that anybody wrote is larger.
_LARGEST_BYTES = 1_000_000
#: Nor holds more, also where aliases repeat.
_MOST_VALUES = 100_000


def is_document(name: str) -> bool:
    """Whether a name is that of such a file."""
    return name.lower().endswith(ENDINGS)


def read_document(path: Path) -> Mapping[str, Any]:
    """The one document of a file.

    Raises
    ------
    TracekitError
        When it is not there, too large, neither YAML nor JSON, says a key twice, or holds several
        documents or none.
    """
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            raise TracekitError(f"'{path}' is larger than {_LARGEST_BYTES:,} bytes")
        text = read_text(path)
    except OSError as error:
        raise TracekitError(f"'{path}' cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TracekitError(f"'{path}' is not text in UTF-8") from None
    documents = [one for one in _parsed(path, text) if one is not None]
    if len(documents) != 1 or not isinstance(documents[0], Mapping):
        what = f"{len(documents)} documents" if len(documents) != 1 else "no mapping"
        raise TracekitError(
            f"'{path}' holds {what}, expected one document with 'kind' and 'apiVersion'"
        )
    return documents[0]


def _parsed(path: Path, text: str) -> list[Any]:
    import yaml  # noqa: PLC0415 - only who has such a file waits for it

    loader: Any = type("Loader", (yaml.SafeLoader,), {})

    def mapping(self: Any, node: Any) -> Any:
        """As the safe loader, but a key that stands twice is an error, as for Kubernetes."""
        keys = [getattr(key, "value", None) for key, _ in node.value]
        often = Counter(key for key in keys if isinstance(key, str))
        twice = [key for key, times in often.items() if times > 1]
        if twice and twice[0] != "<<":
            told = f"key '{twice[0]}' is there twice"
            raise yaml.constructor.ConstructorError(None, None, told, node.start_mark)
        return self.construct_yaml_map(node)

    loader.add_constructor("tag:yaml.org,2002:map", mapping)
    reading, found = None, []
    try:
        reading = loader(text)
        while reading.check_node():
            node = reading.get_node()
            if _written_out(node, {}) > _MOST_VALUES:
                raise TracekitError(
                    f"'{path}' holds more than {_MOST_VALUES:,} values once its aliases are"
                    " written out"
                )
            found.append(reading.construct_document(node))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}:" if mark else ""
        told = getattr(error, "problem", None) or next(
            iter(str(error).splitlines()), "no reason given"
        )
        raise TracekitError(f"'{path}' is not YAML:{where} {told}") from None
    except (RecursionError, ValueError, TypeError) as error:
        raise TracekitError(f"'{path}' is not YAML: {type(error).__name__}") from None
    finally:
        if reading is not None:
            reading.dispose()
    return found


def _written_out(node: Any, known: dict[int, int]) -> int:
    """How many values a node is with every alias written out; one within itself has no end."""
    if id(node) not in known:
        known[id(node)] = _MOST_VALUES + 1
        value = node.value if isinstance(node.value, list) else []
        parts = [part for one in value for part in (one if isinstance(one, tuple) else (one,))]
        known[id(node)] = 1 + sum(_written_out(part, known) for part in parts)
    return known[id(node)]
