#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Verbena beside the kernel's rdma_rxe: the same perftest programs, in one guest, in one run, taking
# turns. The guest is emulated, so only the ratios mean anything.
#
#   bench/rxe.sh RIG [RUNS [BUILD]]
#
# RIG is a directory with a program `rxe-peer` that boots a kernel with rdma_rxe (`up`, `exec`,
# `down`, and RXE_PEER_SHARE for a host directory at /share). BUILD is a release build, build/release
# unless given.
set -euo pipefail

rig=${1:?usage: bench/rxe.sh RIG [RUNS [BUILD]]}
runs=${2:-5}
root=$(cd "$(dirname "$0")/.." && pwd)
build=${3:-$root/build/release}
share=$(mktemp -d)
export RXE_PEER_INSTANCE=vb$(($$ % 100000)) RXE_PEER_SHARE=$share

finish() {
	"$rig/rxe-peer" down >/dev/null 2>&1 || true
	rm -rf "$share"
}
trap finish EXIT

# The guest has the programs but not our library: take it and what it needs along.
cp "$build/verbena" "$build/libverbena.so" "$share/"
ldd "$share/libverbena.so" "$share/verbena" | awk '$3 ~ /libisal/ {print $3}' | sort -u |
	xargs -r -I{} cp {} "$share/"
cat >"$share/guest.sh" <<'GUEST'
runs=$1
export LD_LIBRARY_PATH=/share
ip link set lo up
ip netns add v && ip netns exec v ip link set lo up
v() { ip netns exec v /share/verbena run -- "$@"; }
med() { sort -g | awk '{a[NR]=$1} END{printf "%s", a[int((NR+1)/2)]}'; }
# one WHO TOOL COLUMN ARGS...: one column of perftest's result line
one() {
	who=$1 tool=$2 col=$3; shift 3
	if [ "$who" = rxe ]; then
		(timeout 60 "$tool" -d rxe0 -x 1 -F "$@" >/dev/null 2>&1) & sleep 0.8
		timeout 60 "$tool" -d rxe0 -x 1 -F "$@" 10.77.0.2 2>&1
	else
		(v timeout 60 "$tool" -F "$@" >/dev/null 2>&1) & sleep 0.8
		v timeout 60 "$tool" -F "$@" 127.0.0.1 2>&1
	fi | awk -v c="$col" '/^ *[0-9]+ +[0-9]+ +[0-9.]/{print $c}'
	wait
}
pair() {
	label=$1; shift
	: >/tmp/a; : >/tmp/b
	for _ in $(seq "$runs"); do
		one rxe "$@" >>/tmp/a
		one verbena "$@" >>/tmp/b
	done
	echo "$label|$(med </tmp/a)|$(med </tmp/b)"
}
pair 'ib_write_bw -s 65536 -m 4096, MiB/s' ib_write_bw 4 -s 65536 -m 4096 -n 1500
pair 'ib_send_bw -s 65536 -m 4096, MiB/s' ib_send_bw 4 -s 65536 -m 4096 -n 1500
pair 'ib_read_bw -s 65536 -m 4096, MiB/s' ib_read_bw 4 -s 65536 -m 4096 -n 1500
pair 'ib_write_bw -s 8, million messages/s' ib_write_bw 5 -s 8 -n 40000
pair 'ib_write_lat -s 2, us typical' ib_write_lat 5 -s 2 -n 10000
pair 'ib_send_lat -s 2, us typical' ib_send_lat 5 -s 2 -n 10000
GUEST

"$rig/rxe-peer" up >/dev/null
printf '%-44s %12s %12s %8s\n' 'in one emulated guest, medians' rxe verbena ratio
"$rig/rxe-peer" exec -t 900 "bash /share/guest.sh $runs" |
	awk -F'|' 'NF == 3 {printf "%-44s %12s %12s %8.2f\n", $1, $2, $3, ($2 > 0 ? $3 / $2 : 0)}'
