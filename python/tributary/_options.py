"""Options as keywords: their names, help texts, and values as the option table reads them."""
import inspect
import os

from ._errors import InputError
from ._inputs import path_of
from ._load import _core

ADAPTATION = {option["key"]: option for option in _core.adaptation_options()}
MODEL = {option["key"]: option for option in _core.model_options()}


def text_of(value):
    """One value as the text of a flag."""
    if hasattr(value, "tolist"):  # of NumPy or PyTorch
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, os.PathLike)):
        return path_of(value, "an option")
    if isinstance(value, (tuple, list)):
        return ",".join(text_of(item) for item in value)
    return str(value) if type(value).__name__ == "device" else repr(value)


def settings_of(options, known, where):
    """(key, texts) for every option that is not None. Raises InputError for unknown names."""
    settings = []
    for key, value in options.items():
        if value is None:
            continue
        if key not in known:
            near = _near(key, known, where)
            raise InputError(f"{where}: there is no option '{key}'{near}")
        many = known[key]["kind"] == "list" and isinstance(value, (tuple, list))
        settings.append((key, [text_of(item) for item in value] if many else [text_of(value)]))
    return settings


def _near(key, known, where):
    import difflib
    found = difflib.get_close_matches(key, known, 1, 0.75)
    return f"; did you mean {found[0]}?" if found else f"; see help(tributary.{where}) for those there are"


def help_text(known):
    """One line per option, for docstrings."""
    lines = []
    for option in known.values():
        default = f", default {option['default']}" if option["default"] else ""
        only = f" (method {option['method']})" if option["method"] else ""
        lines.append(f"    {option['key']}: {option['help']}{only}; {option['allowed']}{default}")
    return "\n".join(lines)


def with_keywords(function, known):
    """Gives `function`, which ends in **options, a signature with every option, and their help as documentation."""
    signature = inspect.signature(function)
    own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    names = {p.name for p in own}
    more = [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=None) for key in known if key not in names]
    function.__signature__ = signature.replace(parameters=own + more)
    if function.__doc__:
        function.__doc__ += documentation(known)
    return function


def documentation(known):
    """The end of a docstring."""
    return "\nOptions (None: the default):\n" + help_text(known) + "\n"
