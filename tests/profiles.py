"""The built-in profiles as JSON: ``python -m tests.profiles`` writes them from the YAML, tests/unit/engine/test_profile.py holds them."""

import json
import os

from hostagent.core.yamlfile import load_yaml
from hostagent.profiles.files import BUILT_IN, MAX_BYTES


def rendered() -> dict[str, str]:
    """Path and content of every generated file."""
    sources = sorted(name for name in os.listdir(BUILT_IN) if name.endswith(".yaml"))
    return {os.path.join(BUILT_IN, f"{name[:-5]}.json"): as_json(load_yaml(os.path.join(BUILT_IN, name), MAX_BYTES)) for name in sources}


def as_json(profile: object) -> str:
    return json.dumps(profile, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def main() -> None:
    wanted = rendered()
    for name in os.listdir(BUILT_IN):
        if name.endswith(".json") and os.path.join(BUILT_IN, name) not in wanted:
            os.remove(os.path.join(BUILT_IN, name))
    for path, content in wanted.items():
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(content)


if __name__ == "__main__":
    main()
