"""Configurations of other programs: YAML or JSON, decoded into typed fields; no code is run.

Unknown fields are an error, and one error names all of them. Fields of the type ``NoEffect``,
``Narrows`` or ``Widens`` are real fields that a replay does not follow; a note names each that is
given.
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
    """Base class of objects decoded from YAML or JSON, with the fields of any Kubernetes object."""

    api_version: str = ""
    kind: str = ""
    metadata: Any = None

    def remark(self) -> str:
        """Return a clause on the part of this object that a replay ignores, or an empty text."""
        return ""


AnyFields = TypeVar("AnyFields", bound=Fields)


@dataclass
class Reading:
    """The notes and unknown fields that ``decode`` collects from a document.

    Parameters
    ----------
    notes : list of str
        One line for each given field that a replay ignores.
    strange : mapping
        The path of each unknown field, and the most similar known field or None.
    """

    notes: list[str] = field(default_factory=list)
    strange: dict[str, str | None] = field(default_factory=dict)

    def check(self) -> None:
        """Raise one TracekitError that names all unknown fields, if there are any."""
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
    """Convert the values of a YAML or JSON object to ``kind``. A null counts as an absent field.

    Parameters
    ----------
    where : str
        The path of the object in its document, for messages.
    reading : Reading, optional
        Collects notes and unknown fields; the caller then calls ``reading.check()``.

    Raises
    ------
    TracekitError
        For a value of a wrong type or range; without ``reading``, also for unknown fields.
    """
    given, report = _without_nulls(values), reading or Reading()
    try:
        made = msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise TracekitError(f"{where}: {error}" if where else str(error)) from None
    for path, one, of in _objects(made, given, where):
        hints = typing.get_type_hints(type(one), include_extras=True)
        python_names = {its.encode_name: its.name for its in msgspec.structs.fields(one)}
        for name in of:
            at = f"{path}.{name}" if path else name
            if name not in python_names:
                report.strange[at] = nearest(name, sorted(python_names))
            elif hints[python_names[name]] in (NoEffect, Narrows, Widens):
                report.notes.append(f"{at} {hints[python_names[name]].__metadata__[0].description}")
        if one.remark():
            report.notes.append(f"{path or 'it'} {one.remark()}")
    if reading is None:
        report.check()
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
    """A rule that turns one field of a document into one parameter of an object, and back.

    ``read`` converts the field's value, and ``write`` converts the parameter. An absent field takes
    ``default``. Without a ``default`` the parameter is not passed, so that the object's own default
    holds. A parameter of None is not written.
    """

    kind: Any
    parameter: str
    read: Callable[[Any], Any] = _same
    write: Callable[[Any], Any] = _same
    default: Any = UNSET


Built = TypeVar("Built")


class Arguments(Generic[Built, AnyFields]):
    """A converter between a plugin's arguments in a document and the object that they configure.

    Parameters
    ----------
    build : function
        Makes the object from keyword arguments, which are the parameters of ``fields``.
    base : type
        The base class of the struct (attribute ``kind``) that ``decode`` makes of the arguments.
    write : function, optional
        Returns the arguments of an object, where ``fields`` cannot be written one by one.
    fields : To or type
        By name in the document. A plain type is for an argument without effect on the object.
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
        """Return the object that decoded arguments, of the type ``self.kind``, configure."""
        values = ((to, getattr(given, name)) for name, to in self._to.items())
        return self._build(
            **{to.parameter: to.read(value) for to, value in values if value is not UNSET}
        )

    def written(self, built: Built) -> dict[str, Any]:
        """Return the plugin arguments that configure an object, by their names in a document."""
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
    """Return whether a file name ends in .yaml, .yml or .json, in small or capital letters."""
    return name.lower().endswith(ENDINGS)


def read_document(path: Path) -> Mapping[str, Any]:
    """Return the mapping in a YAML or JSON file that holds exactly one document.

    Raises
    ------
    TracekitError
        For a file that is missing, above 1 MB, or neither YAML nor JSON; for a key that occurs
        twice; for several documents or none.
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
            reason = f"key '{twice[0]}' is there twice"
            raise yaml.constructor.ConstructorError(None, None, reason, node.start_mark)
        return self.construct_yaml_map(node)

    loader.add_constructor("tag:yaml.org,2002:map", mapping)
    reading, documents = None, []
    try:
        reading = loader(text)
        while reading.check_node():
            node = reading.get_node()
            if _written_out(node, {}) > _MOST_VALUES:
                raise TracekitError(
                    f"'{path}' holds more than {_MOST_VALUES:,} values once its aliases are"
                    " written out"
                )
            documents.append(reading.construct_document(node))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}:" if mark else ""
        reason = getattr(error, "problem", None) or next(
            iter(str(error).splitlines()), "no reason given"
        )
        raise TracekitError(f"'{path}' is not YAML:{where} {reason}") from None
    except (RecursionError, ValueError, TypeError) as error:
        raise TracekitError(f"'{path}' is not YAML: {type(error).__name__}") from None
    finally:
        if reading is not None:
            reading.dispose()
    return documents


def _written_out(node: Any, counts: dict[int, int]) -> int:
    """The number of values of a node with every alias written out, or more than the most."""
    if id(node) not in counts:
        counts[id(node)] = _MOST_VALUES + 1
        value = node.value if isinstance(node.value, list) else []
        parts = [part for one in value for part in (one if isinstance(one, tuple) else (one,))]
        counts[id(node)] = 1 + sum(_written_out(part, counts) for part in parts)
    return counts[id(node)]
