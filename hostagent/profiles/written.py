"""Writes profiles as editable YAML: a new one from the default with its comments, and any one with all its values."""

# default.yaml, the only YAML in the wheel, is written under the new name with `extends: default`, so that a key of a later
# version is no mistake there. Texts that some YAML parser could read as another type are quoted.

import os
import re
from typing import Any

from hostagent.core.typed import plain
from hostagent.core.yamlfile import write_yaml
from hostagent.profiles.files import commented


def as_yaml(profile: Any) -> str:
    """All values of a merged `Profile`: loading it gives the same values, without the files that the profile extends."""
    values = plain(profile)
    if os.sep in values["extends"] or values["extends"].endswith((".yaml", ".yml")):
        values["extends"] = "default"
    return write_yaml(values)


def template(name: str, version: str) -> str:
    """The default profile with its comments, under another name and laid over the built-in one. Raises ``OSError``."""
    _, _, text = commented("default").partition("\n")  # without the title of the default profile
    quoted = write_yaml(name).partition("\n")[0]
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
