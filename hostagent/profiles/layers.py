"""The layers of a profile as they are read: a built-in one, a file, the files it extends, the site file."""

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from hostagent.errors import HostagentError
from hostagent.profiles import files
from hostagent.profiles.format import Rename, known
from hostagent.smallfile import NotOwnError, is_absent, reason
from hostagent.typed import ShapeError

NEXT_STEP = "See 'hostagent schema profile' and 'hostagent profile show default'"
OWN = "What root obeys only root may write, nor put anything in its place: copy it to /etc/hostagent, as root"
_MAX_PARENTS = 16


class Layer(NamedTuple):
    """One layer, its data under today's names."""

    label: str
    data: Mapping[str, Any]
    files: tuple[tuple[str, str], ...] = ()  # what it was read from: the name as `files.listed` gives it, the fingerprint
    warnings: tuple[str, ...] = ()  # sentences, without the label
    is_newer: bool = False  # it says a newer minor of the schema than ours


class Reader(NamedTuple):
    """Reads layers of `kind`. A mistake in one is a ``HostagentError`` that names it."""

    kind: type
    renames: tuple[Rename, ...]
    owners: Collection[int] = ()  # users by number; with any, nobody else may have had a hand in a file

    def chain(self, name: str, seen: tuple[str, ...] = ()) -> Iterator[Layer]:
        """What a profile (built-in name or path) extends, outermost first, then itself."""
        if name in seen:
            raise HostagentError(f"profile {name!r} extends itself through {' -> '.join(seen)}", "Break the circle")
        if len(seen) > _MAX_PARENTS:
            raise HostagentError(
                f"profile {seen[0]!r} extends more than {_MAX_PARENTS} others in a row, wanted fewer", "Merge some of them"
            )
        layer = self._file(name) if _is_path(name) else _built_in(name)
        parent = str(layer.data.get("extends", "default" if name != "default" else ""))
        if parent:
            yield from self.chain(beside(name, parent) if _is_path(name) else parent, (*seen, name))
        yield layer._replace(data={"name": name, **layer.data})

    def site(self, path: str) -> Layer:
        """The site file. One that is not there overrides nothing, and is listed: it may appear. No `path`, no site file."""
        try:
            if path and not is_absent(path):
                return self._file(path)
        except OSError as error:
            raise HostagentError(f"profile {path}: {reason(error)}", NEXT_STEP) from error
        return Layer(path, {}, ((files.listed(path), files.ABSENT),) if path else ())

    def known(self, label: str, data: Mapping[str, Any]) -> Layer:
        """Data of any origin."""
        try:
            found = known(self.kind, data, f"profile {label}", self.renames)
        except ShapeError as error:
            raise HostagentError(str(error), NEXT_STEP) from error
        return Layer(label, found.data, (), found.warnings, found.is_newer)

    def _file(self, path: str) -> Layer:
        from hostagent.yamlfile import YamlError, parse_yaml  # a host without profiles of its own pays for no YAML

        try:
            raw = files.read(path, self.owners)
            data = parse_yaml(raw)
        except NotOwnError as error:
            raise HostagentError(f"profile {path}: {reason(error)}", OWN) from error
        except (OSError, YamlError) as error:
            shown = reason(error) if isinstance(error, OSError) else error
            raise HostagentError(f"profile {path}: {shown}", NEXT_STEP) from error
        data = {} if data is None else data  # an empty file overrides nothing
        if not isinstance(data, dict):
            raise HostagentError(
                f"profile {path}: found a {'list' if isinstance(data, list) else 'single value'}, wanted keys and values", NEXT_STEP
            )
        return self.known(path, data)._replace(files=((files.listed(path), files.fingerprint(raw)),))


def beside(path: str, parent: str) -> str:
    """A parent that is a file is found from the file that names it."""
    return os.path.join(os.path.dirname(path), parent) if _is_path(parent) else parent


def warnings(layers: Iterable[Layer]) -> tuple[str, ...]:
    """Each sentence once, with the layers that it is about."""
    labels: dict[str, list[str]] = {}
    for one in layers:
        for sentence in one.warnings:
            labels.setdefault(sentence, []).append(one.label)
    return tuple(f"profile {' and '.join(named)}: {sentence}" for sentence, named in labels.items())


def _built_in(name: str) -> Layer:
    """Its keys need no look of their own: a test holds them."""
    if name not in files.names():
        raise HostagentError(
            f"found no profile {name!r}, wanted a file or one of {', '.join(files.names())}",
            "Run 'hostagent profile list'",
        )
    file = files.listed(name, built_in=True)
    try:
        raw = files.read(file)
        data = json.loads(raw)
    except (OSError, ValueError) as error:
        shown = reason(error) if isinstance(error, OSError) else str(error)
        raise HostagentError(f"the built-in profile {name!r} is damaged: {shown}", "Install hostagent again") from error
    return Layer(name, data, ((file, files.fingerprint(raw)),))


def _is_path(name: str) -> bool:
    return os.sep in name or name.endswith((".yaml", ".yml"))
