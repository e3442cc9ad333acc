"""Changes of files by a plan: a unified diff, or the names of the settings where the file's text was not read."""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hostagent.core.secret.names import without_secrets
from hostagent.core.unread import Unread
from hostagent.facts.installation import ConfigFile
from hostagent.plan.model import FileDiff, Key, PlanStep, Remove, Write
from hostagent.plan.view import View

_NONE = "/dev/null"
#: Placeholder for the name of a setting that is no secret during the search for secrets: no text of a host has it.
_PUBLIC = "\ue000"
#: Most names of settings of one file in a plan.
_KEYS = 40


def changed_files(view: View, steps: Iterable[PlanStep]) -> tuple[FileDiff, ...]:
    """One for each file that the steps write or remove, in their order; without unchanged files."""
    last: dict[str, Write | Key | Remove] = {one.path: one for step in steps for one in step.do if isinstance(one, Write | Key | Remove)}
    found = (_changed(view, one) for one in last.values())
    return tuple(one for one in found if one is not None)


def _changed(view: View, operation: Write | Key | Remove) -> FileDiff | None:
    path = operation.path
    if isinstance(operation, Key):
        return FileDiff(path, keys=(f"keyring from {operation.source or operation.url}",))
    before = _text(view, path)
    if isinstance(before, Unread):
        return FileDiff(path, keys=_keys(operation))
    after = operation.content if isinstance(operation, Write) else None
    if before == after:
        return None
    diff = unified(path, before, after)
    return FileDiff(path, diff, () if diff else _keys(operation))


def _keys(operation: Write | Remove) -> tuple[str, ...]:
    """Names of settings for a file without a diff, or with one of secrets only."""
    return operation.keys or tuple(names(operation.path, operation.content)) if isinstance(operation, Write) else ("removed",)


def _text(view: View, path: str) -> str | Unread | None:
    """None where there is no such file."""
    if isinstance(view.installation, Unread):
        return view.installation
    file = view.installation.file(path)
    text = file.text if isinstance(file, ConfigFile) else file
    return None if isinstance(text, Unread) and text.why == "absent" else text


def unified(path: str, before: str | None, after: str | None) -> str:
    r"""The diff without secrets, because people share it. None is no file.

    >>> print(unified("/etc/a", "x = 1\npassword = \"p\"\n", "x = 2\npassword = \"p\"\n"), end="")
    --- /etc/a
    +++ /etc/a
    @@ -1,2 +1,2 @@
    -x = 1
    +x = 2
     password = "<removed>"
    """
    old, new = (_shown(text or "").splitlines() for text in (before, after))
    names_of = (_NONE if before is None else path, _NONE if after is None else path)
    lines = difflib.unified_diff(old, new, *names_of, lineterm="")
    return "".join(f"{line}\n" for line in lines)


def _shown(text: str) -> str:
    """Keeps a repository's gpgkey, which is the address of a public key and no secret."""
    return without_secrets(text.replace("gpgkey", _PUBLIC)).replace(_PUBLIC, "gpgkey")


def names(path: str, content: str) -> list[str]:
    r"""The settings that a file sets, by their names; their values are left out.

    >>> names("/etc/docker/daemon.json", '{"runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}}')
    ['runtimes.nvidia.path']
    >>> names("/etc/apt/preferences.d/a", "Package: a b\nPin: version 1\n")
    ['Package', 'Pin']
    """
    found = dict.fromkeys(_leaves(_parsed(path, content))) or dict.fromkeys(_words(content))
    return [*found][:_KEYS]


def _parsed(path: str, content: str) -> Any:
    try:
        if path.endswith(".json"):
            return json.loads(content)
        if path.endswith((".toml", ".conf", ".tmpl")):
            import tomlkit

            return tomlkit.parse(content).unwrap()
    except ValueError:  # another form: its words then
        pass
    return {}


def _leaves(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else str(key))
    elif path:
        yield path


def _words(content: str) -> Iterator[str]:
    """Names in ``Name: value``, ``name = value`` and ``word …`` lines."""
    for line in content.splitlines():
        if line and not line[0].isspace() and line[0] not in "#;[/":
            yield line.replace("=", " ").replace(":", " ").split(maxsplit=1)[0] if line.strip(" =:") else line
