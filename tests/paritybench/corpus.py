"""The corpus: files of modules with their inputs, from a checkout of pytorch-jit-paritybench.

    for path in files(checkout): for case in cases(checkout, path): module = case.module()

Packages that are not installed are stood in for by modules whose every attribute is a mock, as the
corpus does with what its files read from their surroundings.
"""
import contextlib
import dataclasses
import importlib
import importlib.abc
import importlib.machinery
import pathlib
import random
import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import MagicMock

import numpy
import torch

_seed = torch.default_generator.manual_seed  # the corpus replaces torch.manual_seed


def seed(number: int = 0) -> None:
    _seed(number)
    random.seed(number)
    numpy.random.seed(number)


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    build: type
    init_args: Callable[[], tuple[list, dict]]
    forward_args: Callable[[], tuple[list, dict]]

    def module(self) -> torch.nn.Module:
        """Anew, with the same parameters each time."""
        seed()
        args, kwargs = self.init_args()
        return self.build(*args, **kwargs).eval()

    def inputs(self) -> tuple[list, dict]:
        """Anew, the same each time; leaves the generators in one state."""
        seed(1)
        return self.forward_args()


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds what nobody else finds, below top-level names that are not there."""

    def __init__(self, own: set[str]):
        self.own, self.missing = own, set()

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in self.own or (top in sys.modules and top not in self.missing):
            return None
        self.missing.add(top)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = MagicMock(name=spec.name)
        module.__path__, module.__spec__, module.__name__ = [], spec, spec.name
        return module

    def exec_module(self, module):
        pass


def files(checkout: str) -> list[pathlib.Path]:
    """The first half in alphabetical order: the other one is not to be tuned on."""
    all_files = sorted(pathlib.Path(checkout, "generated").glob("test_*.py"))
    return all_files[:(len(all_files) + 1) // 2]


# What these find missing they do without, which a stand-in would tell them to use.
INSTALLED = ("matplotlib.pyplot", "pandas", "scipy.stats", "sklearn", "tensorboard", "torchaudio", "torchvision", "transformers")


def prepare(checkout: str) -> None:
    """Once a process, before `cases`."""
    for name in INSTALLED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    sys.path[:0] = [checkout, str(pathlib.Path(checkout, "generated"))]
    sys.meta_path.append(StandIns({"paritybench", "_paritybench_helpers"}))
    importlib.import_module("_paritybench_helpers")


def cases(path: pathlib.Path) -> list[Case]:
    """Raises what importing the file raises."""
    module: Any = importlib.import_module(path.stem)
    return [Case(f"{path.stem.removeprefix('test_')}.{build.__name__}", build, init, forward)
            for build, init, forward, _ in module.TESTCASES]
