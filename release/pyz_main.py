"""What the single file runs first: chooses the Python and the cache, unpacks there what it holds, and starts hostagent from it.

Older Pythons read this file, too, to say that they are too old: nothing in it is newer than Python 3.6. Exit codes are hostagent's: 1 is a
verdict, so that whatever goes wrong here exits 2.
"""

import contextlib
import errno
import os
import stat
import sys

#: Of these very contents; written by `release.pyz`.
BUILD = "@BUILD@"
#: The entry that is unpacked.
_SITE = "site.zip"
WANTED = (3, 10)
#: Free space, in MB, that is enough to unpack, and to compile, what is in this file: where a disk fills up meanwhile, Python 3.11 leaves
#: modules that are cut off.
_UNPACKED, _COMPILED = 100, 40
ROOTS_CACHE = "/var/cache/hostagent"
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
#: Set where this file started another Python, which is to be the last.
_CHOSEN = "hostagent_python"


class RefusedError(Exception):
    """A sentence and the next step."""


def main() -> None:
    program = os.path.dirname(os.path.abspath(__file__))
    code = 2
    try:
        _use_a_new_python(program)
        site = _site(program)
        sys.path[:] = [site] + [one for one in sys.path if os.path.isabs(one) and one != program]
        import hostagent_start

        hostagent_start.start("pyz", program)
    except KeyboardInterrupt:
        code = 130
    except RefusedError as error:
        _say(str(error))
    except BaseException as error:
        _say(f"hostagent cannot start: {type(error).__name__}: {ascii(str(error))[:300]}.")
    finally:
        os._exit(code)


def _say(sentence: str, kind: str = "Error") -> None:
    """Past Python's buffers, which old ones have here, too."""
    with contextlib.suppress(OSError):  # closed
        os.write(2, f"{kind}: {sentence}\n".encode("utf-8", "backslashreplace"))


def _use_a_new_python(program: str) -> None:
    """Starts over where this Python is too old, or lets the caller's environment bring code in."""
    if sys.version_info >= WANTED:
        if not sys.flags.isolated and sys.executable and not _is_chosen():
            _start_over(sys.executable, program)
        return
    if not _is_chosen():
        for folder in ("/usr/bin", "/usr/local/bin"):
            for minor in range(30, WANTED[1] - 1, -1):
                _start_over(f"{folder}/python3.{minor}", program)
        for folder in os.environ.get("PATH", "").split(":"):
            if os.path.isabs(folder):
                _start_over(f"{folder}/python3", program)
    found = ".".join(str(one) for one in sys.version_info[:3])
    raise RefusedError(
        f"found Python {found} ({sys.executable}) and no newer one in /usr/bin or PATH, wanted 3.10 or newer. Install one: 'apt-get "
        "install python3.11' (Debian, Ubuntu) or 'dnf install python3.12' (RHEL)."
    )


def _is_chosen() -> bool:
    return _CHOSEN in sys._xoptions  # noqa: SLF001


def _start_over(python: str, program: str) -> None:
    if os.access(python, os.X_OK):
        with contextlib.suppress(OSError):  # the next one
            os.execv(python, [python, "-I", "-X", _CHOSEN, program, *sys.argv[1:]])  # noqa: S606


def _site(program: str) -> str:
    """The directory that holds hostagent, filled if this is its first start."""
    cache, failed, last = _cache(), "", ""
    if cache:
        try:
            return _filled(cache, program, lasts=True)
        except RefusedError as error:
            if os.geteuid() == 0:
                raise  # another user prepared it: root has to know
            failed = str(error)
        except OSError as error:
            if error.errno not in _CANNOT_WRITE:
                raise
            failed = f"found {cache}: {error.strerror}. Correct that" + ("." if cache == ROOTS_CACHE else ", or set XDG_CACHE_HOME.")
    for folder in _temporary():
        try:
            site = _filled(_temporary_in(folder), program, lasts=False)
        except (OSError, RefusedError) as error:
            last = getattr(error, "strerror", None) or str(error)
            continue
        if failed:
            _say(f"each start unpacks hostagent again, for want of a cache: {failed}", "Warning")
        return site
    tried = ", ".join(one for one in (cache, last) if one)
    raise RefusedError(
        f"found no directory that can be written and programs can be loaded from ({tried}), wanted one with {_UNPACKED} MB. Install "
        "hostagent's package, which needs none."
    )


#: A file system that is read-only, full or closed to this user.
_CANNOT_WRITE = (
    *(errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT, errno.EFBIG),
    *(errno.ENOTDIR, errno.ENOENT, errno.EIO, errno.ESTALE),
)


def _cache() -> str:
    """Root's is a fixed one, whatever the environment says; "" where a user has none. Root of a user namespace is a user of the host."""
    if os.geteuid() == 0 and os.stat("/").st_uid == 0:
        return ROOTS_CACHE
    folder = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(folder):
        home = os.environ.get("HOME", "") or _home()
        folder = os.path.join(home, ".cache")
    return os.path.join(folder, "hostagent") if os.path.isabs(folder) else ""


def _home() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        return ""


def _temporary() -> "list[str]":
    named = [] if os.geteuid() == 0 else [os.environ.get(name, "") for name in ("TMPDIR", "XDG_RUNTIME_DIR")]
    return [one for one in [*named, "/tmp", "/var/tmp", "/dev/shm", "/run"] if os.path.isabs(one)]  # noqa: S108


def _temporary_in(folder: str) -> str:
    """A new directory of this user alone, which goes when this process ends, and with it those that were forked from it."""
    import tempfile

    _refuse_writable_by_others(folder)
    made = tempfile.mkdtemp(prefix="hostagent-", dir=folder)
    try:
        if os.geteuid() == 0:
            os.chmod(made, 0o755)  # noqa: S103 # processes of hostagent that are root no more load modules, too
        _remove_at_the_end(made)
    except BaseException:
        os.rmdir(made)
        raise
    return made


def _filled(cache: str, program: str, lasts: bool) -> str:
    """`lasts`: it serves the next start, too, and only then is it worth to compile what is in it."""
    if os.statvfs(_existing(cache)).f_flag & os.ST_NOEXEC:
        raise OSError(errno.EACCES, "mounted noexec")
    _make(cache)
    build = os.path.join(cache, BUILD)
    site = os.path.join(build, "site-packages")
    umask = os.umask(0o022 if os.geteuid() == 0 else 0o077)
    try:
        while not _hold(build):
            _unpack(program, build)
        for one in (build, site):
            _refuse_of_others(one)
        if lasts:
            _survive_a_crash(program, build)
            _compile(build, site)
    finally:
        os.umask(umask)
    return site


def _has_room(folder: str, megabytes: int) -> bool:
    found = os.statvfs(folder)
    return not found.f_blocks or found.f_bavail * found.f_frsize >= megabytes * 1_000_000  # a file system in memory may say nothing


def _existing(path: str) -> str:
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return path


def _make(cache: str) -> None:
    """Made if it is not there; refused unless it, and every directory above it, is in this user's or root's hand."""
    mode = 0o755 if os.geteuid() == 0 else 0o700
    parent = os.path.dirname(cache)
    if cache != ROOTS_CACHE and not os.path.isdir(parent):
        os.makedirs(parent, 0o700)
    _refuse_writable_by_others(parent)
    try:
        os.mkdir(cache, mode)
        os.chmod(cache, mode)  # whatever the umask is
    except FileExistsError:
        pass
    except OSError:
        if not os.path.isdir(cache):
            raise
    _refuse_of_others(cache)


def _refuse_writable_by_others(folder: str) -> None:
    """Above a cache: as it is written, and as it is behind links. The owner of / is root, whatever a user namespace calls that one."""
    trusted = (0, os.geteuid(), os.stat("/").st_uid)
    for one in (os.path.abspath(folder), os.path.realpath(folder)):
        path = one
        while True:
            found = os.stat(path)
            is_closed = not found.st_mode & _OTHERS_WRITE or found.st_mode & stat.S_ISVTX
            if found.st_uid not in trusted or not is_closed:
                mode = stat.S_IMODE(found.st_mode)
                raise OSError(errno.EPERM, f"others can write {path}, of user {found.st_uid} with mode {mode:04o}")
            if path == os.path.dirname(path):
                break
            path = os.path.dirname(path)


def _refuse_of_others(path: str) -> None:
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & _OTHERS_WRITE:
        raise _not_ours(path, found)


def _not_ours(path: str, found: os.stat_result) -> RefusedError:
    kind = "directory" if stat.S_ISDIR(found.st_mode) else "link" if stat.S_ISLNK(found.st_mode) else "file"
    user = "root" if os.geteuid() == 0 else f"user {os.geteuid()}"
    return RefusedError(
        f"found {path} to be a {kind} of user {found.st_uid} with mode {stat.S_IMODE(found.st_mode):04o}, wanted a directory that {user} "
        "alone may write, because hostagent is started from it. Correct its owner and mode, or remove it."
    )


def _hold(build: str) -> bool:
    """Keeps other versions from removing what is unpacked, for as long as this process lives; False where nothing is. The
    programs that it starts, Ansible too, do not hold it.
    """
    import fcntl

    try:
        descriptor = _above_standard(os.open(build, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW))
    except FileNotFoundError:
        return False
    except OSError:
        raise _not_ours(build, os.lstat(build)) from None
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    try:
        is_there = os.path.samestat(os.fstat(descriptor), os.stat(build))
    except FileNotFoundError:
        is_there = False
    if not is_there:
        os.close(descriptor)
    return is_there


def _above_standard(descriptor: int) -> int:
    """The same, never one of the three that programs read and write, where those are closed."""
    import fcntl

    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    finally:
        os.close(descriptor)


def _unpack(program: str, build: str) -> None:
    """By shiv, which locks, unpacks elsewhere, and moves that into place. What is not whole gets no mark, and is compared."""
    import zipfile
    from pathlib import Path

    from _bootstrap import extract_site_packages  # type: ignore[import-not-found]

    _try_to_lock(os.path.dirname(build))
    if not _has_room(os.path.dirname(build), _UNPACKED):
        raise OSError(errno.ENOSPC, f"less than {_UNPACKED} MB free")
    try:
        with zipfile.ZipFile(program) as file, file.open(_SITE) as site, zipfile.ZipFile(site) as archive:
            extract_site_packages(archive, Path(build))
            names = archive.namelist()
    except BaseException:
        _remove_unfinished(build)
        raise
    if all(os.path.lexists(os.path.join(build, name)) for name in names):
        _write(os.path.join(build, "unpacked"), _boot())
    _remove_old(build)


def _remove_unfinished(build: str) -> None:
    """Unless another start unpacks there now, which has shiv's lock."""
    import shutil

    from _bootstrap.filelock import acquire_nix  # type: ignore[import-not-found]

    with contextlib.suppress(OSError):  # what is left, the next start writes over
        lock = acquire_nix(os.path.join(os.path.dirname(build), f".{os.path.basename(build)}_lock"))
        if lock is not None:
            shutil.rmtree(build + ".tmp", ignore_errors=True)
            os.close(lock)


def _try_to_lock(cache: str) -> None:
    """On a file system without locks shiv would try for ever."""
    import fcntl

    descriptor = os.open(cache, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        pass
    except OSError as error:
        raise OSError(errno.EACCES, "no locks") from error
    finally:
        os.close(descriptor)


def _survive_a_crash(program: str, build: str) -> None:
    """Files that were written shortly before a machine lost its power may be empty after it: they are compared once, in a later boot."""
    import shutil

    marker = os.path.join(build, "unpacked")
    try:
        with open(marker) as stream:
            text = stream.read()
    except FileNotFoundError:
        text = ""
    if text in ("compared", _boot()):
        return
    if _is_whole(program, build):
        _write(marker, "compared")
        return
    broken = build + ".broken"
    shutil.rmtree(broken, ignore_errors=True)
    os.rename(build, broken)
    shutil.rmtree(broken, ignore_errors=True)
    while not _hold(build):
        _unpack(program, build)


def _is_whole(program: str, build: str) -> bool:
    import zipfile
    import zlib

    with zipfile.ZipFile(program) as file, file.open(_SITE) as site, zipfile.ZipFile(site) as archive:
        for one in archive.infolist():
            try:
                with open(os.path.join(build, one.filename), "rb") as stream:
                    if zlib.crc32(stream.read()) != one.CRC:
                        return False
            except OSError:
                return False
    return True


def _boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id") as stream:
            return stream.read().strip()
    except OSError:
        return "unknown"


def _write(path: str, text: str) -> None:
    try:
        with open(path + f".{os.getpid()}", "w") as stream:
            stream.write(text)
        os.rename(path + f".{os.getpid()}", path)
    except OSError:
        pass  # it is compared again at the next start


def _compile(build: str, site: str) -> None:
    """Once per Python: processes that may not write cannot keep what they compile. Ansible's are thousands of modules, of which few run."""
    marker = os.path.join(build, f"compiled-{sys.implementation.cache_tag}")
    if os.path.exists(marker) or not os.access(site, os.W_OK):
        return
    if not _has_room(site, _COMPILED):
        sys.dont_write_bytecode = True
        return
    import compileall

    for name in os.listdir(site):
        path = os.path.join(site, name)
        if os.path.isfile(path):
            compileall.compile_file(path, quiet=2)
        elif not name.startswith(("_python", "ansible")):
            compileall.compile_dir(path, quiet=2)
    _write(marker, "")


def _remove_old(build: str) -> None:
    """Other versions that no process runs from or unpacks: each is as large as this one."""
    import fcntl
    import shutil

    cache = os.path.dirname(build)
    for name in os.listdir(cache):
        path, version = os.path.join(cache, name), os.path.splitext(name)[0] if name.endswith(".tmp") else name
        if not name.startswith("hostagent-") or version == BUILD or not os.path.isdir(path):
            continue
        held = path if version == name else os.path.join(cache, f".{version}_lock")
        with contextlib.suppress(OSError):  # it is in use
            descriptor = os.open(held, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                gone = os.path.join(cache, f"hostagent-{os.getpid()}.gone")
                os.rename(path, gone)
                shutil.rmtree(gone, ignore_errors=True)
            finally:
                os.close(descriptor)


def _remove_at_the_end(folder: str) -> None:
    """By a process of its own, because hostagent may be killed; it ends when no process has the other end of a pipe any more. Programs that
    hostagent starts have none.
    """
    import shutil

    ended, alive = (_above_standard(one) for one in os.pipe())
    child = os.fork()
    if child:
        os.close(ended)
        os.waitpid(child, 0)
        return
    try:
        import signal

        os.setsid()
        if os.fork():
            os._exit(0)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)
        os.chdir("/")
        nowhere = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nowhere, standard)
        os.close(alive)
        with contextlib.suppress(OSError):  # no /proc
            for name in os.listdir("/proc/self/fd"):
                if int(name) not in (0, 1, 2, ended):
                    _close(int(name))
        os.read(ended, 1)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os._exit(0)


def _close(descriptor: int) -> None:
    with contextlib.suppress(OSError):  # the list's own
        os.close(descriptor)


if __name__ == "__main__":
    main()
