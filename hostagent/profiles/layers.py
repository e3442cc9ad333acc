"""Reads the layers of a profile: a built-in one, a file, the files it extends, the site file."""

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from hostagent.core.errors import HostagentError, did_you_mean
from hostagent.core.smallfile import STANDARD_INPUT, NotOwnError, is_absent, read_standard_input, reason
from hostagent.profiles import files
from hostagent.profiles.files import NEXT_STEP
from hostagent.profiles.format import Rename, check_layer

if TYPE_CHECKING:
    from hostagent.profiles.mistakes import Place

OWN = "What root obeys only root may write, nor put anything in its place: copy it to /etc/hostagent, as root"
_MAX_PARENTS = 16
#: Lines without content. Only ASCII: YAML rejects some other characters.
_COMMENTS = rb"(?: *(?:#[\t -~]*)?\n)*"


class Layer(NamedTuple):
    """One layer, its data with current names."""

    label: str
    data: Mapping[str, Any]
    files: tuple[tuple[str, str], ...] = ()  # its files: name by `files.listed`, fingerprint
    warnings: tuple[str, ...] = ()  # sentences, without the label
    is_newer: bool = False  # its schema minor is newer than ours
    mistakes: "tuple[Place, ...]" = ()  # `data` is without these
    raw: bytes = b""  # the file, for the lines of later mistakes


class Reader(NamedTuple):
    """Reads layers of `kind`. Raises ``HostagentError`` for one that cannot be read at all."""

    kind: type
    renames: tuple[Rename, ...]
    owners: Collection[int] = ()  # user ids; if any, a file that other users could have written is refused

    def chain(self, name: str, seen: tuple[str, ...] = ()) -> Iterator[Layer]:
        """The layers that a profile (built-in name or path) extends, outermost first, then itself."""
        if name in seen:
            raise HostagentError(f"profile {name!r} extends itself through {' -> '.join(seen)}", "Break the circle")
        if len(seen) > _MAX_PARENTS:
            raise HostagentError(
                f"profile {seen[0]!r} extends more than {_MAX_PARENTS} others in a row, wanted fewer", "Merge some of them"
            )
        layer = self._file(name) if is_path(name) else _built_in(name)
        parent = str(layer.data.get("extends") or ("default" if name != "default" else ""))
        if parent:
            yield from self.chain(parent_name(name, parent) if is_path(name) else parent, (*seen, name))
        yield layer._replace(data={"name": layer.label, **layer.data})

    def site(self, path: str) -> Layer:
        """The site file; an empty `path` means none. A missing one overrides nothing, and is listed because it may appear."""
        try:
            if path and not is_absent(path):
                return self._file(path)
        except OSError as error:
            raise HostagentError(f"profile {path}: {reason(error)}", NEXT_STEP) from error
        return Layer(path, {}, ((files.listed(path), files.ABSENT),) if path else ())

    def layer(self, label: str, data: Mapping[str, Any], raw: bytes = b"") -> Layer:
        """A layer from data of any origin; `raw` is its file, if any."""
        found = check_layer(self.kind, data, self.renames)
        layer = Layer(label, found.data, (), found.warnings, found.is_newer, (), raw)
        if not found.mistakes:
            return layer
        from hostagent.profiles.mistakes import placed

        return layer._replace(mistakes=tuple(placed(label, raw, found.mistakes)))

    def _file(self, path: str) -> Layer:
        is_standard = path == STANDARD_INPUT
        label = "standard input" if is_standard else path
        try:
            raw = read_standard_input(files.MAX_BYTES) if is_standard else files.read(path, self.owners)
        except NotOwnError as error:
            raise HostagentError(f"profile {label}: {reason(error)}", OWN) from error
        except OSError as error:
            raise HostagentError(f"profile {label}: {reason(error)}", NEXT_STEP) from error
        data = _parse(raw, label)
        data = {} if data is None else data  # an empty file overrides nothing
        if not isinstance(data, dict):
            kind = "list" if isinstance(data, list) else "single value"
            raise HostagentError(f"profile {label}: found a {kind}, wanted keys and values", NEXT_STEP)
        listed = () if is_standard else ((files.listed(path), files.fingerprint(raw)),)
        return self.layer(label, data, raw)._replace(files=listed)


def _parse(raw: bytes, label: str) -> Any:
    """The document; None for a file of comments only, as packages install it, without importing YAML."""
    if re.fullmatch(_COMMENTS, raw):
        return None
    from hostagent.core.yamlfile import YamlError, parse_yaml

    try:
        return parse_yaml(raw)
    except YamlError as error:
        from hostagent.profiles.mistakes import Place, ProfileError

        raise ProfileError([Place(label, error.line, f"cannot read this YAML: {error.problem}")]) from error


def parent_name(path: str, parent: str) -> str:
    """A parent; a file is relative to the file that names it."""
    return os.path.join(os.path.dirname(path), parent) if is_path(parent) else parent


def warnings(layers: Iterable[Layer]) -> tuple[str, ...]:
    """Each sentence once, with its layers."""
    labels: dict[str, list[str]] = {}
    for one in layers:
        for sentence in one.warnings:
            labels.setdefault(sentence, []).append(one.label)
    return tuple(f"profile {' and '.join(named)}: {sentence}" for sentence, named in labels.items())


def _built_in(name: str) -> Layer:
    """Not validated here: a test validates the built-in profiles."""
    if name not in files.names():
        beside_us = next((path for path in (f"./{name}", f"{name}.yaml", f"{name}.yml") if name and _is_there(path)), "")
        hint = f"; did you mean the file {beside_us}?" if beside_us else did_you_mean(name, files.names())
        raise HostagentError(
            f"found no profile {name!r:.80}, wanted a file or one of {', '.join(files.names())}{hint}", "Run 'hostagent profile list'"
        )
    file = files.listed(name, built_in=True)
    try:
        raw = files.read(file)
        data = json.loads(raw)
    except (OSError, ValueError) as error:
        from hostagent.core.installation import damaged_step

        shown = reason(error) if isinstance(error, OSError) else str(error)
        raise HostagentError(f"the built-in profile {name!r} is damaged: {shown}", damaged_step()) from error
    return Layer(name, data, ((file, files.fingerprint(raw)),))


def _is_there(path: str) -> bool:
    try:
        return not is_absent(path)
    except OSError:
        return False


def is_path(name: str) -> bool:
    """Whether a profile's name is a file: a path, or - for standard input."""
    return name == STANDARD_INPUT or os.sep in name or name.endswith((".yaml", ".yml"))
