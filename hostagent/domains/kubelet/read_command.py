"""A kubelet's command line as its unit would start it, with variables expanded as systemd does (systemd.service(5), systemd.exec(5))."""

# A command line that Source may have cut (64 words, or a word of 4 KiB) is unread. A unit may start its kubelet by another
# program (OpenShift's kubenswrapper, numactl): the words from the kubelet's own on count; a start that is not understood (`sh
# -c`, `snap run`) is unread, never rejected, and so is an EnvironmentFile with a pattern.

import re
from collections.abc import Iterable, Mapping

from hostagent.core.parsing import Allowance, stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.unread import NOT_APPLICABLE, Unread, UnreadError, need, then
from hostagent.domains.kubelet.tables.defaults import DROPINS_VARIABLE
from hostagent.domains.system.retention import KUBELET_FLAGS
from hostagent.domains.system.unit_file import UnitText, parse_unit
from hostagent.facts.host import Unit
from hostagent.host.source import Source

#: Of a file of shell variables names, flags and types; of our flags the values.
ENVIRONMENT = Keep("flags", KUBELET_FLAGS)
_MOST_WORDS, _MOST_CHARACTERS = 4096, 256 * 1024
_PATTERN = frozenset("*?[%")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BRACED = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def parse_flags(words: tuple[str, ...]) -> dict[str, str]:
    """Flags of a command line and their values; the last counts. An underscore in a name is a hyphen (k8s.io/component-base).

    >>> parse_flags(("kubelet", "--config=/a", "--container-runtime-endpoint", "unix:///run/crio/crio.sock"))
    {'--config': '/a', '--container-runtime-endpoint': 'unix:///run/crio/crio.sock'}
    """
    found = {}
    for number, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name.startswith("-"):
            found[name.replace("_", "-")] = value if equals else next(iter(words[number + 1 : number + 2]), "")
    return found


@stops_at_unread
def unit_command(source: Source, unit: "Unit | Unread") -> tuple[str, ...]:
    """The words of ExecStart, the program first; none without a unit."""
    text = then(unit, lambda one: one.text)
    if isinstance(text, Unread) and text.why in NOT_APPLICABLE:
        return ()
    settings = parse_unit(need(text))
    started = settings.values("Service", "ExecStart")
    if not started:
        return ()
    words = parse_words(started[-1].lstrip("@-:+!"))
    needed = any("$" in word for word in words)
    return tuple(expanded(words, environment(source, settings) if needed else {}))


def unit_environment(source: Source, unit: "Unit | Unread") -> tuple[tuple[str, str], ...]:
    """The unit's variables that the kubelet itself reads; raises ``UnreadError``."""
    text = then(unit, lambda one: one.text)
    if isinstance(text, Unread) and text.why in NOT_APPLICABLE:
        return ()
    variables = environment(source, parse_unit(need(text)))
    return tuple((name, value) for name, value in variables.items() if name == DROPINS_VARIABLE)


def environment_files(settings: UnitText) -> tuple[str, ...]:
    """Paths of `EnvironmentFile=`, in order; patterns and specifiers unexpanded."""
    paths = (value.strip("\"'").removeprefix("-") for value in settings.values("Service", "EnvironmentFile"))
    return tuple(path for path in paths if path.startswith("/"))


def environment(source: Source, settings: UnitText) -> dict[str, str]:
    """Variables of `Environment=`, and over them those of the files; raises ``UnreadError``."""
    found: dict[str, str] = {}
    for value in settings.values("Service", "Environment"):
        found |= _assigned(parse_words(value))
    files = environment_files(settings)
    Allowance("files of a kubelet's variables", 20).take(len(files))
    for path in files:
        if set(path) & _PATTERN:
            raise UnreadError(Unread("error", f"EnvironmentFile={path[:80]}: which files that names is not read"))
        found |= parse_environment(need(source.text(path, keep=ENVIRONMENT, absent="")))
    return found


def parse_environment(text: str) -> dict[str, str]:
    r"""A file of `EnvironmentFile=`: assignments, quoted or not, a backslash at the end of a line goes on.

    >>> parse_environment('# x\nA="--b=c --d" \nE=f\n')
    {'A': '--b=c --d', 'E': 'f'}
    """
    found: dict[str, str] = {}
    for line in text[:_MOST_CHARACTERS].replace("\\\n", "").splitlines():
        name, equals, value = line.strip().partition("=")
        if equals and _NAME.fullmatch(name.strip()):
            found[name.strip()] = "".join(_unquoted(value.strip()))
    return found


def _assigned(words: Iterable[str]) -> dict[str, str]:
    pairs = (word.partition("=") for word in words)
    return {name: value for name, equals, value in pairs if equals and _NAME.fullmatch(name)}


def expanded(words: Iterable[str], variables: Mapping[str, str]) -> list[str]:
    """`$NAME` alone becomes the words of its value, `${NAME}` a part of a word; an unset variable is empty.

    >>> expanded(["k", "$A", "--x=${B}", "$C"], {"A": "--a=1 --b", "B": "y z"})
    ['k', '--a=1', '--b', '--x=y z']
    """
    found: list[str] = []
    left = _MOST_CHARACTERS
    for word in words:
        if word.startswith("$") and _NAME.fullmatch(word[1:]):
            new = parse_words(variables.get(word[1:], ""))
        else:
            new = [_put_in(word, variables, left)]
        found += new
        left -= sum(map(len, new))
        if len(found) > _MOST_WORDS or left < 0:
            break
    return found[:_MOST_WORDS]


def _put_in(word: str, variables: Mapping[str, str], most: int) -> str:
    """`word` with its variables; of what is longer than `most` characters the beginning."""
    parts: list[str] = []
    end = 0
    for seen in _BRACED.finditer(word):
        parts += [word[end : seen.start()], variables.get(seen[1], "")]
        end = seen.end()
        most -= len(parts[-2]) + len(parts[-1])
        if most < 0:
            break
    else:
        parts.append(word[end:])
    return "".join(parts).replace("$$", "$")


def parse_words(text: str) -> list[str]:
    """Words of a command line as systemd splits it: quotes group, a backslash takes the next character as it is.

    >>> parse_words('/usr/bin/kubelet "--a=b c" $X ${Y}')
    ['/usr/bin/kubelet', '--a=b c', '$X', '${Y}']
    """
    words: list[str] = []
    word: list[str] = []
    is_open = False  # a word has begun, be it an empty one in quotes
    quote = ""
    rest = iter(text[:_MOST_CHARACTERS])
    for char in rest:
        if char == "\\":
            word.append(next(rest, ""))
        elif quote:
            if char != quote:
                word.append(char)
            else:
                quote = ""
            continue
        elif char in "\"'":
            quote = char
        elif char.isspace():
            if is_open:
                words.append("".join(word))
            word, is_open = [], False
            continue
        else:
            word.append(char)
        is_open = True
    return [*words, *(["".join(word)] if is_open else [])][:_MOST_WORDS]


def _unquoted(value: str) -> Iterable[str]:
    """The characters of a value, inside quotes and outside."""
    quote = ""
    rest = iter(value)
    for char in rest:
        if char == "\\" and quote != "'":
            yield next(rest, "")
        elif char in "\"'" and quote in ("", char):
            quote = "" if quote else char
        else:
            yield char
