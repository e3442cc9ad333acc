"""``hostagent setup``: the flags, lines and exit codes of TAO's ``setup-nvidia-gpu-host.sh``."""

from typing import Any

import click

from hostagent.cli import SETTINGS, examples
from hostagent.cli.options import completed, evidence, evidence_options, profile_option
from hostagent.cli.setuplines import print_lines, read_host
from hostagent.cli.setuprequest import ScriptCommand, asked_for
from hostagent.cli.streams import say

_EXAMPLES = examples(
    "hostagent setup",
    "hostagent setup --backend kubernetes --check-only",
    "hostagent setup --min-driver-version 590 --from host.json",
    "hostagent setup --from host.json --json",
    "hostagent setup --from host.json --print-preflight",
)
_SHIMS = click.Path()


@click.command("setup", cls=ScriptCommand, context_settings=SETTINGS, epilog=_EXAMPLES)
@click.option(
    "--backend",
    default="docker",
    show_default=True,
    help="What runs TAO's jobs here: docker, local-docker, kubernetes or k8s.",
    metavar="NAME",
    shell_complete=completed("backends"),
)
@click.option("--install/--check-only", "installing", default=False, help="Install what is missing, or look only. The last one counts.")
@click.option("-y", "--yes", is_flag=True, help="With --install: do not ask.")
@click.option("--min-driver-version", "driver", help="The driver, at least.", metavar="V")
@click.option("--min-cuda-version", "cuda", help="The CUDA toolkit, at least.", metavar="V")
@click.option("--min-container-toolkit-version", "toolkit", help="The Container Toolkit, at least.", metavar="V")
@click.option("--skip-docker-install", is_flag=True, help="With --install: leave out Docker itself.")
@click.option("--skip-docker-config", is_flag=True, help="With --install: leave Docker's configuration as it is.")
@click.option("--skip-docker-group", is_flag=True, help="With --install: add no user to the group docker.")
@click.option("--exact", is_flag=True, help="Compare as TAO 7.0 does: exactly this branch and these versions, not minimums.")
@click.option(
    "--requirements",
    type=click.Path(allow_dash=True),
    help="Minimums of a TAO model: its skill_info.yaml; - for standard input. The flags above win over it.",
    metavar="FILE",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report of 'hostagent check' as JSON, with one more object: setup.")
@click.option("--print-preflight", is_flag=True, help="Print the arguments for TAO's launch preflight, from this host's facts.")
@click.option("--write-shim", type=_SHIMS, help="Replace the script below DIR, a TAO skill bank, by this command.", metavar="DIR")
@click.option("--remove-shim", type=_SHIMS, help="Undo that: restore the original script.", metavar="DIR")
@profile_option("Built-in profile, or a file: what else hostagent knows is judged by it. Default: the site file's, else 'default'.")
@evidence_options
def command(
    as_json: bool,
    installing: bool,
    yes: bool,
    print_preflight: bool,
    write_shim: str | None,
    remove_shim: str | None,
    profile_name: str,
    host_root: str | None,
    root: str | None,
    kernel: str,
    snapshot: str | None,
    deadline_s: float,
    debug: bool,
    **asked: Any,
) -> int:
    """Check whether this host is ready for TAO, with the output of its setup-nvidia-gpu-host.sh, or make it so.

    Exit 0: the backend has all that it needs. 1: something is missing, or hostagent could not run. 2: usage.
    """
    request = asked_for(click.get_current_context(), snapshot, asked)
    place = evidence(host_root, root, kernel, snapshot, deadline_s, debug=debug)
    _refuse_two({"--install": installing, "--print-preflight": print_preflight}, {"--write-shim": write_shim, "--remove-shim": remove_shim})
    if write_shim is not None or remove_shim is not None:
        return _shims(write_shim, remove_shim, exact=asked["exact"])
    if installing:
        from hostagent.cli.setupinstall import install

        return install(request, place, profile_name, yes=yes, as_json=as_json)
    if print_preflight:
        from hostagent.setup.preflight import preflight

        say(*preflight(read_host(request, place, profile_name, asking=False).facts))
        return 0
    return print_lines(request, read_host(request, place, profile_name), as_json=as_json)


def _shims(write: str | None, remove: str | None, *, exact: bool) -> int:
    from hostagent.cli.setupshim import remove_shim, write_shim

    return write_shim(write, exact=exact) if write is not None else remove_shim(remove or "")


def _refuse_two(flags: dict[str, bool], folders: "dict[str, str | None]") -> None:
    named = [flag for flag, is_asked in flags.items() if is_asked] + [flag for flag, folder in folders.items() if folder is not None]
    if len(named) > 1:
        raise click.UsageError(f"found {' and '.join(named)}, wanted one of them")
    if empty := [flag for flag, folder in folders.items() if folder == ""]:  # of a variable that is not set: never this folder instead
        raise click.UsageError(f"found {empty[0]} '', wanted a folder")
