#!/usr/bin/env bash
# The suite on the Python of another Debian: deploy/other-pythons.sh trixie (3.13) or sid (3.14), then what pytest is to
# be told. Needs root and debootstrap; about 3 GB in $PYTHONS (/var/tmp/pythons). Nothing but a folder remains.
set -euo pipefail
cd "$(dirname "$0")/.."

suite=${1:?trixie or sid}
shift
root=${PYTHONS:-/var/tmp/pythons}/$suite

if [[ ! -x $root/usr/bin/python3 ]]; then
    mkdir -p "$root"
    debootstrap --variant=minbase --include=ca-certificates,python3,python3-venv "$suite" "$root" >"$root.log"
fi
mkdir -p "$root/lab" "$root/dev/shm"
cp /etc/resolv.conf /etc/hosts "$root/etc/"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" # also those that only this machine trusts

# What git knows, as it stands here. Files that are gone here go there; .venv and .pytest_cache stay for the next time.
find "$root/lab" -mindepth 1 -maxdepth 1 ! -name .venv ! -name .pytest_cache -exec rm -rf {} +
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$root/lab"

# In a namespace of its own: whatever is mounted is gone when the last process is.
exec unshare --mount --pid --fork --kill-child bash -c '
    root=$1
    shift
    mount -t proc proc "$root/proc"
    mount --bind /dev "$root/dev"
    mount -t tmpfs tmpfs "$root/dev/shm"
    chroot "$root" python3 --version
    exec chroot "$root" env HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin /lab/.ci/run "$@"
' other-pythons "$root" "$@"
