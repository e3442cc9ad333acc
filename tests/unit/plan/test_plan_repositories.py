"""Repositories, keys, pins, repair: what is laid, when it counts as there, and what stands against it."""

from dataclasses import replace

import pytest

from hostagent.core.unread import Unread, UnreadError
from hostagent.domains.packages.read_apt import parse_sources_deb822, parse_sources_list
from hostagent.domains.packages.read_version_locks import parse_preferences
from hostagent.facts.installation import ConfigFile, InstalledPackage
from hostagent.plan.model import Choices, DriverChoice, Key, ToolkitChoice, Write
from hostagent.plan.repositories import laid, repository_steps
from tests.plan_driver import with_module
from tests.plan_fakes import given
from tests.plan_hosts import made_view

CUDA = "https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/x86_64/"
TOOLKIT = "https://nvidia.github.io/libnvidia-container/stable/deb/amd64/"
DRIVER = DriverChoice(
    wanted=True,
    branch="580",
    version="580.142",
    packages=(("nvidia-utils-580", "580.142-1ubuntu1"),),
    removed=("nvidia-utils-570",),
    pinned=("*nvidia*-580",),
)
BOTH = Choices(
    DRIVER, ToolkitChoice(True, "1.19.0", (("nvidia-container-toolkit", "1.19.0-1"), ("nvidia-container-toolkit-base", "1.19.0-1")))
)
ALONE = BOTH._replace(driver=DriverChoice(wanted=False))


def host(*, sources=(), keys=(), locks=(), files=(), packages=(), **over):
    """Of the readers: `sources` are files of apt by path, `keys` keyrings with a key in them."""
    view = made_view("ubuntu2404")
    parse = {True: parse_sources_deb822, False: parse_sources_list}
    read = tuple(one for path, text in sources for one in parse[path.endswith(".sources")](text, path))
    texts = tuple(ConfigFile(path, text, 0o644, 0, 0) for path, text in (*sources, *files))
    facts = replace(view.packages, apt_sources=read, apt_keys=tuple((path, "ab" * 8) for path in keys), locks=tuple(locks), **over)
    return replace(
        view, packages=facts, installation=replace(view.installation, files=texts, packages=(*view.installation.packages, *packages))
    )


def planned(view, choices=BOTH, **overlay):
    return repository_steps(given(view, overlay=overlay or None), choices)


def todo(view, choices=BOTH, **overlay):
    return [step.id for step in planned(view, choices, **overlay).steps if not step.probe.done(view)]


def with_(view, step):
    """The host as the readers see it once this step of a file, or of a key, is done."""
    sources, keys, locks = list(view.packages.apt_sources), list(view.packages.apt_keys), list(view.packages.locks)
    files = {one.path: one for one in view.installation.files}
    for one in step.do:
        if isinstance(one, Key):
            keys.append((one.path, "ab" * 8))
        elif one.path.startswith("/etc/apt/sources"):
            parse = parse_sources_deb822 if one.path.endswith(".sources") else parse_sources_list
            sources = [known for known in sources if known.file != one.path] + list(parse(one.content, one.path))
        else:
            locks += parse_preferences(one.content, one.path)
        if isinstance(one, Write):
            files[one.path] = ConfigFile(one.path, one.content, one.mode, 0, 0)
    packages = replace(view.packages, apt_sources=tuple(sources), apt_keys=tuple(keys), locks=tuple(locks))
    return replace(view, packages=packages, installation=replace(view.installation, files=tuple(files.values())))


def test_from_nothing_each_file_is_to_do_and_once_laid_it_is_done_by_what_readers_see():
    view = host()
    steps = [step for step in planned(view).steps if step.kind in ("key", "file")]
    assert [step.id for step in steps] == [
        *("repositories.key-cuda", "repositories.key-toolkit", "repositories.cuda", "repositories.toolkit"),
        *("repositories.pin-driver", "repositories.pin-toolkit"),
    ]
    for step in steps:
        assert not step.probe.done(view)
        view = with_(view, step)
        if step.id not in ("repositories.key-cuda", "repositories.key-toolkit"):  # a key is seen once a source names it
            assert step.probe.done(view)
    assert todo(view) == ["repositories.refresh", "repositories.download"]
    assert laid(given(view), BOTH) == ()


def test_what_is_laid_before_the_package_manager_is_asked_are_the_very_files_of_later():
    view = host()
    steps = planned(view).steps
    later = [one for step in steps if step.kind in ("key", "file") for one in step.do]
    assert list(laid(given(view), BOTH)) == later


def test_a_repository_that_the_host_has_with_a_key_is_not_written_again():
    keyring = "/usr/share/keyrings/cuda-archive-keyring.gpg"
    line = f"deb [signed-by={keyring}] {CUDA} /\n"
    there = host(sources=[("/etc/apt/sources.list.d/cuda-ubuntu2404-x86_64.list", line)], keys=[keyring])
    assert not {"repositories.cuda", "repositories.key-cuda", "repositories.conflicts"} & set(todo(there))
    keyless = host(sources=[("/etc/apt/sources.list.d/cuda-ubuntu2404-x86_64.list", line)])
    assert {"repositories.cuda", "repositories.key-cuda", "repositories.conflicts"} <= set(todo(keyless))


@pytest.mark.parametrize(
    ("path", "text", "kept"),
    [
        (
            "/etc/apt/sources.list.d/libnvidia-container.list",
            f"# by hand\ndeb {TOOLKIT} /\ndeb http://other/ stable main\n",
            "deb http://other/ stable main",
        ),
        ("/etc/apt/sources.list.d/old.list", f"deb [trusted=yes] https://user:word@{TOOLKIT[8:]} /\n", ""),
        (
            "/etc/apt/sources.list.d/old.sources",
            f"Types: deb\nURIs: {TOOLKIT}\nSuites: /\nEnabled: yes\nSigned-By: /gone.gpg\n\nTypes: deb\nURIs: http://other/\nSuites: stable\nComponents: main\n",
            "URIs: http://other/",
        ),
    ],
)
def test_an_old_list_with_another_key_is_put_out_of_force_and_all_else_in_it_stays(path, text, kept):
    view = host(sources=[(path, text)])
    (step,) = (step for step in planned(view, ALONE).steps if step.id == "repositories.conflicts")
    (write,) = step.do
    assert (write.path, kept in write.content) == (path, True)
    assert "by hand" not in text or "# by hand\n" in write.content
    after = with_(view, step)
    assert step.probe.done(after)
    assert all(not one.enabled for one in after.packages.apt_sources)


@pytest.mark.parametrize(
    "text",
    [
        "Types: deb\nURIs: file:/srv/stub/toolkit\nSuites: ./\nSigned-By: /usr/share/keyrings/stub.gpg\n",
        "Types: deb\nURIs: http://a/ file:/srv/stub/toolkit/\nSuites: /\nSigned-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQ==\n -----END PGP PUBLIC KEY BLOCK-----\n",
    ],
)
def test_a_mirror_that_the_host_has_already_is_not_written_again(text):
    overlay = {"install": {"repositories": {"toolkit": {"url": "file:/srv/stub/toolkit", "key": "/k.gpg"}}}}
    view = host(files=[("/etc/apt/sources.list.d/stub.sources", text)])
    assert "repositories.toolkit" not in todo(view, ALONE, **overlay)
    keyless = host(files=[("/etc/apt/sources.list.d/stub.list", "deb [trusted=yes] file:/srv/stub/toolkit /\n")])
    assert {"repositories.toolkit", "repositories.conflicts"} <= set(todo(keyless, ALONE, **overlay))


def test_mirrors_files_and_keys_of_the_profile_are_taken_as_they_are():
    overlay = {"install": {"repositories": {"toolkit": {"url": "file:/srv/stub/toolkit", "key": "/etc/hostagent/mirror.asc"}}}}
    view = host()
    steps = {step.id: step for step in planned(view, ALONE, **overlay).steps}
    assert steps["repositories.key-toolkit"].do == (Key("/usr/share/keyrings/hostagent-toolkit.gpg", source="/etc/hostagent/mirror.asc"),)
    assert "URIs: file:/srv/stub/toolkit/\n" in steps["repositories.toolkit"].do[0].content
    for name in ("repositories.key-toolkit", "repositories.toolkit"):
        view = with_(view, steps[name])
    assert not {"repositories.key-toolkit", "repositories.toolkit"} & set(todo(view, ALONE, **overlay))


def test_a_key_that_cannot_be_checked_and_a_repository_that_is_not_there_are_refused():
    trixie = made_view("debian13", arch="aarch64")
    assert [one.id for one in planned(trixie).refusals] == ["plan.no-key"]
    assert not planned(trixie, install={"repositories": {"cuda": {"key": "/k.gpg"}}}).refusals
    plan9 = replace(made_view("ubuntu2404"), os=replace(made_view("ubuntu2404").os, id="arch"))
    assert [one.id for one in planned(plan9).refusals] == ["plan.no-repository"]


def test_a_distributions_own_driver_needs_no_repository_of_nvidias():
    own = BOTH._replace(driver=replace(DRIVER, origin="distribution"), toolkit=ToolkitChoice(wanted=False))
    assert todo(host(), own) == ["repositories.pin-driver", "repositories.refresh", "repositories.download"]


def test_without_a_hold_the_branch_alone_is_pinned():
    (step,) = (step for step in planned(host(), install={"hold": False}).steps if "pin" in step.id)
    assert "Pin: version 580.*\n" in step.do[0].content


def test_a_pin_at_another_version_is_written_anew():
    old = parse_preferences(
        "Package: *nvidia*-580\nPin: version 580.126.09-*\nPin-Priority: 1001\n", "/etc/apt/preferences.d/hostagent-driver"
    )
    assert "repositories.pin-driver" in todo(host(locks=old))


def test_an_interrupted_database_is_repaired_first_and_one_that_is_whole_has_no_such_step():
    half = InstalledPackage("libx", "1-1", "amd64", "half-configured", held=False, automatic=False)
    for view in (host(interrupted=True), host(packages=[half])):
        steps = planned(view, BOTH).steps
        assert steps[0].id == "repositories.repair"
        assert [run.argv[0] for run in steps[0].do] == ["dpkg", "apt-get"]
        assert "--no-remove" in steps[0].do[1].argv
        assert planned(view, ALONE._replace(toolkit=ToolkitChoice(wanted=False))).steps[0].id == "repositories.repair"
    assert all(step.id != "repositories.repair" for step in planned(host()).steps)


def test_refresh_and_download_are_done_once_the_packages_are_there_and_those_to_remove_are_not():
    names = (
        ("nvidia-utils-580", "580.142-1ubuntu1"),
        ("nvidia-container-toolkit", "1.19.0-1"),
        ("nvidia-container-toolkit-base", "1.19.0-1"),
    )
    there = [InstalledPackage(name, version, "amd64", "installed", held=False, automatic=False) for name, version in names]
    fetch = {"repositories.refresh", "repositories.download"}
    assert fetch <= set(todo(host()))
    done = with_module(host(packages=there), "580.142")
    programs = tuple((f"/usr/bin/{name}", True) for name in ("nvidia-container-runtime", "nvidia-ctk"))
    done = replace(done, toolkit=replace(done.toolkit, binaries=programs))
    assert not fetch & set(todo(done))
    assert fetch <= set(todo(host(packages=there))), "its libraries are gone: they have to come once more"
    assert fetch <= set(todo(host(packages=[*there, replace(there[0], name="nvidia-utils-570", version="570.1-1")])))


def test_what_could_not_be_read_stops_the_decision():
    view = host()
    for field in ("apt_sources", "apt_keys", "interrupted"):
        broken = replace(view, packages=replace(view.packages, **{field: Unread("denied", field)}))
        if field == "apt_keys":  # only a keyring is looked for in them: it is not there as far as anybody knows
            assert "repositories.key-cuda" in todo(broken)
            continue
        with pytest.raises(UnreadError):
            planned(broken)
