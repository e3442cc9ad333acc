"""`requests` as the client of an API server has it: without what no such request uses, and with all of it for whoever else asks."""

import json
import subprocess
import sys

import pytest

HEAVY = ("charset_normalizer", "chardet", "idna", "backports.zstd")


def said(code, folder):
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60, cwd=folder, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_it_comes_without_what_is_never_asked_for(tmp_path):
    code = f"import json, sys; from hostagent.kube.requesting import imported; imported(); print(json.dumps([n for n in {HEAVY} if n in sys.modules]))"
    assert said(code, tmp_path) == []


def test_all_of_it_is_there_afterwards(tmp_path):
    code = """
import json
from hostagent.kube.requesting import imported
requests = imported()
import charset_normalizer, idna
host = requests.Request("GET", "https://b\\u00fccher.example/").prepare().url
print(json.dumps([host, idna.encode("b\\u00fccher").decode(), charset_normalizer.from_bytes(b"a").best().encoding, imported() is requests]))
"""
    assert said(code, tmp_path) == ["https://xn--bcher-kva.example/", "xn--bcher-kva", "ascii", True]


@pytest.mark.parametrize("wanted", ["chardet", "charset_normalizer", "idna"])
def test_a_release_that_insists_on_it_gets_it(tmp_path, wanted):
    (tmp_path / wanted).mkdir()
    (tmp_path / wanted / "__init__.py").write_text("detect = encode = 1\n")
    (tmp_path / "requests").mkdir()
    (tmp_path / "requests" / "__init__.py").write_text(f"from {wanted} import {'encode' if wanted == 'idna' else 'detect'} as found\n")
    code = "import json, sys; sys.path.insert(0, ''); from hostagent.kube.requesting import imported; print(json.dumps(imported().found))"
    assert said(code, tmp_path) == 1
