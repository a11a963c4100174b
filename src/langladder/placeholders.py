"""Parts of libraries that others import and nothing here asks for stay unloaded until something does.

Lightning imports torch's compiler (`torch._dynamo`, with it SymPy and FSDP) and torchmetrics (with it SciPy's signal
processing and Matplotlib) for a few `isinstance` checks; torch's optimizers import the compiler to tell it, when it
compiles nothing, that it should not. All that is two thirds of the start of a training.

A placeholder answers what these ask of it. Whatever else is asked, of it or of a module below it, loads the real one.
"""

import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class Nothing:
    """In the place of a class that no object here is of."""


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "0"


COMPILER: Mapping[str, Any] = {
    "OptimizedModule": Nothing,
    "disable": lambda function, *_, **__: function,  # what is not compiled need not be kept from it
    "graph_break": lambda *_, **__: None,
}
METRICS: Mapping[str, Any] = {"__version__": _version("torchmetrics"), "_logger": logging.getLogger("torchmetrics")}
ALONE = {
    ("torchmetrics", "Metric"): ("torchmetrics.utilities", "torchmetrics.metric"),
    ("torchmetrics", "MetricCollection"): ("torchmetrics.utilities", "torchmetrics.collections"),
}
"""What is asked of a package, and the modules below it to load for it, the last of which has it."""


def _plot(*arguments: Any, **options: Any) -> Any:
    return load("torchmetrics.utilities.plot").plot_single_or_multi_val(*arguments, **options)


PLOT: Mapping[str, Any] = {"_AX_TYPE": object, "_PLOT_OUT_TYPE": object, "plot_single_or_multi_val": _plot}


class Placeholder(ModuleType):
    """A module that is not loaded yet."""

    def __init__(self, name: str, known: Mapping[str, Any]) -> None:
        super().__init__(name, "Not loaded yet: see langladder.placeholders.")
        self.__dict__.update(known)
        found = find_spec(name) if "." not in name else None  # of a module below, its parents would be loaded
        self.__path__ = list(found.submodule_search_locations or ()) if found else []

    def __getattr__(self, name: str) -> Any:
        if name == "__file__":  # who goes through sys.modules asks; to have none is allowed
            raise AttributeError(name)
        if (self.__name__, name) in ALONE:
            with suppress(ImportError), _Below.passing():  # another version may want more: then it gets all
                return getattr([import_module(module) for module in ALONE[self.__name__, name]][-1], name)
        return getattr(load(self.__name__), name)


class _Below(MetaPathFinder, Loader):
    """Finds modules below a placeholder in the package itself, which it loads."""

    _passed = False  # one of ALONE is being imported, by the usual finders

    @classmethod
    @contextmanager
    def passing(cls) -> Iterator[None]:
        """Meanwhile it finds nothing."""
        cls._passed = True
        try:
            yield
        finally:
            cls._passed = False

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        del path, target
        parents = [name[:place] for place, sign in enumerate(name) if sign == "."]
        held = next((parent for parent in parents if isinstance(sys.modules.get(parent), Placeholder)), None)
        if held is None or self._passed:
            return None
        load(held)
        self.spec = import_module(name).__spec__
        return ModuleSpec(name, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module as the real import has left it."""
        return sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """It has run; what names its origin is put back."""
        module.__spec__ = self.spec


def load(name: str) -> ModuleType:
    """The module itself, in the placeholder's place."""
    if isinstance(sys.modules.get(name), Placeholder):
        del sys.modules[name]
    return import_module(name)


def put(name: str, known: Mapping[str, Any]) -> None:
    """Put a placeholder, unless the module is there already."""
    if name not in sys.modules:
        if not any(isinstance(finder, _Below) for finder in sys.meta_path):
            sys.meta_path.insert(0, _Below())
        sys.modules[name] = Placeholder(name, known)


def put_all() -> None:
    """Before torch and Lightning are imported, or soon after."""
    put("torch._dynamo", COMPILER)
    put("torchmetrics", METRICS)
    put("torchmetrics.utilities.plot", PLOT)
