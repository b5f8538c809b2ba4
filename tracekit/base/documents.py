"""A configuration of another program: YAML or JSON, decoded into typed fields; nothing is run.

A field that no struct has is refused; one error names all of them. Real fields that a replay does
not follow are structs' fields of type ``NoEffect``, ``Narrows`` or ``Widens``: a note names those
that are given.
"""

import math
import typing
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import UNSET

from tracekit.base.errors import TracekitError, nearest
from tracekit.base.opened import read_text

#: A real field that changes nothing in a replay, and real ones by which a cluster moves fewer or
#: more pods than a replay.
NoEffect = Annotated[Any, msgspec.Meta(description="has no effect here")]
Narrows = Annotated[
    Any, msgspec.Meta(description="is left out, so that more may be moved than in a cluster")
]
Widens = Annotated[
    Any, msgspec.Meta(description="is left out, so that fewer may be moved than in a cluster")
]
#: A whole number of at least 0.
Whole = Annotated[int, msgspec.Meta(ge=0)]


class Fields(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of the objects of a document, with what every object of Kubernetes may say of itself."""

    api_version: str = ""
    kind: str = ""
    metadata: Any = None

    def remark(self) -> str:
        """What of this object cannot be followed, said after its path; empty for nothing."""
        return ""


AnyFields = TypeVar("AnyFields", bound=Fields)


@dataclass
class Reading:
    """What is found while a document is read, by path.

    Parameters
    ----------
    notes : list of str
        A line for each thing that is given and not followed.
    strange : mapping
        Fields that are not known, with the one that was meant, if any is close.
    """

    notes: list[str] = field(default_factory=list)
    strange: dict[str, str | None] = field(default_factory=dict)

    def check(self) -> None:
        """Raise TracekitError where fields are not known."""
        if self.strange:
            meant = [f"'{close}'" for close in self.strange.values() if close]
            raise TracekitError(
                f"{', '.join(self.strange)} {'are' if len(self.strange) > 1 else 'is'} not known",
                hint=f"did you mean {', '.join(meant)}?" if meant else None,
            )


def decode(
    values: Mapping[str, Any],
    kind: type[AnyFields],
    where: str = "",
    reading: Reading | None = None,
) -> AnyFields:
    """The values as an object of a kind; a value of null is one that is not given.

    Parameters
    ----------
    where : str
        The path of the values in their document.
    reading : Reading, optional
        Gets the notes, and the fields that are not known, for its owner to check.

    Raises
    ------
    TracekitError
        Where values are of other types or ranges; without a reading, where fields are not known.
    """
    given, found = _without_nulls(values), reading or Reading()
    try:
        made = msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise TracekitError(f"{where}: {error}" if where else str(error)) from None
    for path, one, of in _objects(made, given, where):
        hints = typing.get_type_hints(type(one), include_extras=True)
        known = {its.encode_name: its.name for its in msgspec.structs.fields(one)}
        for name in of:
            at = f"{path}.{name}" if path else name
            if name not in known:
                found.strange[at] = nearest(name, sorted(known))
            elif hints[known[name]] in (NoEffect, Narrows, Widens):
                found.notes.append(f"{at} {hints[known[name]].__metadata__[0].description}")
        if one.remark():
            found.notes.append(f"{path or 'it'} {one.remark()}")
    if reading is None:
        found.check()
    return made


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


def _objects(one: Any, of: Any, where: str) -> Iterator[tuple[str, Fields, Mapping[str, Any]]]:
    """Each object with its path and the values that it was made of."""
    if isinstance(one, float) and not math.isfinite(one):
        raise TracekitError(f"{where} is {one}, expected a number")
    inner: list[tuple[str, Any, Any]] = []
    if isinstance(one, Fields):
        yield where, one, of
        named = {its.encode_name: its.name for its in msgspec.structs.fields(one)}
        inner = [(f".{key}", getattr(one, named[key]), of[key]) for key in of if key in named]
    elif isinstance(one, tuple) and isinstance(of, list):
        inner = [(f"[{at}]", *both) for at, both in enumerate(zip(one, of, strict=True))]
    elif isinstance(one, dict):
        inner = [(f".{key}", value, of[key]) for key, value in one.items()]
    for key, value, values in inner:
        yield from _objects(value, values, f"{where}{key}".lstrip("."))


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class To:
    """A field of this type that ``read`` makes a parameter of this name, and ``write`` back.

    Where it is not given it has the default, or else the parameter has its own; None is not
    written.
    """

    kind: Any
    parameter: str
    read: Callable[[Any], Any] = _same
    write: Callable[[Any], Any] = _same
    default: Any = UNSET


Built = TypeVar("Built")


class Arguments(Generic[Built, AnyFields]):
    """The arguments of a plugin, by the names that documents have, and what is built of them.

    Parameters
    ----------
    build : function
        Takes the parameters.
    base : type
        What its object has besides.
    write : function, optional
        The arguments of what is built, where its fields do not say them one by one.
    fields : To or type
        By name; a type is of a field that is not followed.
    """

    def __init__(
        self,
        build: Callable[..., Built],
        base: type[AnyFields],
        write: Callable[[Any], dict[str, Any]] | None = None,
        **fields: Any,
    ) -> None:
        self._build, self._write = build, write
        self._to = {name: to for name, to in fields.items() if isinstance(to, To)}
        kinds = {name: self._to.get(name, To(kind, "")) for name, kind in fields.items()}
        rows = [(name, to.kind, to.default) for name, to in kinds.items()]
        made: Any = msgspec.defstruct("Arguments", rows, bases=(base,), frozen=True, kw_only=True)
        self.kind: type[AnyFields] = made

    def built(self, given: AnyFields) -> Built:
        """What is built of a decoded object."""
        values = ((to, getattr(given, name)) for name, to in self._to.items())
        return self._build(
            **{to.parameter: to.read(value) for to, value in values if value is not UNSET}
        )

    def written(self, built: Built) -> dict[str, Any]:
        """The arguments that it is built of, as a document has them."""
        if self._write is not None:
            return self._write(built)
        every = {name: to.write(getattr(built, to.parameter)) for name, to in self._to.items()}
        return {name: value for name, value in every.items() if value is not None}


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
