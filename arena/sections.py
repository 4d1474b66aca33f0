"""Tables of a TOML file: read key by key into structs, whatever is wrong told in one sentence.

What the tables mean is the business of whoever reads them: `arena.config` for tournaments,
`arena.settings` for the arena itself. Nothing here opens a file.
"""

import re
import tomllib
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import FieldInfo

_Section = TypeVar("_Section", bound=Struct)


class ConfigError(ValueError):
    """A file that cannot be used; the message is one sentence for people.

    `key` is what it is about, such as `tournament.table_size` or `bots[2].name` (the second bot);
    it is empty when the text as a whole cannot be read.
    """

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


def read_toml(text: str | bytes) -> dict[str, object]:
    """The values of a TOML text; bytes are UTF-8.

    Raises:
        ConfigError: the text is no TOML.
    """
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8-sig")
        return tomllib.loads(decoded)
    except UnicodeDecodeError as error:
        raise ConfigError("", f"the file is not UTF-8 text (byte {error.start})") from None
    except RecursionError:
        raise ConfigError("", "the file is not usable TOML: it is nested too deeply") from None
    except ValueError as error:
        raise ConfigError("", f"the file is not usable TOML: {error}") from None


def read_section(kind: type[_Section], values: Mapping[str, object], where: str) -> _Section:
    """One table of the file, key by key, so that an error knows its key.

    Args:
        kind: a struct whose fields are `Annotated` with a `Meta` of their bounds; the description of
            that is the end of the sentence "KEY = VALUE: allowed is ...".
        values: the table.
        where: its name.

    Raises:
        ConfigError: a key is unknown or missing, or its value is not allowed.
    """
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    check_known(values, fields, where)
    for name, field in fields.items():
        if field.required and name not in values:
            key = f"{where}.{name}"
            raise ConfigError(key, f"{key} is missing: allowed is {_description(field)}")
    return kind(**{name: _read_value(fields[name], value, where) for name, value in values.items()})


def _read_value(field: FieldInfo, value: object, where: str) -> object:
    try:
        return msgspec.convert(value, field.type)
    except msgspec.ValidationError:
        raise refused(f"{where}.{field.name}", value, _description(field)) from None


def _description(field: FieldInfo) -> str:
    (meta,) = field.type.__metadata__
    assert isinstance(meta, Meta)
    assert meta.description
    return meta.description


def table_of(values: Mapping[str, object], name: str) -> Mapping[str, object]:
    """The table of that name, empty when the file leaves it out; ConfigError when it is none."""
    return as_table(values.get(name, {}), name)


def as_table(value: object, where: str) -> Mapping[str, object]:
    """A value that must be a table; ConfigError when it is none."""
    if not isinstance(value, Mapping):
        raise refused(where, value, "a table")
    return value


def check_known(values: Mapping[str, object], known: Collection[str], where: str) -> None:
    """Raise ConfigError for the first key that is not among those known, with the one that was meant."""
    for name in values:
        if name not in known:
            key = _key_text(f"{where}.{name}".lstrip("."))
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"allowed are {', '.join(known)}"
            raise ConfigError(key, f"unknown key {key}: {hint}")


def refused(key: str, value: object, allowed: str) -> ConfigError:
    """The error of a value that is not allowed; `allowed` ends the sentence."""
    return ConfigError(key, f"{key} = {_shown(value)}: allowed is {allowed}")


def _key_text(key: str) -> str:
    """A key of the file, in quotes when it is not a plain word."""
    return key if re.fullmatch(r"[A-Za-z0-9_.\[\]-]{1,60}", key) else _shown(key)


def _shown(value: object) -> str:
    """A value as the file would write it, cut to a readable length, with no control codes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    try:
        text = "null" if value is None else repr(value)
    except ValueError:  # An integer too long to be written in decimal.
        return "a number of thousands of digits"
    return text if len(text) <= 60 else text[:57] + "..."
