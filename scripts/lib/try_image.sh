#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Tries a container image of Verbena, for scripts/image: two containers, each with a network of its own, joined by a
# virtual cable. Without root all of it is in the user namespace that Podman has for its user.
#   try_image.sh IMAGE
set -u
if [ "$(id -u)" -ne 0 ]; then
	exec podman unshare unshare --mount "$0" "$@"
fi
# crun refuses a machine that has both versions of control groups, also where it needs neither.
[ ! -d /sys/fs/cgroup/unified ] || mount -t tmpfs tmpfs /sys/fs/cgroup || exit 1
cd "$(dirname "$0")/../.." || exit 1
. scripts/lib/hosts.sh
image=$1
work=$(mktemp -d) || exit 1
trap 'hosts_end 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
fail()
{
	echo "$0: $*" >&2
	[ ! -e "$work/server.out" ] || sed 's/^/server: /' "$work/server.out" >&2
	exit 1
}
# Podman as root asks for more than a root without CAP_SYS_RESOURCE may give.
limits=(--ulimit "nofile=$(ulimit -Sn):$(ulimit -Hn)" --ulimit nproc=1024:1024)
# contain HOST CMD...
contain()
{
	podman run --rm --cgroups=disabled "${limits[@]}" --network "ns:/proc/$(cat "$work/$1.pid")/ns/net" "$image" "${@:2}" 9>&-
}

hosts_make || fail "no network for two containers: $hosts_why"
contain a ibv_devinfo -d verbena0 | grep -E 'hca_id|state|link_layer' || fail "no device"
contain a verbena version || fail "no verbena"
contain b ib_write_bw -d verbena0 -F -n 2000 --report_gbits >"$work/server.out" 2>&1 &
server=$!
for _ in $(seq 300); do
	listens b 18515 && break
	kill -0 $server 2>/dev/null || fail "the server ended"
	sleep 0.1
done
contain a ib_write_bw -d verbena0 -F -n 2000 --report_gbits 10.9.0.2 >"$work/client.out" 2>&1 || {
	cat "$work/client.out"
	fail "the client failed"
}
cat "$work/client.out"
wait $server || fail "the server failed"
grep -Eq '^ *65536 +2000 ' "$work/client.out" || fail "ib_write_bw has not moved its data"
