#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs a command in a system of 64-bit Arm in a folder, by an emulator that only this user namespace knows, with this
# source in /src and a build of it in /build, and a network that is loopback alone.
#   in_aarch64.sh ROOT BUILD CMD [ARGUMENT...]
# VERBENA_NATIVE: a build for this machine, of which the broker is to be.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd) root=$1 build=$2
shift 2
# Tests have the path of their data in them.
mkdir -p "$root/src" "$root/build" "$root$source"
# shellcheck disable=SC2016
exec setpriv --pdeathsig KILL unshare --user --map-root-user --mount --net --pid --ipc --fork --kill-child bash -euc '
	mount -t proc proc /proc
	mount -t binfmt_misc none /proc/sys/fs/binfmt_misc 2>/dev/null || {
		echo "this kernel does not let a user namespace name an emulator: Linux 6.7 does" >&2
		exit 1
	}
	magic="\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
	mask="\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
	printf "%s" ":qemu-aarch64:M::$magic:$mask:$(command -v qemu-aarch64-static):F" >/proc/sys/fs/binfmt_misc/register
	ip link set lo up
	mount --bind "$1" "$1"
	mount --bind "$2" "$1/src"
	mount --bind "$2" "$1$2"
	mount --bind "$3" "$1/build"
	mount -t proc proc "$1/proc"
	mount --rbind /sys "$1/sys"
	mount -t tmpfs tmpfs /dev/shm
	mount --rbind /dev "$1/dev"
	mount -t tmpfs tmpfs "$1/tmp"
	root=$1
	[ -z "${VERBENA_NATIVE:-}" ] || "$VERBENA_NATIVE" hca start
	shift 3
	exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C.UTF-8 chroot "$root" "$@"' - \
	"$(realpath "$root")" "$source" "$(realpath "$build")" "$@"
