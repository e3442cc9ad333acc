"""System calls that a sandbox refuses, with their numbers (Linux 6.17: unistd_64.h of x86, unistd.h of asm-generic). Data only."""

from collections.abc import Mapping

#: name, number on x86_64, number on aarch64; "-" where a machine has none. Lines with "#" say why.
_ALWAYS = """
# Other programs and processes.
execve 59 221; execveat 322 281; fork 57 -; vfork 58 -; tkill 200 130; rt_sigqueueinfo 129 138; pidfd_open 434 434;
pidfd_send_signal 424 424; pidfd_getfd 438 438; ptrace 101 117; process_vm_readv 310 270; process_vm_writev 311 271;
process_madvise 440 440; process_mrelease 448 448; kcmp 312 272; setpriority 141 140; ioprio_set 251 30;
migrate_pages 256 238;
# The tree of files: other mounts, another root, other namespaces.
mount 165 40; umount2 166 39; move_mount 429 429; open_tree 428 428; open_tree_attr 467 467; fsopen 430 430;
fsconfig 431 431; fsmount 432 432; fspick 433 433; mount_setattr 442 442; pivot_root 155 41; chroot 161 51;
unshare 272 97; setns 308 268; open_by_handle_at 304 265; fanotify_init 300 262; fanotify_mark 301 263;
# Persistent changes of file systems. Writing to existing files is limited by their permissions and by Landlock.
creat 85 -; mknod 133 -; mknodat 259 33; mkdir 83 -; mkdirat 258 34; unlink 87 -; unlinkat 263 35; rmdir 84 -;
rename 82 -; renameat 264 38; renameat2 316 276; link 86 -; linkat 265 37; symlink 88 -; symlinkat 266 36; chmod 90 -;
fchmod 91 52; fchmodat 268 53; fchmodat2 452 452; chown 92 -; lchown 94 -; fchown 93 55; fchownat 260 54;
truncate 76 45; ftruncate 77 46; fallocate 285 47; setxattr 188 5; lsetxattr 189 6; fsetxattr 190 7; setxattrat 463 463;
removexattr 197 14; lremovexattr 198 15; fremovexattr 199 16; removexattrat 466 466; file_setattr 469 469; utime 132 -;
utimes 235 -; utimensat 280 88; futimesat 261 -; quotactl 179 60; quotactl_fd 443 443;
# Memory that outlives its process, or that no limit covers.
memfd_create 319 279; memfd_secret 447 447; shmget 29 194; shmat 30 196; shmctl 31 195; semget 64 190; semop 65 193;
semctl 66 191; semtimedop 220 192; msgget 68 186; msgsnd 69 189; msgrcv 70 188; msgctl 71 187; mq_open 240 180;
mq_unlink 241 181;
# The kernel itself.
bpf 321 280; perf_event_open 298 241; init_module 175 105; finit_module 313 273; delete_module 176 106;
kexec_load 246 104; kexec_file_load 320 294; reboot 169 142; swapon 167 224; swapoff 168 225; userfaultfd 323 282;
syslog 103 116; acct 163 89; vhangup 153 58; iopl 172 -; ioperm 173 -; settimeofday 164 170; clock_settime 227 112;
clock_adjtime 305 266; adjtimex 159 171; sethostname 170 161; setdomainname 171 162;
# No filter sees its requests.
io_uring_setup 425 425; io_uring_enter 426 426; io_uring_register 427 427;
# Privileges that were dropped.
setuid 105 146; setgid 106 144; setreuid 113 145; setregid 114 143; setresuid 117 147; setresgid 119 149;
setfsuid 122 151; setfsgid 123 152; setgroups 116 159; capset 126 91; lsm_set_self_attr 460 460; keyctl 250 219;
add_key 248 217; request_key 249 218;
# Sockets but a stream to a unix socket. A message can carry the user id that its sender had before.
socketpair 53 199; bind 49 200; listen 50 201; accept 43 202; accept4 288 242; sendmsg 46 211; sendmmsg 307 269;
"""
#: Refused by their arguments, which `hostagent.sandbox.seccomp` has.
_BY_ARGUMENTS = """
kill 62 129; tgkill 234 131; rt_tgsigqueueinfo 297 240; clone 56 220; clone3 435 435; open 2 -; openat 257 56;
openat2 437 437; socket 41 198; connect 42 203; prctl 157 167; prlimit64 302 261; sched_setparam 142 118;
sched_setscheduler 144 119; sched_setattr 314 274; sched_setaffinity 203 122; fcntl 72 25; ioctl 16 29;
"""

Numbers = tuple[int | None, int | None]


def _parsed(table: str) -> Mapping[str, Numbers]:
    rows = (row.split() for line in table.splitlines() if not line.startswith("#") for row in line.split(";") if row.strip())
    return {name: (_number(x86_64), _number(aarch64)) for name, x86_64, aarch64 in rows}


def _number(text: str) -> int | None:
    return None if text == "-" else int(text)


ALWAYS = _parsed(_ALWAYS)
BY_ARGUMENTS = _parsed(_BY_ARGUMENTS)
