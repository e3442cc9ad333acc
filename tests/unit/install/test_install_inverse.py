"""The way back of packages: what comes back, what goes, what somebody changed since and stays."""

from hostagent.install.inverse import argv, inverse, marks


def package(version, state="installed", *, held=False, automatic=False):
    return {"version": version, "state": state, "held": held, "automatic": automatic}


def test_what_changed_comes_back_and_what_is_new_goes():
    before = {"a:amd64": package("1"), "b:amd64": package("1")}
    after = {"a:amd64": package("2"), "c:all": package("1")}
    found = inverse(before, after, after)
    assert found.back == (("a:amd64", "1"), ("b:amd64", "1"))
    assert found.removed == ("c:all",)
    assert found.kept == ()


def test_what_somebody_changed_since_stays():
    found = inverse({"a:amd64": package("1")}, {"a:amd64": package("2")}, {"a:amd64": package("3")})
    assert (found.back, found.removed, found.kept) == ((), (), ("a:amd64",))


def test_of_a_run_that_did_not_end_whatever_differs_is_its_own():
    assert inverse({"a:amd64": package("1")}, None, {"a:amd64": package("3")}).back == (("a:amd64", "1"),)


def test_a_package_that_is_not_configured_needs_no_file_of_it():
    now = {"a:amd64": package("1", "half-configured")}
    assert inverse({"a:amd64": package("1")}, None, now).is_empty
    broken = {"a:amd64": package("1", "half-installed")}
    assert inverse({"a:amd64": package("1")}, None, broken).back == (("a:amd64", "1"),)


def test_configuration_that_a_new_package_left_goes_too():
    assert inverse({}, None, {"a:amd64": package("1", "config-files")}).removed == ("a:amd64",)


def test_one_transaction_asks_no_repository_and_no_pin():
    words = argv(["/var/lib/hostagent/runs/1/packages/a_1_amd64.deb"], ["b:all", "c:i386"], 5)
    assert words[-4:] == ("install", "/var/lib/hostagent/runs/1/packages/a_1_amd64.deb", "b-", "c:i386-")
    assert {"Dir::Etc::sourceparts=/dev/null", "Dir::Etc::preferencesparts=/dev/null", "--purge"} <= set(words)


def test_marks_and_holds_are_those_of_before():
    before = {"a:amd64": package("1", held=True), "b:all": package("1", automatic=True), "gone:all": package("1", held=True)}
    now = {"a:amd64": package("1", automatic=True), "b:all": package("1", held=True)}
    assert marks(before, now) == (
        ("apt-mark", "auto", "b"),
        ("apt-mark", "manual", "a:amd64"),
        ("apt-mark", "hold", "a:amd64"),
        ("apt-mark", "unhold", "b"),
    )
