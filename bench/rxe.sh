#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Verbena beside the kernel's rdma_rxe: the same perftest programs, in one guest, in one run, taking
# turns, by UDP and by shared memory, and with them what bare UDP sockets reach there. The guest may be
# emulated, so only the ratios mean anything. Writes the last section of docs/benchmarks.md, which scripts/bench keeps.
#
#   bench/rxe.sh RIG [RUNS [BUILD [FILE [ROWS]]]]
#
# RIG is a directory with a program `rxe-peer` that boots a kernel with rdma_rxe (`up`, `exec`,
# `down`; RXE_PEER_INSTANCE names the guest, RXE_PEER_SHARE a host directory at /share). RUNS is 5,
# BUILD build/release, FILE docs/benchmarks.md unless given; FILE - prints the table only. With ROWS,
# an extended regular expression, only the rows whose label it matches are measured and printed.
set -euo pipefail

rig=${1:?usage: bench/rxe.sh RIG [RUNS [BUILD [FILE [ROWS]]]]}
runs=${2:-5}
root=$(cd "$(dirname "$0")/.." && pwd)
build=${3:-$root/build/release}
file=${4:-$root/docs/benchmarks.md}
rows=${5:-.}
[ $# -lt 5 ] || [ "$file" = - ] || { echo "bench/rxe.sh: some rows only: FILE must be -" >&2; exit 2; }
heading='## Against rdma_rxe'
programs=("$build/verbena" "$build/libverbena.so.0" "$build/bench/ceiling_udp" "$build/bench/pingpong_udp"
	"$build/bench/sendto_rate" "$build/bench/connect_loop")
for p in "$rig/rxe-peer" "${programs[@]}"; do
	[ -e "$p" ] || { echo "bench/rxe.sh: no $p (scripts/bench builds the programs)" >&2; exit 2; }
done
share=$(mktemp -d)
export RXE_PEER_INSTANCE=${RXE_PEER_INSTANCE:-vb$(($$ % 100000))} RXE_PEER_SHARE=$share

finish() {
	"$rig/rxe-peer" down >/dev/null 2>&1 || true
	rm -rf "$share"
}
trap finish EXIT

# The guest has perftest but not our programs: take them and what they need along.
cp "${programs[@]}" "$share/"
ldd "${programs[@]}" | awk '$3 ~ /^\// && $3 !~ /libc\.so/ {print $3}' | sort -u | xargs -r -I{} cp -L {} "$share/"
cat >"$share/guest.sh" <<'GUEST'
runs=$1 rows=$2
export LD_LIBRARY_PATH=/share
ip link set lo up
# rxe has port 4791 here: Verbena gets a network namespace. The guest's ip may know none.
unshare -n sleep infinity >/dev/null 2>&1 &
trap "kill $!" EXIT
v="nsenter -t $! -n"
until [ "$(readlink /proc/$!/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do
	sleep 0.1
done
$v ip link set lo up
# No waiting for a time that a slow guest may miss: perftest's port, 18515, is 4853 in hexadecimal.
server_is_up() {
	for _ in $(seq 300); do
		"$@" grep -q ':4853 .* 0A ' /proc/net/tcp /proc/net/tcp6 && return
		sleep 0.1
	done
	return 1
}
run() { # run rxe|udp|shm PROGRAM ARGS...
	link=$1
	shift
	case $link in
	rxe) timeout 120 "$@" -d rxe0 -x 1 -F ;;
	*) timeout 120 $v /share/verbena run --link "$link" -- "$@" -F ;;
	esac
}
pair() { # pair rxe|udp|shm TOOL ARGS...
	ns=() address=10.77.0.2
	[ "$1" = rxe ] || ns=($v) address=127.0.0.1
	run "$@" >/dev/null 2>&1 &
	server=$!
	server_is_up "${ns[@]}" && run "$@" "$address" 2>/tmp/err || cat /tmp/err >&2
	# A server whose client failed waits for two minutes at most.
	wait $server
}
column() { awk -v c="$1" '/^ *[0-9]+ +[0-9]+ +[0-9.]/ {print $c}'; }
one() { # one rxe|udp|shm COLUMN TOOL ARGS...
	who=$1 col=$2 tool=$3; shift 3
	pair "$who" "$tool" "$@" | column "$col"
}
median() { sort -g | awk '{a[NR] = $1} END {if (NR) printf "%s", a[int((NR + 1) / 2)]; else printf "-"}'; }
row() { # row TARGET LABEL COLUMN BARE TOOL ARGS...
	target=$1 label=$2 col=$3 bare=$4; shift 4
	[[ $label =~ $rows ]] || return 0
	for what in rxe udp shm bare; do
		: >/tmp/$what
	done
	for _ in $(seq "$runs"); do
		for what in rxe udp shm; do
			one $what "$col" "$@" >>/tmp/$what
		done
		[ -z "$bare" ] || timeout 120 bash -c "$bare" >>/tmp/bare
	done
	echo "$label|$(median </tmp/rxe)|$(median </tmp/udp)|$(median </tmp/shm)|$(median </tmp/bare)|$target"
}
# Connections by RDMA CM, one after the other.
connect_loop() { # connect_loop rxe|udp|shm
	if [ "$1" = rxe ]; then
		timeout 120 /share/connect_loop 10.77.0.2 500
	else
		timeout 120 $v /share/verbena run --link "$1" -- /share/connect_loop 127.0.0.1 500
	fi | awk '{print $3}'
}
# ... and 300 at a time. cmtime's server never ends; its client tells what each of its steps took.
cmtime_rate() { # cmtime_rate rxe|udp|shm
	front=() address=10.77.0.2
	[ "$1" = rxe ] || front=($v /share/verbena run --link "$1" --) address=127.0.0.1
	timeout 60 "${front[@]}" cmtime -b $address -c 300 >/dev/null 2>&1 &
	server=$!
	sleep 1.5
	timeout 60 "${front[@]}" cmtime -s $address -c 300 2>&1 |
		awk -F: 'NF == 2 && $2 ~ /^ +[0-9.]+ / {split($2, a, " "); ms += a[1]} END {if (ms) print 300000 / ms}'
	kill $server
	wait $server 2>/dev/null || true
}
connect_row() { # connect_row TARGET LABEL FUNCTION
	[[ $2 =~ $rows ]] || return 0
	for what in rxe udp shm; do
		: >/tmp/$what
	done
	for _ in $(seq "$runs"); do
		for what in rxe udp shm; do
			$3 $what >>/tmp/$what
		done
	done
	echo "$2|$(median </tmp/rxe)|$(median </tmp/udp)|$(median </tmp/shm)||$1"
}
udp_bw="/share/ceiling_udp 1 | awk '{print \$1 / 1.048576}'"
udp_lat="/share/pingpong_udp 3000 | awk '{print \$4}'"
udp_rate="/share/sendto_rate 1 | awk '{for (i = 2; i <= NF; i++) if (\$i ~ /messages/) print \$(i - 1) / 1e6}'"
row '>= 4' '`ib_write_bw -s 65536 -m 4096`, MiB/s' 4 "$udp_bw" ib_write_bw -s 65536 -m 4096 -n 5000
row '' '`ib_send_bw -s 65536 -m 4096`, MiB/s' 4 '' ib_send_bw -s 65536 -m 4096 -n 5000
row '' '`ib_read_bw -s 65536 -m 4096`, MiB/s' 4 '' ib_read_bw -s 65536 -m 4096 -n 5000
row '' '`ib_write_bw -s 8`, million messages/s' 5 "$udp_rate" ib_write_bw -s 8 -m 4096 -n 20000
row '< 1' '`ib_write_lat -s 2`, us, typical' 5 "$udp_lat" ib_write_lat -s 2 -n 2000
row '' '`ib_send_lat -s 2`, us, typical' 5 "$udp_lat" ib_send_lat -s 2 -n 2000
connect_row '>= 1' '`connect_loop`, connections/s' connect_loop
connect_row '>= 1' '`cmtime -c 300`, connections/s' cmtime_rate
GUEST

"$rig/rxe-peer" up >&2
kernel=$("$rig/rxe-peer" exec uname -r)
cpus=$("$rig/rxe-peer" exec nproc)
crc=$("$rig/rxe-peer" exec "awk '/^name/ {n = \$3} /^driver/ {d = \$3} n == \"crc32\" && /^refcnt/ && \$3 > 1 {print d}' /proc/crypto")
cpu=$("$rig/rxe-peer" exec "sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1")
"$rig/rxe-peer" exec -t 3000 "bash /share/guest.sh $runs $(printf %q "$rows")" >"$share/rows"
{
	cat <<-TEXT
		$heading

		Written by \`bench/rxe.sh\`. The same programs with rdma_rxe and with Verbena, in turn, within one guest
		(kernel $kernel, $cpus processors "$cpu", rxe's CRC by $crc); medians, runs: $runs. Verbena by UDP, and
		by shared memory (\`verbena run --link shm\`). Bare UDP is what \`bench/\`'s programs without a transport
		reach there, as in the tables above: the bound of anything that has to go through UDP sockets.

		| | rxe | Verbena, UDP | Verbena, shm | bare UDP | UDP : rxe | shm : rxe | Target | UDP : bare UDP |
		|---|--:|--:|--:|--:|--:|--:|--:|--:|
	TEXT
	awk -F'|' '
		function ratio(a, b) {return a > 0 && b > 0 ? sprintf("%.2f", a / b) : "-"}
		NF == 6 {
			printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", $1, $2, $3, $4, $5,
				ratio($3, $2), ratio($4, $2), $6, ratio($3, $5)}' "$share/rows"
	cat <<-'TEXT'

		rxe hands a packet for its own address from queue to queue in the kernel, past UDP, IP and the device;
		Verbena by UDP goes through a socket twice for each GSO batch. Where bare UDP is no faster than rxe, nothing
		built on sockets can be; the shared-memory link needs neither sockets nor CRC.
	TEXT
} >"$share/section"
cat "$share/section"
[ "$file" = - ] && exit
{
	[ ! -e "$file" ] || awk -v h="$heading" '$0 == h {exit} {print}' "$file"
	cat "$share/section"
} >"$share/document"
cp "$share/document" "$file"
