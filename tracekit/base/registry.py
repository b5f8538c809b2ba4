"""Registries: public objects found in the modules of a package, and in installed packages."""

import importlib
import importlib.metadata
import pkgutil
import re
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TypeVar

from tracekit.base.errors import TracekitError, unknown_name

T = TypeVar("T")


def subclasses(package: ModuleType, base: type[T]) -> dict[str, type[T]]:
    """Return every public subclass of ``base`` in the public modules of a package, by ``name_of``.

    Raises
    ------
    TracekitError
        When two classes have the same name.
    """
    kinds: dict[str, type[T]] = {}
    for module_name in module_names(package):
        module = importlib.import_module(f"{package.__name__}.{module_name}")
        for key, value in vars(module).items():
            if (
                isinstance(value, type)
                and issubclass(value, base)
                and value.__module__ == module.__name__
                and not key.startswith("_")
                and kinds.setdefault(name_of(value), value) is not value
            ):
                raise TracekitError(f"{package.__name__} defines '{name_of(value)}' twice")
    return dict(sorted(kinds.items()))


def name_of(kind: type) -> str:
    """Return the public name of a class: ``FirstFit`` is ``first_fit``.

    A class outside of tracekit has the name of its file.
    """
    package, _, file = kind.__module__.rpartition(".")
    if package.partition(".")[0] != __name__.partition(".")[0]:
        return file
    return with_underscores(kind.__qualname__.rpartition(".")[2])


def with_underscores(class_name: str) -> str:
    """Return a class name in lower case with underscores: ``FirstFit`` is ``first_fit``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", class_name).lower()


def named(package: ModuleType, kind: type[T]) -> dict[str, T]:
    """Return all objects of type ``kind`` in the public modules of a package, by variable name.

    Raises
    ------
    TracekitError
        When two modules use the same name for different objects.
    """
    objects: dict[str, T] = {}
    for name in module_names(package):
        module = importlib.import_module(f"{package.__name__}.{name}")
        for key, value in vars(module).items():
            if isinstance(value, kind) and objects.setdefault(key, value) is not value:
                raise TracekitError(f"{package.__name__} defines '{key}' twice")
    return dict(sorted(objects.items()))


def with_entry_points(
    registered: Mapping[str, T], group: str, belongs: Callable[[str, object], bool], kind: str
) -> dict[str, T]:
    """Return registered objects and those of installed packages' entry points, sorted by name.

    Parameters
    ----------
    registered : mapping
        The registered objects by name.
    group : str
        The group of entry points, such as ``tracekit.policies``; the name of an entry point is the
        name of its object.
    belongs : callable
        Returns whether the object of an entry point is valid under that name.
    kind : str
        The word for an object in errors.

    Raises
    ------
    TracekitError
        For an object that is not valid, and for a name that is taken.
    """
    every = dict(registered)
    for point in importlib.metadata.entry_points(group=group):
        thing: T = point.load()
        if not belongs(point.name, thing):
            raise TracekitError(
                f"entry point {point.name} of {group} is {point.value}, which is no {kind} of that"
                " name",
                hint=f"write {point.name} = MODULE:OBJECT, the object a {kind}",
            )
        if point.name in every:
            raise TracekitError(
                f"entry point {point.name} of {group} brings a {kind} whose name is taken",
                hint="rename the entry point",
            )
        every[point.name] = thing
    return dict(sorted(every.items()))


def pick(objects: Mapping[str, T], name: str, kind: str, *, listing: str) -> T:
    """Return the object called ``name``. Raise TracekitError, with a similar name, if unknown."""
    if name not in objects:
        raise unknown_name(kind, name, objects, listing=listing)
    return objects[name]


def module_names(package: ModuleType) -> list[str]:
    """Return the names of the public modules of a package, sorted.

    Helpers begin with an underscore.
    """
    return sorted(
        info.name
        for info in pkgutil.iter_modules(package.__path__)
        if not info.name.startswith("_")
    )
