"""Failures that are expected, each with its reason: expected.tsv.

    expected = Expected.read()
    expected.reason(row, problem)      # None where it is not
"""
import dataclasses
import pathlib
import re

FILE = pathlib.Path(__file__).resolve().parent / "expected.tsv"


@dataclasses.dataclass(frozen=True)
class Expectation:
    operators: re.Pattern  # of whole names
    dtypes: tuple[str, ...]  # none: all
    problem: re.Pattern  # found in it
    example: tuple[str, int]  # a row and the index of its case: runs in every share, and must fail so
    reason: str

    def covers(self, row, problem):
        return (self.operators.fullmatch(row.op) and (not self.dtypes or row.dtype in self.dtypes)
                and self.problem.search(problem))


class Expected:
    def __init__(self, expectations):
        self.expectations = expectations

    @classmethod
    def read(cls):
        rows = []
        for line in FILE.read_text().splitlines():
            if not line or line.startswith("#"):
                continue
            operators, dtypes, problem, example, reason = line.split("\t")
            op, dtype, index, device = [*example.split(), "cpu"][:4]
            rows.append(Expectation(re.compile(operators),
                                    () if dtypes == "*" else tuple(dtypes.split(",")),
                                    re.compile(problem), (f"{op} {dtype} {device}", int(index)),
                                    reason))
        return cls(rows)

    def reason(self, row, problem):
        for expectation in self.expectations:
            if expectation.covers(row, problem):
                return expectation.reason
        return None

    def examples(self):
        return {e.example for e in self.expectations}

    def passing(self, records):
        """Expectations whose example ran and did not fail as it should."""
        for e in self.expectations:
            key, index = e.example
            record = records.get(key)
            if record is not None and not any(
                    i == index and e.problem.search(p) for i, p in record["problems"]):
                yield e
