"""What flags, variables and a model's file ask for together."""

import pytest

from hostagent.profiles import profile
from hostagent.setup import tao
from hostagent.setup.request import Flags, Minimums, Names, RequestError, request_of

B = Minimums("580", "13.0", "1.19.0")


def asked(environment=None, required=("", "", ""), **flags):
    return request_of(Flags(**flags), environment or {}, required)


def test_without_a_word_it_is_the_later_generation():
    found = asked()
    assert (found.generation, found.backend, found.minimums, found.cuda_path) == ("B", "docker", B, "/usr/local/cuda-13.0")
    assert (found.variables, found.user, found.names("debian")) == ({}, "", Names())


def test_the_versions_are_those_of_the_built_in_profiles():
    exact, least = (profile.load(f"tao-{name}", site_file="").profile for name in ("7.0", "7.1"))
    assert (exact.driver.version, exact.cuda.toolkit) == (f"{tao.EXACT.driver}.*", f"{tao.EXACT.cuda}.*")
    assert exact.toolkit.version == f"=={tao.EXACT.toolkit.rpartition('-')[0]}"
    wanted = tuple(f">={one}" for one in tao.MINIMUMS)
    assert (least.driver.version, least.cuda.toolkit, least.toolkit.version) == wanted


@pytest.mark.parametrize(
    ("environment", "flags", "required", "expected"),
    [
        ({"TAO_MIN_DRIVER_VERSION": "590"}, {}, ("", "", ""), ("B", "590", "13.0", "1.19.0")),
        ({"TAO_MIN_DRIVER_VERSION": ""}, {}, ("", "", ""), ("B", "580", "13.0", "1.19.0")),
        ({"TAO_MIN_CUDA_VERSION": "12.8"}, {"minimums": (None, "13.1", None)}, ("", "", ""), ("B", "580", "13.1", "1.19.0")),
        ({"TAO_MIN_CUDA_VERSION": "12.8"}, {}, ("", "12.9", ""), ("B", "580", "12.9", "1.19.0")),
        ({}, {"minimums": (None, None, "1.17")}, ("", "", "1.18.0"), ("B", "580", "13.0", "1.17")),
        ({"TAO_MIN_DRIVER_VERSION": "x"}, {"minimums": ("590", None, None)}, ("", "", ""), ("B", "590", "13.0", "1.19.0")),
        ({"NVIDIA_DRIVER_BRANCH": "570"}, {}, ("", "", ""), ("A", "570", "13.0", "1.19.0")),
        ({"NVIDIA_DRIVER_BRANCH": ""}, {}, ("", "", ""), ("B", "580", "13.0", "1.19.0")),
        ({"NVIDIA_CONTAINER_TOOLKIT_VERSION": "1.18.1-1"}, {}, ("", "", ""), ("A", "580", "13.0", "1.18.1")),
        ({"NVIDIA_CONTAINER_TOOLKIT_VERSION": "1.18.1"}, {}, ("", "", ""), ("A", "580", "13.0", "1.18.1")),
        ({"NVIDIA_CONTAINER_TOOLKIT_VERSION": "1.20.0~rc.1-1"}, {}, ("", "", ""), ("A", "580", "13.0", "1.20.0~rc.1")),
        ({"NVIDIA_DRIVER_BRANCH": "570", "TAO_MIN_CUDA_VERSION": "12.8"}, {}, ("", "", ""), ("B", "580", "12.8", "1.19.0")),
        ({"NVIDIA_DRIVER_BRANCH": "570"}, {"minimums": (None, "12.8", None)}, ("", "", ""), ("B", "580", "12.8", "1.19.0")),
        ({"NVIDIA_DRIVER_BRANCH": "570"}, {}, ("", "12.8", ""), ("B", "580", "12.8", "1.19.0")),
        ({"NVIDIA_CUDA_PATH": "/opt/cuda"}, {"exact": True}, ("", "", ""), ("A", "580", "13.0", "1.19.0")),
        ({"TAO_MIN_DRIVER_VERSION": "590"}, {"exact": True}, ("", "", ""), ("A", "580", "13.0", "1.19.0")),
    ],
)
def test_who_wins(environment, flags, required, expected):
    found = asked(environment, required, **flags)
    assert (found.generation, *found.minimums) == expected


@pytest.mark.parametrize(
    "value", ["", " ", "abc", "580.", ".5", "5..8", "580-1", "580 ", "580\n", "v580", "-1", "\uff15\uff18\uff10", "580,590", "$(id)"]
)
def test_a_minimum_that_is_no_number_is_a_usage_error_that_says_where_it_stands(value):
    with pytest.raises(RequestError) as caught:
        asked(minimums=(None, value, None))
    wanted = f"Version requirements must contain only numeric dot-separated components: '{value}'"
    assert (caught.value.message, caught.value.code) == (wanted, 2)
    assert caught.value.detail == "It is the value of --min-cuda-version."


@pytest.mark.parametrize(
    "environment",
    [{"TAO_MIN_DRIVER_VERSION": "latest"}, {"NVIDIA_DRIVER_BRANCH": "5*"}, {"NVIDIA_CONTAINER_TOOLKIT_VERSION": "latest"}],
)
def test_so_is_a_variable_that_counts(environment):
    with pytest.raises(RequestError) as caught:
        asked(environment)
    assert (caught.value.code, caught.value.detail) == (2, f"It is the value of {next(iter(environment))}.")


@pytest.mark.parametrize("backend", ["", "slurm", "brev", "Docker", "docker ", "kubernetes,docker"])
def test_the_list_of_backends_is_closed(backend):
    with pytest.raises(RequestError) as caught:
        asked(backend=backend)
    assert (caught.value.message, caught.value.code) == (f"Unsupported backend: {backend}", 2)


def test_a_minimum_is_looked_at_before_the_backend_as_there():
    with pytest.raises(RequestError, match="numeric"):
        asked(backend="slurm", minimums=("x", None, None))


@pytest.mark.parametrize(("minimums", "required"), [((None, "13.1", None), ("", "", "")), ((None, None, None), ("590", "", ""))])
def test_exact_versions_have_no_minimums(minimums, required):
    with pytest.raises(RequestError, match="found --exact and --"):
        asked(required=required, exact=True, minimums=minimums)


def test_names_of_packages_are_those_of_the_family():
    said = {
        "NVIDIA_DRIVER_PACKAGE_DEBIAN": "nvidia-open-590",
        "NVIDIA_DRIVER_PACKAGE_SUSE": "nvidia-open-driver-G07",
        "NVIDIA_DRIVER_KMOD_RHEL": "kmod-nvidia-latest-dkms",
        "NVIDIA_CUDA_PACKAGE": "cuda-toolkit",
        "DOCKER_PACKAGE": "docker-ce",
    }
    found = asked(said)
    assert found.names("debian") == Names("nvidia-open-590", "", "cuda-toolkit", "docker-ce")
    assert found.names("rhel") == Names("", "kmod-nvidia-latest-dkms", "cuda-toolkit", "")
    assert found.names("suse") == Names("nvidia-open-driver-G07", "", "cuda-toolkit", "")
    assert found.names("") == Names("", "", "cuda-toolkit", "")
    assert asked({**said, "DOCKER_PACKAGE_DEBIAN": "docker.io"}).names("debian").docker == "docker.io"


def test_all_variables_of_the_script_are_kept_and_no_other():
    said = {"NVIDIA_CUDA_PATH": "/opt/a b", "TAO_MIN_DRIVER_VERSION": "590", "NVIDIA_DRIVER_BRANCH": "580", "HOME": "/root"}
    found = asked(said)
    assert found.variables == {name: value for name, value in said.items() if name != "HOME"}
    assert found.cuda_path == "/opt/a b"


@pytest.mark.parametrize(("environment", "user"), [({"SUDO_USER": "ann"}, "ann"), ({"SUDO_USER": "root"}, ""), ({"USER": "ann"}, "")])
def test_the_user_is_who_called_sudo_and_never_root(environment, user):
    assert asked(environment).user == user
