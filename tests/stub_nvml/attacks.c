/* What a hostile library would do to the process that loads it, to its parent and to the host.
 *
 * attack("NAME ARGUMENT") tries it and says what came of it: the name of the error, or "done". What it does is harmless where it
 * succeeds, but to its parent and to the files that it is given.
 */
#define _GNU_SOURCE
#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char said[512];

static const char *result(long returned)
{
    static const struct { int number; const char *name; } errors[] = {
        {EPERM, "EPERM"}, {EACCES, "EACCES"}, {ENOSYS, "ENOSYS"}, {ENOMEM, "ENOMEM"}, {EMFILE, "EMFILE"}, {EPIPE, "EPIPE"},
        {ENOENT, "ENOENT"}, {EINVAL, "EINVAL"}, {EXDEV, "EXDEV"}, {EFAULT, "EFAULT"}, {EFBIG, "EFBIG"},
    };
    if (returned >= 0)
        return "done";
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].number == errno)
            return errors[i].name;
    snprintf(said, sizeof said, "error %d", errno);
    return said;
}

/* The first bytes of a file, or the error. */
static const char *contents(const char *path)
{
    int file = open(path, O_RDONLY | O_NONBLOCK);
    if (file < 0)
        return result(-1);
    ssize_t size = read(file, said, 60);
    int failed = errno;
    close(file);
    errno = failed;
    if (size < 0)
        return result(-1);
    said[size] = 0;
    for (char *at = said; *at; at++)
        if (*at < ' ')
            *at = ' ';
    return said;
}

static int unix_socket(const char *path, int type, struct sockaddr_un *address, socklen_t *size)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    snprintf(address->sun_path, sizeof address->sun_path, "%s", path);
    *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (*path == '@')
        address->sun_path[0] = 0;
    else
        *size += 1;
    return socket(AF_UNIX, type, 0);
}

/* Whom the other end says that it saw. */
static const char *connected(const char *path, int type)
{
    struct sockaddr_un address;
    socklen_t size;
    int one = unix_socket(path, type, &address, &size);
    if (one < 0 || connect(one, (struct sockaddr *)&address, size) < 0)
        return result(-1);
    ssize_t heard = type == SOCK_STREAM ? read(one, said, 100) : 0;
    if (heard <= 0)
        return "connected";
    said[heard] = 0;
    return said;
}

static const char *bound(int family, int type)
{
    return result(socket(family, type, 0));
}

/* With the user id that its sender was started with, which is root's. */
static const char *credentials(const char *path)
{
    struct sockaddr_un address;
    socklen_t size;
    char byte = 'x', control[CMSG_SPACE(sizeof(struct ucred))] = {0};
    struct iovec bytes = {&byte, 1};
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    struct ucred root = {getpid(), 0, 0};
    int one = unix_socket(path, SOCK_STREAM, &address, &size);
    if (one < 0 || connect(one, (struct sockaddr *)&address, size) < 0)
        return result(-1);
    head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_CREDENTIALS, head->cmsg_len = CMSG_LEN(sizeof root);
    memcpy(CMSG_DATA(head), &root, sizeof root);
    return result(sendmsg(one, &message, 0));
}

/* A signal from the kernel to another process, when something comes through a pipe. */
static const char *owned(int how)
{
    int ends[2];
    struct f_owner_ex owner = {F_OWNER_PID, getppid()};
    if (pipe(ends) < 0)
        return result(-1);
    if (how == F_SETOWN_EX)
        return result(fcntl(ends[0], F_SETOWN_EX, &owner));
    if (how == F_SETSIG)
        return result(fcntl(ends[0], F_SETSIG, SIGKILL));
    if (how == F_SETOWN)
        return result(fcntl(ends[0], F_SETOWN, getppid()));
    int pid = getppid();
    return result(ioctl(ends[0], 0x8901 /* FIOSETOWN */, &pid));
}

static int child(void *unused)
{
    (void)unused;
    return 0;
}

static const char *forked(long returned)
{
    if (returned == 0)
        _exit(0);
    return result(returned);
}

static const char *cloned(int flags)
{
    char *stack = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    return result(clone(child, stack + 65536, flags, 0));
}

static int write_parent(const void *from, unsigned long where)
{
    struct iovec mine = {(void *)from, 1}, theirs = {(void *)where, 1};
    return (int)process_vm_writev(getppid(), &mine, 1, &theirs, 1, 0);
}

static const char *memory(void)
{
    size_t taken = 0;
    for (; taken < 64UL << 30; taken += 1UL << 28)
        if (mmap(0, 1UL << 28, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
            return result(-1);
    return "done";
}

static const char *files(void)
{
    static int open_now[100000];
    for (int i = 0; i < 100000; i++)
        if ((open_now[i] = dup(0)) < 0) {
            int failed = errno;
            while (i--)
                close(open_now[i]); /* or this process can open nothing any more */
            errno = failed;
            return result(-1);
        }
    return "done";
}

/* The numbers of 32-bit programs lead past a filter that knows 64-bit ones alone. */
static const char *old_numbers(void)
{
#ifdef __x86_64__
    long returned;
    __asm__ volatile("int $0x80" : "=a"(returned) : "a"(20) /* getpid */ : "memory");
    errno = (int)-returned;
    return result(returned < 0 ? -1 : 0);
#else
    errno = EPERM;
    return result(-1);
#endif
}

static const char *other_numbers(void)
{
#ifdef __x86_64__
    return result(syscall(0x40000000 | SYS_getpid));
#else
    errno = EPERM;
    return result(-1);
#endif
}

/* Out of a chroot by another one. */
static const char *escaped(const char *path)
{
    int out = open("/", O_RDONLY | O_DIRECTORY);
    mkdir("/dev/marks/in", 0777);
    if (chroot("/dev/marks") < 0 || fchdir(out) < 0)
        return result(-1);
    for (int i = 0; i < 64; i++)
        if (chdir("..") < 0)
            return result(-1);
    return chroot(".") < 0 ? result(-1) : contents(path);
}

static const char *ran(const char *path)
{
    int status = 0;
    int pid = fork();
    if (pid == 0) {
        execl(path, path, "-c", "exit 7", (char *)0);
        _exit(1);
    }
    if (pid < 0)
        return result(-1);
    waitpid(pid, &status, 0);
    return WEXITSTATUS(status) == 7 ? "done" : "started nothing";
}

/* Into the pipe to the parent: megabytes without end, or a thousand bytes, one every 20 ms. */
static const char *flood(const char *how)
{
    static char noise[1 << 20];
    int drips = !strcmp(how, "drip");
    struct stat found;
    for (int fd = 3; fd < 1024; fd++) {
        if (fstat(fd, &found) < 0 || !S_ISFIFO(found.st_mode))
            continue;
        memset(noise, strcmp(how, "zeros") ? 'x' : 0, sizeof noise);
        if (drips && write(fd, "\xe8\3\0\0", 4) < 0)
            return result(-1);
        while (write(fd, noise, drips ? 1 : sizeof noise) > 0)
            usleep(drips ? 20000 : 0);
        return result(-1);
    }
    return "no pipe";
}

static const char *reach(const char *name, const char *path);

const char *attack(const char *text)
{
    char name[64] = "", path[300] = "";
    int parent = getppid();
    sscanf(text, "%63s %299s", name, path);
    errno = 0;
#define ATTACK(called, call) \
    if (!strcmp(name, called)) \
        return call;
    ATTACK("kill", result(kill(parent, SIGKILL)))
    ATTACK("stop", result(kill(parent, SIGSTOP)))
    ATTACK("kill-group", result(kill(0, SIGCONT)))
    ATTACK("tkill", result(syscall(SYS_tkill, parent, SIGKILL)))
    ATTACK("tgkill", result(syscall(SYS_tgkill, parent, parent, SIGKILL)))
    ATTACK("sigqueue", result(sigqueue(parent, SIGKILL, (union sigval){0})))
    ATTACK("setown", owned(F_SETOWN))
    ATTACK("setown-ex", owned(F_SETOWN_EX))
    ATTACK("setsig", owned(F_SETSIG))
    ATTACK("fiosetown", owned(0))
    ATTACK("pidfd", result(syscall(434 /* pidfd_open */, parent, 0)))
    ATTACK("ptrace", result(ptrace(PTRACE_SEIZE, parent, 0, 0)))
    ATTACK("vm-write", result(write_parent(said, 4096)))
    ATTACK("renice", result(setpriority(PRIO_PROCESS, (id_t)parent, 19)))
    ATTACK("affinity", result(sched_setaffinity(parent, sizeof(cpu_set_t), &(cpu_set_t){{1}})))
    ATTACK("parents-limit", result(prlimit(parent, RLIMIT_NOFILE, 0, (struct rlimit *)said)))
    ATTACK("outlive", result(prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0)))
    ATTACK("setfsuid", setresuid(-1, 0, -1) < 0 ? result(-1) : "done")
    ATTACK("setuid", result(setuid(0)))
    ATTACK("setgroups", result(setgroups(1, &(gid_t){0})))
    ATTACK("raise-limit", result(setrlimit(RLIMIT_AS, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY})))
    ATTACK("fork", forked(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)))
    ATTACK("clone-user", cloned(CLONE_NEWUSER | CLONE_VM | SIGCHLD))
    ATTACK("clone3", forked(syscall(435 /* clone3 */, &(struct clone_args){.exit_signal = SIGCHLD}, sizeof(struct clone_args))))
    ATTACK("exec", result(execl(path, path, "-c", "exit 7", (char *)0)))
    ATTACK("run", ran(path))
    ATTACK("unshare", result(unshare(CLONE_NEWNS)))
    ATTACK("setns", result(setns(open("/proc/self/ns/mnt", O_RDONLY), 0)))
    ATTACK("mount", result(mount("none", path, "tmpfs", 0, "")))
    ATTACK("umount", result(umount2(path, MNT_DETACH)))
    ATTACK("open-tree", result(syscall(428 /* open_tree */, AT_FDCWD, path, 0)))
    ATTACK("chroot", escaped(path))
    ATTACK("module", result(syscall(SYS_init_module, said, 0UL, "")))
    ATTACK("finit-module", result(syscall(SYS_finit_module, 0, "", 0)))
    ATTACK("kexec", result(syscall(SYS_kexec_load, 0, 0, 0, 0)))
    ATTACK("reboot", result(syscall(SYS_reboot, 1, 2, 3, 0)))
    ATTACK("swapoff", result(syscall(SYS_swapoff, "/nowhere")))
    ATTACK("bpf", result(syscall(SYS_bpf, 0, said, 0)))
    ATTACK("perf", result(syscall(SYS_perf_event_open, said, 0, -1, -1, 0)))
    ATTACK("userfaultfd", result(syscall(SYS_userfaultfd, 0)))
    ATTACK("io-uring", result(syscall(425 /* io_uring_setup */, 1, said)))
    ATTACK("keyctl", result(syscall(SYS_keyctl, 0, -3, 1)))
    ATTACK("clock", result(syscall(SYS_clock_settime, CLOCK_REALTIME, &(struct timespec){-1, -1})))
    ATTACK("hostname", result(sethostname(said, 65)))
    ATTACK("old-numbers", old_numbers())
    ATTACK("other-numbers", other_numbers())
    return reach(name, path);
}

/* Files, memory, sockets, and the pipe to the parent. */
static const char *reach(const char *name, const char *path)
{
    struct sockaddr_un unused;
    socklen_t size;
    int file;
    ATTACK("write", result(open(path, O_WRONLY)))
    ATTACK("create", result(open(path, O_WRONLY | O_CREAT, 0666)))
    ATTACK("make", result(mknod(path, S_IFREG | 0666, 0)))
    ATTACK("device", result(mknod(path, S_IFCHR | 0666, makedev(1, 3))))
    ATTACK("link", result(symlink("/", path)))
    ATTACK("chmod", result(chmod(path, 0777)))
    ATTACK("remove", result(unlink(path)))
    ATTACK("truncate", result(truncate(path, 0)))
    ATTACK("read", contents(path))
    ATTACK("environ", (snprintf(said, sizeof said, "/proc/%d/environ", getppid()), contents(strdup(said))))
    ATTACK("parents-memory", (snprintf(said, sizeof said, "/proc/%d/mem", getppid()), result(open(said, O_RDWR))))
    ATTACK("freeze", result(ioctl(0, 0xC0045877 /* FIFREEZE */, 0))) /* of /dev/null: no file system that can be frozen */
    ATTACK("type", result(ioctl(0, 0x5412 /* TIOCSTI */, "x")))
    ATTACK("memory", memory())
    ATTACK("files", files())
    ATTACK("memfd", result(memfd_create("x", 0)))
    ATTACK("shared-memory", result(shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600)))
    ATTACK("connect", connected(path, SOCK_STREAM))
    ATTACK("datagram", connected(path, SOCK_DGRAM))
    ATTACK("credentials", credentials(path))
    ATTACK("listen", (file = unix_socket(path, SOCK_STREAM, &unused, &size), result(bind(file, (struct sockaddr *)&unused, size))))
    ATTACK("internet", bound(AF_INET, SOCK_STREAM))
    ATTACK("netlink", bound(AF_NETLINK, SOCK_RAW))
    ATTACK("packets", bound(AF_PACKET, SOCK_RAW))
    ATTACK("flood", flood(path))
    return "no such attack";
}
