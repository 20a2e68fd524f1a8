"""What one element of a result is: the vocabulary of `torchdyn.register_lowering`.

    from torchdyn import element

    def softshrink(x, bound):
        return element.where(abs(x) > bound, element.copysign(abs(x) - bound, x), 0)

Arithmetic, comparisons and `&`, `|`, `^`, `~` are Python's operators; `/` divides, and integers
have no `/` but `//` and `%`. Functions have the names of the compiler's scalar operators: `exp`,
`maximum`, `where(condition, a, b)`, ...; `dir(element)` lists them. There are no values while an
element is described: `if` and `while` on one raise TypeError.
"""
import numbers

from torchdyn import _C

_ARITY = {"where" if name == "select" else name: arity for name, arity in _C.scalar_operators()}


class Element:
    """An argument's element, or what was made of elements; only in functions that describe one."""

    __slots__ = ("_operations", "_text")

    def __init__(self, operations, text):
        self._operations = operations  # lines of the description, shared by all its elements
        self._text = text

    def __bool__(self):
        raise TypeError("an element has no value while it is described: "
                        "use element.where(condition, a, b) in the place of a branch")

    def _no_number(self):
        raise TypeError("an element is no number: use the functions of torchdyn.element")

    __float__ = __int__ = __index__ = _no_number

    __hash__ = object.__hash__


def _text(value):
    if isinstance(value, Element):
        return value._text
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, numbers.Real) and float(value) == value or value != value:
        return repr(float(value))
    raise TypeError(f"{value!r} is neither an element nor a number that float holds")


def _apply(name, args):
    if len(args) != _ARITY[name]:
        raise TypeError(f"element.{name} takes {_ARITY[name]} arguments, not {len(args)}")
    owners = [arg._operations for arg in args if isinstance(arg, Element)]
    if not owners:
        raise TypeError(f"element.{name} of numbers alone: use math.{name}")
    texts = ", ".join(map(_text, args))
    operations = owners[0]
    operations.append(f"{'select' if name == 'where' else name}({texts})")
    return Element(operations, f"%{len(operations) - 1}")


def _add_operators():
    binary = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_div",
              "mod": "remainder", "pow": "pow", "and": "bit_and", "or": "bit_or",
              "xor": "bit_xor", "lshift": "shift_left", "rshift": "shift_right"}
    for python, name in binary.items():
        setattr(Element, f"__{python}__", lambda a, b, name=name: _apply(name, (a, b)))
        setattr(Element, f"__r{python}__", lambda a, b, name=name: _apply(name, (b, a)))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(Element, f"__{name}__", lambda a, b, name=name: _apply(name, (a, b)))
    for python, name in {"neg": "neg", "abs": "abs", "invert": "bit_not"}.items():
        setattr(Element, f"__{python}__", lambda a, name=name: _apply(name, (a,)))


_add_operators()


def __getattr__(name):
    if name not in _ARITY:
        raise AttributeError(f"torchdyn.element has no operation {name!r}; "
                             f"there are {', '.join(_ARITY)}")

    def operation(*args):
        return _apply(name, args)
    operation.__name__ = operation.__qualname__ = name
    return operation


def __dir__():
    return sorted(_ARITY)


def describe(function, arguments, results):
    """The description of `function` as the compiler reads it: inductor/lowering/element.h."""
    operations = []
    result = function(*(Element(operations, name) for name in arguments))
    if not isinstance(result, (tuple, list)):
        result = (result,)
    if len(result) != results:
        raise TypeError(f"{function.__name__} describes {len(result)} results, not {results}")
    body = "".join(f"  %{i} = {line}\n" for i, line in enumerate(operations))
    return (f"element 1 ({', '.join(arguments)}) {{\n{body}"
            f"  return {', '.join(map(_text, result))}\n}}\n")
