"""What other programs say of our formats: promtool of the metrics, xmllint of JUnit, Chromium of nothing here (``make look``)."""

import subprocess

import pytest

from hostagent.report import HostIdentity
from hostagent.sinks import render
from tests import golden
from tests.real.conftest import need_real
from tests.unit.reports import HOSTILE, judgement, report

#: What Jenkins' xUnit plug-in takes from a tool that writes JUnit's format: elements, and their attributes.
_JUNIT = """
<!ELEMENT testsuites (testsuite*)>
<!ATTLIST testsuites name CDATA #IMPLIED time CDATA #IMPLIED tests NMTOKEN #IMPLIED failures NMTOKEN #IMPLIED errors NMTOKEN #IMPLIED>
<!ELEMENT testsuite (testcase*)>
<!ATTLIST testsuite name CDATA #REQUIRED tests NMTOKEN #REQUIRED failures NMTOKEN #REQUIRED errors NMTOKEN #REQUIRED
  skipped NMTOKEN #IMPLIED time CDATA #IMPLIED timestamp CDATA #IMPLIED hostname CDATA #IMPLIED id CDATA #IMPLIED package CDATA #IMPLIED>
<!ELEMENT testcase (skipped | error | failure | system-out | system-err)*>
<!ATTLIST testcase name CDATA #REQUIRED classname CDATA #IMPLIED time CDATA #IMPLIED>
<!ELEMENT skipped (#PCDATA)>
<!ATTLIST skipped type CDATA #IMPLIED message CDATA #IMPLIED>
<!ELEMENT error (#PCDATA)>
<!ATTLIST error type CDATA #IMPLIED message CDATA #IMPLIED>
<!ELEMENT failure (#PCDATA)>
<!ATTLIST failure type CDATA #IMPLIED message CDATA #IMPLIED>
<!ELEMENT system-out (#PCDATA)>
<!ELEMENT system-err (#PCDATA)>
"""
_OUTCOMES = ("fail", "warn", "unknown", "skip", "off", "pass")
_TEXTS = dict.fromkeys(("subject", "message", "found", "wanted", "headline", "code"), HOSTILE) | {"evidence": (HOSTILE, "]]>", "<![CDATA[")}
REPORTS = {name: golden.report(name) for name in golden.NAMED} | {
    "hostile": report(*(judgement(outcome=one, **_TEXTS) for one in _OUTCOMES), host=HostIdentity(*[HOSTILE * 1000] * 5)),
    "empty": report(),
}


@pytest.mark.parametrize("name", REPORTS)
def test_promtool_finds_nothing_to_say_about_the_metrics(name):
    promtool = need_real("promtool", "bash tests/real/install_promtool.sh")
    metrics = render(REPORTS[name], "prometheus").encode()
    done = subprocess.run([promtool, "check", "metrics"], input=metrics, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout + done.stderr) == (0, b"")


@pytest.mark.parametrize("name", REPORTS)
def test_xmllint_takes_the_junit_for_what_other_tools_write(name, tmp_path):
    xmllint = need_real("xmllint", "apt-get install libxml2-utils")
    (tmp_path / "junit.dtd").write_text(_JUNIT)
    (tmp_path / "report.xml").write_text(render(REPORTS[name], "junit"))
    options = ["--noout", "--nonet", "--dtdvalid", str(tmp_path / "junit.dtd")]
    done = subprocess.run([xmllint, *options, str(tmp_path / "report.xml")], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
