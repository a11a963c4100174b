"""Write what the lock files name as a software bill of materials, CycloneDX 1.6 in JSON: what `make sbom` calls.

    python scripts/sbom.py FILE

What `requirements.lock` names is required, what the other locks name is for tests alone ("excluded"). Each file of a
package is a distribution with its SHA-256. No time and no serial number: the same locks give the same file.
"""

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from install import ROOT, pinned_version, read_pins, without_hashes

LOCKS = {"requirements.lock": "required", "requirements-dev.lock": "excluded", "requirements-peers.lock": "excluded"}


def component(name: str, pin: str, scope: str) -> dict[str, Any]:
    version, marker = pinned_version(pin), without_hashes(pin).partition(";")[2].strip()
    package = f"pkg:pypi/{name}@{version}"
    files = [{"alg": "SHA-256", "content": found} for found in re.findall(r"--hash=sha256:(\w+)", pin)]
    return {
        "type": "library",
        "bom-ref": package,
        "name": name,
        "version": version,
        "scope": scope,
        "purl": package,
        "externalReferences": [{"type": "distribution", "url": package, "hashes": [one]} for one in files],
    } | ({"properties": [{"name": "langladder:marker", "value": marker}]} if marker else {})


def bill() -> dict[str, Any]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = {"type": "application", "bom-ref": project["name"], "name": project["name"], "version": project["version"]}
    pins = [(*pin, scope) for lock, scope in LOCKS.items() for pin in read_pins(ROOT / lock).items()]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own | {"licenses": [{"license": {"id": project["license"]}}]}},
        "components": [component(*pin) for pin in pins],
    }


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(bill(), indent=2) + "\n", encoding="utf-8")
    print(f"{len(bill()['components'])} packages → {path}")
