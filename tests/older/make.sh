#!/bin/bash
# Writes what hostagent of another commit leaves on a host, below OUT: bash make.sh CHECKOUT OUT, as root. README.md says more.
# CHECKOUT has its .venv (make .venv/.tests). All is done below /srv and /opt of a mount namespace of its own.
set -euo pipefail
if [ "${1:-}" != inside ]; then
  unset PYTHONDONTWRITEBYTECODE PYTHONPATH
  exec unshare --mount bash "$0" inside "$(realpath "$1")" "$(realpath "$2")"
fi
mount -t tmpfs none /srv
mount -t tmpfs none /opt
mkdir /opt/hostagent /srv/made
mount --bind "$2" /opt/hostagent
out=$3 agent=(/opt/hostagent/.venv/bin/python -m hostagent)
export PYTHONPATH=/opt/hostagent:/opt/hostagent/checks LC_ALL=C.UTF-8
cd /srv/made
well=/opt/hostagent/tests/hosts/hgx-h100-ubuntu2404/tape.json
sick=/opt/hostagent/tests/hosts/hgx-h100-gpu-off-the-bus/tape.json

# The state file, as `hostagent check` writes it of the machine that it runs on.
mkdir -p "$out/check"
cd /opt/hostagent
.venv/bin/python - "$out/check/state.json" <<'END'
import sys
from hostagent.profile import load
from hostagent.report import state
from tests.recorded import report_of
state.save(report_of("hgx-h100-gpu-off-the-bus"), load("default", site_file="").files, sys.argv[1])
END
cd /srv/made

# The state directory of a daemon and of Slurm's programs: job 77 is let in, a GPU falls off the bus, the node is drained, job 78 refused.
cat >scontrol <<'END'
#!/bin/sh
[ "$1" = show ] && exec echo "NodeName=n1 State=IDLE Partitions=gpu"
exit 0
END
chmod 755 scontrol
slurm() { "${agent[@]}" slurm "$@" --node n1 --state-dir state; }
daemon() { "${agent[@]}" daemon --once --node-name n1 --state-dir state --kubernetes off --listen '' --from "$1"; }
SLURM_JOB_ID=77 slurm prolog --from $well
daemon $well
daemon $sick || [ $? = 1 ]
slurm health --from $sick --bin-dir /srv/made
SLURM_JOB_ID=78 slurm prolog --from $sick || [ $? = 1 ]
rm state/report.json  # large, and written for others alone
cp -r state "$out/"

# Installation runs in a root as small as their programs allow: run 1 ended, run 2 was killed in its second step.
mkdir -p root/etc/made root/usr/bin root/usr/sbin root/var/lib/dpkg root/proc root/sys root/dev root/run root/tmp
ln -s usr/bin root/bin
program() { # NAME OF: a copy of the machine's OF with the libraries that it needs
  local from
  from=$(readlink -f "/usr/bin/$2")
  cp "$from" "root/usr/$1"
  ldd "$from" | grep -o '/[^ ]*' | while read -r one; do
    mkdir -p "root$(dirname "$one")"
    cp -L "$one" "root$one"
  done
}
for one in sh touch sleep; do program "bin/$one" $one; done
for one in dpkg ldconfig; do program "sbin/$one" true; done
printf 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\nID=debian\n' >root/etc/os-release
printf 'value = 1\n' >root/etc/made/one.conf
printf 'Package: base-files\nStatus: install ok installed\nArchitecture: amd64\nMaintainer: Made <made@example.org>\nVersion: 12.4\nDescription: made\n' >root/var/lib/dpkg/status
engine() { /opt/hostagent/.venv/bin/python /opt/hostagent/tests/real/engine_inside.py /srv/made/root 30 "$@"; }
kept() { # NAME: what of the root is read later; a log is not
  mkdir -p "$out/installation/$1/var/lib/dpkg"
  cp -r root/etc "$out/installation/$1/"
  cp -r root/var/. "$out/installation/$1/var/"
  rm "$out/installation/$1"/var/lib/hostagent/runs/*/log "$out/installation/$1/var/begun"
}
engine
kept finished
"${agent[@]}" rollback --yes --root /srv/made/root
rm -f root/var/made root/var/begun
setsid bash -c 'exec "$@"' - /opt/hostagent/.venv/bin/python /opt/hostagent/tests/real/engine_inside.py /srv/made/root 30 sleep=3600 &
until [ -e root/var/begun ]; do sleep 0.1; done
descendants() {
  echo "$1"
  for one in $(cat /proc/"$1"/task/*/children 2>/dev/null); do descendants "$one"; done
}
kill -9 $(descendants $!)
wait || true
rm -f root/usr/sbin/policy-rc.d
kept killed

# A script of hostagent in the place of TAO's.
mkdir -p bank/skills/tao-setup-nvidia-gpu-host/scripts
printf '#!/bin/bash\necho the script before\n' >bank/skills/tao-setup-nvidia-gpu-host/scripts/setup-nvidia-gpu-host.sh
"${agent[@]}" setup --write-shim bank
cp -r bank "$out/"
for one in "$out"/bank/skills/*/scripts/*.orig; do mv "$one" "${one%.orig}.before"; done
chmod -R u=rwX,go=rX "$out"
