#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# In a system of 64-bit Arm, for scripts/aarch64: unit tests by name, or programs on the adapter.
#   try_aarch64.sh unit NAME... | pingpong
set -u
passed=0 failed=0
judge() # NAME STATUS
{
	if [ "$2" -eq 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL $1: exit status $2"
	fi
}
# pair PORT OPTION CMD...: CMD as a server, and against it
pair()
{
	local port=$1 option=$2 server status

	shift 2
	/build/verbena run -- "$@" "$option" 0 -d "$device" -p "$port" >/tmp/server.out 2>&1 &
	server=$!
	for _ in $(seq 600); do
		grep -q ":$(printf '%04X' "$port") .* 0A " /proc/net/tcp /proc/net/tcp6 && break
		sleep 0.1
	done
	timeout 120 /build/verbena run -- "$@" "$option" 0 -d "$device" -p "$port" 127.0.0.1
	status=$?
	[ $status -eq 0 ] || { cat /tmp/server.out; kill $server; }
	wait $server
	judge "$1" $status
}

uname -m
if [ "$1" = unit ]; then
	shift
	cd /src/tests/unit || exit 1
	for name; do
		timeout 240 "/build/tests/unit/$name" >/tmp/out 2>&1
		status=$?
		[ $status -eq 0 ] || tail -n 15 /tmp/out
		judge "$name" $status
	done
	while read -r drill; do
		timeout 60 /build/tests/script/drill "$drill" >/tmp/out 2>&1
		status=$?
		[ $status -eq 0 ] || tail -n 5 /tmp/out
		judge "$drill" $status
	done < <(find /src/tests/script -name '*.drill' | sort)
else
	/build/verbena version
	/build/verbena devices
	device=$(/build/verbena devices | mawk '$2 == "lo" { print $1 }')
	pair 18515 -g ibv_rc_pingpong -n 200
	pair 18516 -g ibv_ud_pingpong -n 200
	pair 18517 -x ib_atomic_bw -F -n 200
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
