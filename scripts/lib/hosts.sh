# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Two hosts on one machine: network namespaces a and b joined by a veth pair. Each is held by a
# process that waits for the end of a pipe this script has open, so that nothing outlives it.
# A script that sources this sets work (a folder for files) and verbena (the command).
# shellcheck disable=SC2154,SC2034

hosts_why=''
on_a=()
on_b=()

# hosts_hold NAME CMD...: starts the holder of NAME in what CMD enters; its pid is in $work/NAME.pid.
hosts_hold()
{
	local name=$1 holder

	shift
	# shellcheck disable=SC2016
	"$@" sh -c 'ip link set lo up && echo $$ >"$1.new" && mv "$1.new" "$1" && exec cat' \
		- "$work/$name.pid" <"$work/hold" >"$work/$name.log" 2>&1 9>&- &
	holder=$!
	for _ in $(seq 100); do
		[ ! -e "$work/$name.pid" ] || return 0
		kill -0 $holder 2>/dev/null || break
		sleep 0.05
	done
	hosts_why=$(tail -n 1 "$work/$name.log")
	return 1
}

# Makes both; on failure on_a and on_b stay empty, hosts_why says why, and all runs on one host.
hosts_make()
{
	local user=() enter=(-n) a b

	if [ "$(id -u)" -ne 0 ]; then
		user=(-U -r)
		enter+=(-U --preserve-credentials)
	fi
	mkfifo "$work/hold" && exec 9<>"$work/hold" || return 1
	hosts_hold a unshare "${user[@]}" -n || return 1
	a=$(cat "$work/a.pid")
	hosts_hold b nsenter -t "$a" "${enter[@]}" unshare -n || return 1
	b=$(cat "$work/b.pid")
	hosts_why=$(nsenter -t "$a" "${enter[@]}" sh -e -c "
		ip link add veth0 mtu 4200 type veth peer name veth0 mtu 4200 netns $b
		ip addr add 10.9.0.1/24 dev veth0
		ip link set veth0 up" 2>&1) || return 1
	hosts_why=$(nsenter -t "$b" "${enter[@]}" sh -e -c "
		ip addr add 10.9.0.2/24 dev veth0
		ip link set veth0 up" 2>&1) || return 1
	on_a=(nsenter -t "$a" "${enter[@]}")
	on_b=(nsenter -t "$b" "${enter[@]}")
}

# Lets the holders go, and the namespaces with them.
hosts_end()
{
	exec 9>&-
	wait
}

# on HOST CMD...
on()
{
	case $1 in
	a) "${on_a[@]}" "${@:2}" 9>&- ;;
	b) "${on_b[@]}" "${@:2}" 9>&- ;;
	esac
}

# The adapter's device on the virtual cable, or on loopback when there is one host, and the index of
# its first IPv4 GID: two words.
device_of()
{
	local want=veth0

	[ ${#on_a[@]} -gt 0 ] || want=lo
	on "$1" "$verbena" devices | awk -v want=$want '
		/^verbena/ { name = $2 == want ? $1 : "" }
		name && $NF ~ /^[0-9.]+$/ && $(NF - 1) ~ /^[0-9]+$/ { print name, $(NF - 1); exit }' |
		grep .
}

# Whether something listens on TCP port $2 of host $1.
listens()
{
	on "$1" cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
		awk -v port="$(printf '%04X' "$2")" \
			'$4 == "0A" && $2 ~ ":" port "$" { found = 1 } END { exit !found }'
}
