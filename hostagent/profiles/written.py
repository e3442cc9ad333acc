"""Profiles as YAML that people edit: the default one with its comments to start from, and any one with all its values."""

import os
import re
from typing import Any

import yaml

from hostagent.profiles.files import commented
from hostagent.typed import plain

#: What needs no quotes in any YAML: a word that is no number and none of the words of either version.
_PLAIN = re.compile(r"(?!(?:true|false|null|yes|no|on|off|y|n)$)[A-Za-z][A-Za-z0-9_./-]*", re.IGNORECASE)


class _Dumper(yaml.SafeDumper):
    """Quotes what any reader of YAML could take for something else than text."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def written_text(self, text: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=None if _PLAIN.fullmatch(text) else '"')


_Dumper.add_representer(str, _Dumper.written_text)


def as_yaml(profile: Any) -> str:
    """All values of a merged `hostagent.profile.Profile`; read again it gives the same ones. It needs no file that the profile extends."""
    values = plain(profile)
    if os.sep in values["extends"] or values["extends"].endswith((".yaml", ".yml")):
        values["extends"] = "default"
    # a width that no text has: folded lines are hard to edit
    return yaml.dump(values, Dumper=_Dumper, sort_keys=False, width=2**31, allow_unicode=False)


def started(name: str, version: str) -> str:
    """The default profile with its comments, under another name and laid over the built-in one. Raises ``OSError``."""
    _, _, text = commented("default").partition("\n")  # its own first line says what it is
    quoted = yaml.dump(name, Dumper=_Dumper, width=2**31, allow_unicode=False).partition("\n")[0]
    changes = {
        "name": f"name: {quoted}",
        "description": 'description: ""',
        "extends": "extends: default         # a built-in profile or a file: what is not said here comes from it",
    }
    for key, line in changes.items():
        text = re.sub(rf"(?m)^{key}:.*$", line.replace("\\", r"\\"), text, count=1)
    head = (
        f"# A profile for hostagent, started from the default profile of hostagent {version}.",
        "# Delete what you do not change. 'hostagent profile validate FILE' checks it, 'hostagent check --profile FILE' uses it;",
        "# as /etc/hostagent/profile.yaml it is the policy of a machine.",
    )
    return "\n".join((*head, text))
