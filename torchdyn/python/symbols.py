"""Symbols in place of sizes, for one capture of our own: torch's fakes on its ShapeEnv.

    symbols = Symbols()
    like = symbols.stand_in(meta_tensor, {0}, "x")       # x's first size is open
    result = symbols.call(torch.relu, (like,), {})
    geometries, conditions = symbols.guards([like])      # as text of expressions of s0, s1, ...

Stand-ins are on the meta device, as they are without symbols.
"""
import sympy
import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._dynamo.source import ConstantSource
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext
from torch.utils._sympy.functions import FloorDiv, Mod, PythonMod

from torchdyn.dynamic_sizes import Unsupported, text_of

_OPERATORS = {sympy.Eq: "==", sympy.Ne: "!=", sympy.StrictLessThan: "<", sympy.LessThan: "<=",
              sympy.StrictGreaterThan: ">", sympy.GreaterThan: ">="}


def marks(tensor: torch.Tensor) -> tuple[set[int], set[int]]:
    """Dimensions that mark_dynamic or maybe_mark_dynamic named, and those that mark_static did."""
    opened = set(getattr(tensor, "_dynamo_dynamic_indices", ()))
    opened |= set(getattr(tensor, "_dynamo_weak_dynamic_indices", ()))
    return opened, set(getattr(tensor, "_dynamo_static_indices", ()))


class Symbols:
    def __init__(self):
        self._env = ShapeEnv(allow_scalar_outputs=False, allow_dynamic_output_shape_ops=False)
        self._mode = FakeTensorMode(shape_env=self._env, allow_non_fake_inputs=True)
        self._open = []  # stand-ins and numbers with symbols

    def stand_in(self, like: torch.Tensor, open_dims: set[int], name: str) -> torch.Tensor:
        """A fake of a meta tensor; sizes of 0 and 1 stay what they are."""
        sizes = [DimDynamic.DYNAMIC if d in open_dims else DimDynamic.STATIC for d in range(like.dim())]
        fake = self._mode.from_tensor(like, symbolic_context=StatelessSymbolicContext(dynamic_sizes=sizes),
                                      source=ConstantSource(name))
        self._open += [fake] if open_dims else []
        return fake

    def number(self, value: int, name: str) -> torch.SymInt | int:
        source = ConstantSource(name)
        symbol = self._env.create_symbol(value, source=source, dynamic_dim=DimDynamic.DYNAMIC)
        number = self._env.create_symintnode(symbol, hint=value, source=source)
        self._open.append(number)
        return number

    def call(self, function, args, kwargs):
        with self._mode, enable_python_dispatcher():
            return function(*args, **kwargs)

    def guards(self, inputs: list):
        """(sizes and strides of each input or None where none was open, conditions); of an int, its expression as the
        one size. A condition is a list of relations, of which one must hold. None: there is no text for some of it."""
        self._positive = {}
        try:
            exprs = [self._exprs(like) for like in inputs]
            symbols = sorted(set().union(*(e.free_symbols for sizes in exprs for part in sizes for e in part)),
                             key=str)
            names = {symbol: f"s{n}" for n, symbol in enumerate(symbols)}
            geometries = [tuple([self._text(e, names) for e in part] for part in sizes)
                          if any(like is opened for opened in self._open) else None
                          for like, sizes in zip(inputs, exprs)]
            conditions = dict.fromkeys(condition for guard in self._env.guards
                                       for condition in self._conditions(guard.expr, names))
            return geometries, [*self._positive, *conditions]
        except Unsupported:
            return None

    def _exprs(self, like):
        if isinstance(like, torch.Tensor):
            return tuple([_expr(size) for size in sizes] for sizes in (like.size(), like.stride()))
        return [_expr(like)], []

    def _conditions(self, expr, names):
        expr = expr.xreplace(self._env.replacements)
        if isinstance(expr, (sympy.And, sympy.Or, sympy.Not)):
            expr = sympy.to_cnf(expr)
        return [tuple(self._relation(e, names) for e in sympy.Or.make_args(part))
                for part in sympy.And.make_args(expr) if part != sympy.true]

    def _relation(self, expr, names):
        if type(expr) not in _OPERATORS:
            raise Unsupported(f"{type(expr).__name__} in a guard")
        return self._text(expr.lhs, names), _OPERATORS[type(expr)], self._text(expr.rhs, names)

    def _text(self, expr, names):
        """The engine's expressions have positive divisors: what is not known to be positive is a condition."""
        if not expr.free_symbols <= names.keys():
            raise Unsupported("a symbol that is no input's")
        for divisor in dict.fromkeys(part.args[1] for part in expr.atoms(FloorDiv, Mod, PythonMod)):
            if self._env.bound_sympy(divisor).lower >= 1:
                continue
            if not self._env.size_hint(divisor) >= 1:
                raise Unsupported("a divisor that is negative")
            self._positive[((text_of(divisor, names), ">=", "(1)"),)] = None
        return text_of(expr, names)


def _expr(size) -> sympy.Expr:
    return size.node.expr if isinstance(size, torch.SymInt) else sympy.Integer(size)
