"""The steps that install keys and repository files, and disable conflicting sources of the host."""

# No keyring is known for Debian 13 and Ubuntu 26.04 on arm64: without one in the profile the plan is refused (plan.no-key). For
# rpm the repository file names NVIDIA's own key address. A source signed by our own keyring counts as NVIDIA's, whatever its
# address.

import re

from hostagent.core.unread import Unread, need
from hostagent.facts.packages import AptSource
from hostagent.plan.model import Given, Key, Operation, PlanStep, Portion, Probe, Refusal, Undo, Write
from hostagent.plan.refusals.words import profile_step, refusal
from hostagent.plan.repositories.places import CALLED, Wanted, keyring, source_file, source_text
from hostagent.plan.repositories.presence import has_key, is_ours, present
from hostagent.plan.view import View

_RESTORED = Undo("restore")
_DEB = re.compile(r"\s*deb(-src)?\s")


def source_steps(given: Given, one: Wanted, manager: str) -> Portion:
    """Key, then repository file; nothing where a source of the host names the repository with an existing key."""
    if not one.url:
        return Portion(refusals=(_no_repository(given, one),))
    if not is_ours(given, one, manager):
        return Portion()
    by_apt = manager == "apt-get"
    if by_apt and one.key is None and not one.key_file:
        return Portion(refusals=(_no_key(one),))
    keys = (_key_step(one, manager),) if by_apt or one.key_file else ()
    return Portion(steps=(*keys, _file_step(one, manager)))


def conflict_step(given: Given, ones: tuple[Wanted, ...]) -> tuple[PlanStep, ...]:
    """Disables old sources that name the same repository with another key. Raises ``UnreadError``."""
    against = tuple(found for one in ones for found in present(given.view, one, "apt-get").against)
    if not against:
        return ()
    files = tuple(dict.fromkeys(found.file for found in against))
    return (
        PlanStep(
            "repositories.conflicts",
            "repositories",
            "file",
            "Put old entries of NVIDIA's repositories out of force",
            f"apt reads no repository that two files name with different keys: {', '.join(files)}",
            Probe(
                "no other file names these repositories with another key",
                lambda view: not any(present(view, one, "apt-get").against for one in ones),
            ),
            tuple(_without(given.view, path, tuple(found for found in against if found.file == path)) for path in files),
            _RESTORED,
            ("driver.repo_signed_by", "driver.repo_key"),
        ),
    )


def _key_step(one: Wanted, manager: str) -> PlanStep:
    path = keyring(one.name, manager)
    source = Key(path, source=one.key_file) if one.key_file or one.key is None else Key(path, "", *one.key)
    place = one.key_file or f"{source.url}, whose SHA-256 is known"
    return PlanStep(
        f"repositories.key-{one.name}",
        "repositories",
        "key",
        f"Put the key of the {CALLED[one.name]} repository in its place",
        f"apt takes packages from it only by this key, which comes from {place}",
        Probe(f"{path} holds a key", lambda view: _has_key(view, path, manager)),
        (source,),
        _RESTORED,
        ("driver.repo_key",),
    )


def _has_key(view: View, path: str, manager: str) -> bool:
    if manager == "apt-get":
        return has_key(view, path)
    return not isinstance(need(need(view.installation).file(path)).text, Unread)


def _file_step(one: Wanted, manager: str) -> PlanStep:
    path, text = source_file(one.name, manager), source_text(one, manager)
    what = "driver" if one.name == "cuda" else "toolkit"
    return PlanStep(
        f"repositories.{one.name}",
        "repositories",
        "file",
        f"Add the {CALLED[one.name]} repository"[:80],
        f"the {what}'s packages come from {one.url}",
        Probe(f"{path} names {one.url}", lambda view: present(view, one, manager).by == path and _is_text(view, path, text)),
        (Write(path, text, keys=(f"{one.url} signed by {keyring(one.name, manager)}",)),),
        _RESTORED,
    )


def _is_text(view: View, path: str, text: str) -> bool:
    """Whether the file has this text; True for a snapshot, which has none: only the parsed sources count."""
    file = need(view.installation).file(path)
    found = file if isinstance(file, Unread) else file.text
    return isinstance(found, Unread) or found == text


def _without(view: View, path: str, against: tuple[AptSource, ...]) -> Operation:
    """The file with the entries disabled, all else unchanged."""
    keys = tuple(f"no {found.uri}" for found in against)
    file = need(need(view.installation).file(path))
    if isinstance(file.text, Unread):
        if file.text.why == "not-recorded":
            return Write(path, "", keys=keys)
        need(file.text)
    text = need(file.text)
    uris = tuple(found.uri.rstrip("/") for found in against)
    edit = _without_stanzas if path.endswith(".sources") else _without_lines
    mode = 0o644 if isinstance(file.mode, Unread) else file.mode
    return Write(path, edit(text, uris), mode, keys)


def _without_lines(text: str, uris: tuple[str, ...]) -> str:
    """One-line sources become comments."""
    lines = text.splitlines(keepends=True)
    return "".join(f"# hostagent: {line}" if _DEB.match(line) and _has(line, uris) else line for line in lines)


def _without_stanzas(text: str, uris: tuple[str, ...]) -> str:
    """Stanzas get ``Enabled: no`` as their first field, in place of any other."""
    parts = re.split(r"(\n[ \t]*\n)", text)
    return "".join(_disabled(part) if _has(part, uris) else part for part in parts)


def _disabled(stanza: str) -> str:
    lines = [line for line in stanza.split("\n") if not re.match(r"(?i)enabled\s*:", line)]
    first = next((number for number, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0)
    return "\n".join((*lines[:first], "Enabled: no", *lines[first:]))


def _has(text: str, uris: tuple[str, ...]) -> bool:
    """Whether it has one of the addresses, with or without user and password and a closing slash."""
    words = (re.sub(r"://[^/@\s]*@", "://", word).rstrip("/") for word in text.split())
    return any(word in uris for word in words)


def _no_repository(given: Given, one: Wanted) -> Refusal:
    os = need(given.view.os)
    found = f"{os.id} {os.version_id} on {os.arch}"
    return refusal(
        "no-repository",
        f"There is no {CALLED[one.name]} repository for this distribution",
        found,
        "a distribution that NVIDIA has a repository for, or a mirror",
        profile_step(f"Name a repository in install.repositories.{one.name}.url of the profile."),
        detail="the profile names no repository",
    )


def _no_key(one: Wanted) -> Refusal:
    return refusal(
        "no-key",
        f"The key of the {CALLED[one.name]} repository is not known",
        "no key that can be checked",
        "a keyring file",
        profile_step(f"Name a keyring file in install.repositories.{one.name}.key of the profile."),
        detail=f"this release does not know the key of {one.url}, and the profile names no keyring for it",
    )
