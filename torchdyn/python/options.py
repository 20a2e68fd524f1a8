"""Options by name, with torch.compile's names where it has one.

    torchdyn.config.recompile_limit = 16                  # from now on, for all that is compiled
    torch.compile(f, backend="torchdyn", options={"recompile_limit": 16})    # for one function
    print(torchdyn.config)                                # what there is
"""
from collections.abc import Mapping
from typing import Any

from torchdyn import _C

# What each `mode` of torch.compile sets: little, since kernels are not chosen by trial, and CUDA graphs
# are used where they can be.
_MODES: dict[str, dict[str, Any]] = {
    "default": {},
    "reduce-overhead": {},
    "max-autotune": {},
    "max-autotune-no-cudagraphs": {"cudagraphs": False},
}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _value(text: str) -> bool | int | str:
    if text in ("true", "false"):
        return text == "true"
    return int(text) if text.lstrip("-").isdigit() else text


class Config:
    """Defaults of options, as attributes. ValueError for a name or a value that no option takes."""

    def __init__(self):
        defaults = (row.split("=") for row in _C.default_options().split())
        vars(self).update({name: _value(text) for name, text in defaults})

    def __setattr__(self, name: str, value: Any) -> None:
        _C.check_option(name, _text(value))
        vars(self)[name] = value

    def __str__(self) -> str:
        return _C.options_help()


config = Config()


def chosen_options(mode: str | None, options: Mapping[str, Any] | None) -> dict[str, str]:
    """All options as text: config's, then those of `mode`, then `options`.

    ValueError for an unknown mode, name or value; the message lists the known ones.
    """
    mode = mode or "default"
    if mode not in _MODES:
        raise ValueError(f"there is no mode {mode!r}; the modes are {', '.join(_MODES)}")
    chosen = {name: _text(value)
              for name, value in {**vars(config), **_MODES[mode], **(options or {})}.items()}
    for name, text in chosen.items():
        _C.check_option(name, text)
    return chosen
