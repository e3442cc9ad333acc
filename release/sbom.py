"""The list of parts (SBOM) as SPDX 2.3: hostagent, and each project that any artefact contains, with version, licence and hashes."""

import email.parser
import hashlib
import importlib.metadata
import json
import re
import zipfile
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from email.message import Message
from pathlib import Path
from typing import Any

from release.sources import Commit
from release.wheels import Wheel

_NO_ASSERTION = "NOASSERTION"
#: What SPDX takes for an expression: identifiers, with operators between them.
_IDENTIFIER = r"(?:[A-Za-z0-9][A-Za-z0-9.-]*\+?)"
_EXPRESSION = re.compile(rf"\(*{_IDENTIFIER}\)*(?: (?:AND|OR|WITH) \(*{_IDENTIFIER}\)*)*")
#: Where a project has no licence expression: words of its classifiers, or of its field of free text.
_KNOWN = {
    "Apache Software License": "Apache-2.0",
    "Apache Software License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "ISC license": "ISC",
    "ISC License (ISCL)": "ISC",
    "GNU General Public License v3 or later (GPLv3+)": "GPL-3.0-or-later",
    "GNU Lesser General Public License v2 or later (LGPLv2+)": "LGPL-2.1-or-later",
    "LGPL-2.1+": "LGPL-2.1-or-later",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
#: Those whose metadata says no more than "BSD": by the text of the licence in their sources.
_READ = {"jinja2": "BSD-3-Clause", "nvidia-ml-py": "BSD-3-Clause"}


def write(path: Path, version: str, commit: Commit, wheels: Iterable[Wheel], artefacts: "Mapping[str, Path]") -> Path:
    """`artefacts`: the files that contain these parts, by name."""
    path.write_text(json.dumps(document(version, commit, wheels, artefacts), indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return path


def document(version: str, commit: Commit, wheels: Iterable[Wheel], artefacts: "Mapping[str, Path]") -> dict[str, Any]:
    parts: dict[tuple[str, str], list[Wheel]] = {}
    for one in wheels:
        parts.setdefault((one.pin.name, one.pin.version), []).append(one)
    packages = [*(_part(*key, found) for key, found in sorted(parts.items())), _shiv()]
    files = [
        {"SPDXID": _id("File", name), "fileName": f"./{name}", "checksums": _checksums(path)} for name, path in sorted(artefacts.items())
    ]
    seed = json.dumps([version, commit.name, files, [one["SPDXID"] for one in packages]])
    return {
        "spdxVersion": "SPDX-2.3",
        "SPDXID": "SPDXRef-DOCUMENT",
        "dataLicense": "CC0-1.0",
        "name": f"hostagent-{version}",
        "documentNamespace": f"urn:hostagent:spdx:{version}:{hashlib.sha256(seed.encode()).hexdigest()}",
        "creationInfo": {
            "created": datetime.fromtimestamp(commit.epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: hostagent-release"],
        },
        "packages": [_ourselves(version, commit), *packages],
        "files": files,
        "relationships": [
            _related("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-hostagent"),
            *(_related("SPDXRef-hostagent", "DEPENDS_ON", one["SPDXID"]) for one in packages),
            *(_related(_id("File", name), "GENERATED_FROM", "SPDXRef-hostagent") for name in sorted(artefacts)),
        ],
    }


def licence(metadata: Message) -> str:
    """An SPDX expression from the metadata of a wheel; NOASSERTION where it has none that is known."""
    if expression := str(metadata.get("License-Expression") or "").strip():
        return expression
    named = [line.rpartition(" :: ")[2] for line in metadata.get_all("Classifier", []) if line.startswith("License :: OSI Approved :: ")]
    free = str(metadata.get("License") or "").strip()
    for word in (*named, free):
        if word in _KNOWN:
            return _KNOWN[word]
    if name := _READ.get(str(metadata.get("Name")).lower(), ""):
        return name
    return free if _EXPRESSION.fullmatch(free) else _NO_ASSERTION


def _part(name: str, version: str, wheels: "list[Wheel]") -> dict[str, Any]:
    wheels_shown = ", ".join(sorted({f"{one.path.name} {one.sha256}" for one in wheels}))
    stated = licence(_metadata(wheels[0].path))
    return {**_of_an_index(name, version, stated), "comment": f"SHA-256 of the wheels: {wheels_shown}"}


def _shiv() -> dict[str, Any]:
    """Its bootstrap unpacks the single files."""
    return {**_of_an_index("shiv", importlib.metadata.version("shiv"), "BSD-2-Clause"), "comment": "In the single files, without its tools"}


def _of_an_index(name: str, version: str, stated: str) -> dict[str, Any]:
    purl = {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": f"pkg:pypi/{name}@{version}"}
    return {**_package(_id("Package", f"{name}-{version}"), name, version, stated), "externalRefs": [purl]}


def _ourselves(version: str, commit: Commit) -> dict[str, Any]:
    found = _package("SPDXRef-hostagent", "hostagent", version, "Apache-2.0")
    return {**found, "licenseConcluded": "Apache-2.0", "sourceInfo": f"git commit {commit.shown}"}


def _package(identity: str, name: str, version: str, stated: str) -> dict[str, Any]:
    return {
        "SPDXID": identity,
        "name": name,
        "versionInfo": version,
        "supplier": _NO_ASSERTION,
        "downloadLocation": _NO_ASSERTION,
        "filesAnalyzed": False,
        "licenseConcluded": _NO_ASSERTION,
        "licenseDeclared": stated,
        "copyrightText": _NO_ASSERTION,
    }


def _checksums(path: Path) -> list[dict[str, str]]:
    """SPDX asks for SHA-1 of each file, too."""
    content = path.read_bytes()
    found = {"SHA1": hashlib.sha1(content, usedforsecurity=False), "SHA256": hashlib.sha256(content)}
    return [{"algorithm": name, "checksumValue": one.hexdigest()} for name, one in found.items()]


def _metadata(path: Path) -> Message:
    with zipfile.ZipFile(path) as archive:
        (name,) = (one for one in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", one))
        return email.parser.BytesParser().parsebytes(archive.read(name))


def _id(kind: str, name: str) -> str:
    return f"SPDXRef-{kind}-{re.sub(r'[^A-Za-z0-9.-]', '-', name)}"


def _related(one: str, kind: str, other: str) -> dict[str, str]:
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
