"""One run of the command line, from its arguments to its exit code."""

import contextlib
import errno
import functools
import gc
import io
import os
from collections.abc import Callable, Sequence

import click

from hostagent import REPORT_BUGS_TO
from hostagent.cli import cli
from hostagent.cli.ending import Ended, deafen, end, listen
from hostagent.cli.exitcodes import UNKNOWN, is_plugin
from hostagent.cli.streams import NOT_WRITABLE, complain, open_streams, put, refuse
from hostagent.core.errors import HostagentError, did_you_mean, ended

USAGE, MISSING = 2, 1
_INTERRUPTED = 130
_PROGRAM, _CHECK, _SETUP = "hostagent", "check", "setup"
_COMPLETE = "_HOSTAGENT_COMPLETE"
#: A system call that this host refuses (seccomp, a security module, limits) is no fault of this program, nor is a module that is not
#: there or, for the same reasons, cannot be loaded.
_REFUSED = frozenset({errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN})
#: New objects before Python looks for garbage among the young ones, 700 of its own accord: what a start imports lives on, and
#: looking at it again and again costs 7 % of a run.
_GC_AFTER = 50_000

#: The exit code of a program that Slurm starts, where hostagent itself cannot run, by its arguments and why; None of every other command.
Spared = Callable[[list[str], str], "int | None"]


def nothing_spared(arguments: list[str], why: str) -> None:
    """Without programs of Slurm."""


def run(arguments: Sequence[str], spared: Spared = nothing_spared) -> int:
    """The exit code: what the command returned, or 2, of ``setup`` 1, of a plug-in of Nagios 3, of a program of Slurm what `spared` says.

    A user's mistake is one sentence; a bug keeps its traceback.
    """
    try:
        if not open_streams():
            complain("Error: there is no standard output.")
            return _failed(spared, arguments)
        gc.set_threshold(_GC_AFTER)
        listen()
        code = _exit_code(list(arguments), spared)
        deafen()
    except Ended as ended:
        return end(ended.number)
    return code


def _exit_code(arguments: list[str], spared: Spared = nothing_spared) -> int:
    failed = functools.partial(_failed, spared)
    try:
        return _call_click(arguments)
    except click.exceptions.Exit as done:  # --help, --version
        return done.exit_code
    except click.UsageError as error:
        complain(*(lines := _shown(error)))
        return failed(arguments, _sentence(lines)) if is_plugin(arguments) else int(getattr(error, "code", USAGE))
    except click.ClickException as error:
        complain(*(lines := _shown(error)))
        return failed(arguments, _sentence(lines))
    except HostagentError as error:
        next_step = [ended(error.next_step)] if error.next_step else []
        complain(f"Error: {ended(error.message)}", *(f"  {detail}" for detail in error.details), *next_step)
        return failed(arguments, ": ".join((error.message.rstrip(":"), *error.details[:1])))
    except KeyboardInterrupt:
        complain("Interrupted.")
        return _INTERRUPTED
    except Ended:
        raise
    except MemoryError:
        complain("Error: there is not enough memory.")
    except SystemError as error:  # a module of Python in C that had no memory for the exception itself
        complain(f"Error: Python itself failed ({error}; {_place(error)}), as it does without enough memory.")
    except BaseException as error:  # SystemExit too: a command returns its code
        if isinstance(error, ImportError) or (isinstance(error, OSError) and error.errno in _REFUSED):
            complain(f"Error: hostagent cannot run here: {error} ({_place(error)}).")
        elif isinstance(error, FileNotFoundError) and error.filename is None and _is_nowhere():
            complain("Error: the current directory has been deleted.", "Change to another one, or give every path from / on.")
        else:
            _tell_bug(error)
        return failed(arguments, cause=f"{type(error).__name__}: {error}")
    return failed(arguments)


def _failed(
    spared: Spared, arguments: Sequence[str], why: str = "hostagent could not run, and standard error says why", cause: str = ""
) -> int:
    """Where hostagent itself could not run. Callers of ``setup`` as TAO's script know no 2 but for usage. Nagios shows a
    plug-in's standard output alone. Slurm drains a node whose prolog or epilog fails. `cause`: of a bug.
    """
    if (code := spared(list(arguments), cause or why)) is not None:
        return code
    if is_plugin(arguments):
        with contextlib.suppress(Exception, Ended):
            from hostagent.outputs.line import for_nagios, one_line

            put(for_nagios(one_line(f"UNKNOWN: {why}")))
        return UNKNOWN
    return MISSING if arguments[:1] == [_SETUP] else USAGE


def _call_click(arguments: list[str]) -> int:
    """As click's own ``main``, but without its exit code 1 for every unknown exception."""
    try:
        if not arguments and (instruction := os.environ.get(_COMPLETE)):  # with arguments it would be exit 0 in place of a verdict
            from hostagent.cli.completion import complete

            return 0 if complete(cli, _PROGRAM, _COMPLETE, instruction) else USAGE
        with cli.make_context(_PROGRAM, arguments) as context:
            code = cli.invoke(context)
        return code if isinstance(code, int) else 0
    except OSError as error:  # click wrote a help
        if error.filename or not (isinstance(error, BrokenPipeError) or error.errno in NOT_WRITABLE):
            raise
        refuse(error)


def _shown(error: click.ClickException) -> list[str]:
    """The lines of click's own message, which names files; what is no command line at all is answered with the help."""
    if isinstance(error, click.NoSuchOption) and error.ctx:
        error = click.UsageError(f"no option {error.option_name}{_meant_option(error.option_name, error.ctx)}", error.ctx)
    shown = io.StringIO()
    error.show(shown)
    lines, message = shown.getvalue().rstrip("\n"), error.format_message()
    if lines.endswith(f"Error: {message}"):
        said = message.replace("\n\t", " ")  # the words that click would list one a line
        return [*lines.removesuffix(f"Error: {message}").split("\n")[:-1], f"Error: {said}"]
    return lines.split("\n")


def _sentence(lines: Sequence[str]) -> str:
    return lines[-1].removeprefix("Error: ")


def _meant_option(name: str, context: click.Context) -> str:
    """A hint at the closest option: of the command, without a command of ``check``; and at --format for kubectl's -o."""
    known = [one for param in context.command.get_params(context) for one in param.opts if one.startswith("--")]
    if name == "-o" and "--format" in known:
        return "; did you mean --format?"
    check = context.command.get_command(context, _CHECK) if isinstance(context.command, click.Group) and not context.parent else None
    if check and name in {one for param in check.params for one in param.opts}:
        return f"; did you mean '{_PROGRAM} {_CHECK} {name}'?"
    return did_you_mean(name, known)


def _is_nowhere() -> bool:
    """Whether the directory in which this process works was deleted: no relative path means anything there."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _place(error: BaseException) -> str:
    """Where the system refused, ``hostagent/sandbox/child.py:58 in start``."""
    with contextlib.suppress(Exception):
        from hostagent.core.crash import crash_lines

        return crash_lines(error)[-2]
    return "at the start"


def _tell_bug(error: BaseException) -> None:
    try:
        import traceback

        complain(*"".join(traceback.format_exception(error)).rstrip("\n").split("\n"))
    except Exception:  # no descriptor left to read that module by
        complain(f"{type(error).__name__} at {_place(error)}")
    complain(f"This is a bug in hostagent: please report it to {REPORT_BUGS_TO} with the lines above.")
