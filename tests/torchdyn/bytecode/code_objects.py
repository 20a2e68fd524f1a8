"""Code objects to try things on.

    for path, code in code_objects.of_standard_library():     # every one, nested ones too
    module = code_objects.run_changed("test.test_with", layers.padded)
"""
import importlib.util
import marshal
import pathlib
import sys
import sysconfig
import types
import warnings


def with_nested(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from with_nested(constant)


def compiled(path):
    """The file's code, from its cache where there is one; None where it is not Python."""
    cached = pathlib.Path(importlib.util.cache_from_source(str(path)))
    try:
        if cached.exists():
            return marshal.loads(cached.read_bytes()[16:])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None  # tests of errors, and templates


def of_standard_library():
    for path in sorted(pathlib.Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if "site-packages" not in path.parts and (code := compiled(path)):
            for nested in with_nested(code):
                yield path, nested


def changed(code, change):
    """change(code), and so for all code within."""
    constants = tuple(
        changed(c, change) if isinstance(c, types.CodeType) else c for c in code.co_consts
    )
    return change(code.replace(co_consts=constants))


def run_changed(name, change):
    """The module of that name, of changed code."""
    spec = importlib.util.find_spec(name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    exec(changed(spec.loader.get_code(name), change), module.__dict__)
    return module
