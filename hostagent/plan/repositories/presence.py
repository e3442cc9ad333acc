"""Whether the host has a repository already, and which of its sources conflict with it."""

# apt refuses two sources of one repository with different keys or trust ("Conflicting values set for option Signed-By" or
# "Trusted", 2.6), so both stop working.

from typing import NamedTuple

from hostagent.core.unread import need
from hostagent.facts.installation import Repository
from hostagent.facts.packages import AptSource
from hostagent.plan.model import Given
from hostagent.plan.repositories.places import Wanted, keyring, source_file
from hostagent.plan.repositories.texts import sources_of
from hostagent.plan.view import View


class Present(NamedTuple):
    """``by``: the file that names the repository with an existing key, "" for none. ``against``: sources of the same repository with
    another key, which apt refuses as a conflict.
    """

    by: str
    against: tuple[AptSource, ...]


def present(view: View, one: Wanted, manager: str) -> Present:
    """Raises ``UnreadError``."""
    if manager != "apt-get":
        repositories = need(need(view.installation).repositories)
        return Present(next((found.file for found in repositories if _is_same(found, one)), ""), ())
    read = tuple(found for found in need(need(view.packages).apt_sources) if _names(found, one))
    # sources that readers do not recognize as NVIDIA's: the refresh shows whether their key exists
    others = tuple(found for found in sources_of(view, one.url) if _names(found, one) and all(found.file != known.file for known in read))
    mine = (*read, *others)
    ours = source_file(one.name, manager)
    usable = (found for found in mine if found.file != ours and (_is_usable(view, found) if found in read else _has_word(found)))
    keeper = next(usable, None)
    signed_by = keeper.signed_by if keeper else keyring(one.name, manager)
    own = next((found for found in mine if found.file == ours and found.signed_by == signed_by), None)
    by = keeper.file if keeper else own.file if own else ""
    return Present(by, tuple(found for found in mine if found.signed_by != signed_by or (found.trusted and found is not keeper)))


def is_ours(given: Given, one: Wanted, manager: str) -> bool:
    """Whether the repository is named by our own file, now or once the plan is done."""
    by = present(given.view, one, manager).by
    return not by or by == source_file(one.name, manager)


def has_key(view: View, path: str) -> bool:
    """Whether a keyring at this path holds a key. Raises ``UnreadError``."""
    return any(file == path for file, _ in need(need(view.packages).apt_keys))


def _names(found: AptSource, one: Wanted) -> bool:
    return found.enabled and found.suite in ("/", "./") and found.uri == one.url


def _is_usable(view: View, found: AptSource) -> bool:
    """Whether the source has a key, or names an existing one; without a key it cannot replace ours."""
    if found.trusted:
        return False
    return found.signed_by == "embedded" or (found.signed_by.startswith("/") and has_key(view, found.signed_by))


def _has_word(found: AptSource) -> bool:
    return not found.trusted and found.signed_by.startswith(("/", "embedded"))


def _is_same(found: Repository, one: Wanted) -> bool:
    """Whether the addresses are equal, with dnf's variables, which files of distributions and NVIDIA have."""
    arch = one.url.rstrip("/").rpartition("/")[2]
    url = found.url.replace("$basearch", arch).replace("${basearch}", arch).rstrip("/") + "/"
    return found.enabled and url == one.url
