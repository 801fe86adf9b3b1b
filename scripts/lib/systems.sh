# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Systems of Debian's releases in folders, by debootstrap from the machine's own apt sources, and commands in
# them. Sourced by scripts/*.

# shellcheck disable=SC2034 # for those who source this
systems=${VERBENA_DISTRIBUTIONS:-build/distributions}

# Ends the script where systems cannot be made.
systems_need()
{
	if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null || ! command -v git >/dev/null; then
		echo "$0: needs root, debootstrap and git" >&2
		exit 1
	fi
	# shellcheck disable=SC2016 # apt-get's own fields
	systems_mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
		'Component: main' | head -n 1)
	if [ -z "$systems_mirror" ]; then
		echo "$0: no apt source of this machine is Debian's" >&2
		exit 1
	fi
}
# A system that was not finished is made from the beginning.
system_make() # SUITE ROOT
{
	rm -rf "$2.new"
	mkdir -p "$2.new/src" && debootstrap --variant=minbase "$1" "$2.new" "$systems_mirror" && mv "$2.new" "$2"
}
# Runs a command in a system. Nothing that it mounts or starts outlives it.
system_run() # ROOT CMD [OPTION of unshare...]
{
	# shellcheck disable=SC2016
	setpriv --pdeathsig KILL unshare --mount --ipc --pid --fork --kill-child "${@:3}" bash -c '
		mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" && mount --rbind /dev "$1/dev" &&
			mount -t tmpfs tmpfs "$1/dev/shm" && mount -t tmpfs tmpfs "$1/run" || exit 1
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
			chroot "$1" bash -c "cd /src && $2"' - "$1" "$2"
}
# Runs a command in a copy of a system that keeps its changes in memory, with this source in /src.
system_try() # ROOT CMD [ARGUMENT...]
{
	# shellcheck disable=SC2016
	setpriv --pdeathsig KILL unshare --mount --ipc --pid --fork --kill-child bash -c '
		base=$1 top=/tmp/verbena-system
		mkdir -p "$top" && mount -t tmpfs tmpfs "$top" && mkdir "$top/upper" "$top/work" "$top/root" &&
			mount -t overlay overlay -o "lowerdir=$base,upperdir=$top/upper,workdir=$top/work" \
				"$top/root" || exit 1
		cd "$top/root" && mkdir -p src && mount --bind "$2" src && mount -o remount,ro,bind src &&
			mount -t proc proc proc && mount --rbind /sys sys && mount --rbind /dev dev &&
			mount -t tmpfs tmpfs dev/shm && mount -t tmpfs tmpfs run || exit 1
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
			DEBIAN_FRONTEND=noninteractive chroot . "${@:3}"' - "$(realpath "$1")" "$PWD" "${@:2}"
}
