# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# The packages, of every Debian since 12, that the scripts need, and getting those that are missing.
# Sourced by scripts/*; docs/dependencies.md says what each is for.

# shellcheck disable=SC2034 # the lists are for those who source this
packages_user=(gcc libc6-dev cmake make ninja-build pkg-config libisal-dev libibverbs-dev libyaml-dev)
# shellcheck disable=SC2034
packages_build=("${packages_user[@]}" g++ libcmocka-dev librsvg2-dev)
# shellcheck disable=SC2034
packages_demo=(ibverbs-utils perftest iproute2 util-linux tshark)
# shellcheck disable=SC2034
packages_run=(ibverbs-utils perftest iproute2 util-linux tshark infiniband-diags opensm ibutils srptools rdmacm-utils strace)
# shellcheck disable=SC2034
packages_check=(clang clang-format clang-tidy libclang-rt-dev shellcheck python3 tcpdump procps
	chromium chromium-driver python3-pyverbs mandoc openmpi-bin libopenmpi-dev nftables gdb golang-go
	bash-completion zsh fish python3-prometheus-client prometheus-node-exporter
	systemtap-sdt-dev bpftrace binutils mkdocs poppler-utils python3-yaml python3-numpy python3-pandas python3-matplotlib)
# shellcheck disable=SC2034
packages_package=(debhelper dh-python dpkg-dev fakeroot lintian rpm git systemtap-sdt-dev)
# shellcheck disable=SC2034
packages_aarch64=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static mmdebstrap iproute2 util-linux)
# shellcheck disable=SC2034
packages_image=(buildah podman crun mmdebstrap uidmap iproute2 git)
# shellcheck disable=SC2034
packages_site=(mkdocs)
# shellcheck disable=SC2034
packages_bench=(iperf3 python3 g++ libns3-dev bpftrace valgrind librdmacm-dev)

packages_missing()
{
	local p

	for p in "$@"; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || echo "$p"
	done
}

# Installs those of the named packages that are missing. Ends the script when it cannot.
need_packages()
{
	local missing root=() log

	mapfile -t missing < <(packages_missing "$@" | sort -u)
	[ ${#missing[@]} -gt 0 ] || return 0
	if ! command -v apt-get >/dev/null; then
		echo "$0: these Debian packages, or what they contain, are needed: ${missing[*]}" >&2
		exit 1
	fi
	if [ "$(id -u)" -ne 0 ]; then
		root=(sudo)
		[ -t 0 ] || root=(sudo -n)
		if ! command -v sudo >/dev/null; then
			echo "$0: as root, run: apt-get install ${missing[*]}" >&2
			exit 1
		fi
		root+=(env)
	else
		root=(env)
	fi
	root+=(DEBIAN_FRONTEND=noninteractive)
	echo "installing ${missing[*]}"
	log=$(mktemp)
	# Package lists may be missing or too old for what the mirror still has.
	if ! compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null ||
		! "${root[@]}" apt-get install -y --no-install-recommends "${missing[@]}" \
			>"$log" 2>&1 </dev/null; then
		if ! { "${root[@]}" apt-get update && "${root[@]}" apt-get install -y \
			--no-install-recommends "${missing[@]}"; } >>"$log" 2>&1 </dev/null; then
			tail -n 15 "$log" >&2
			rm -f "$log"
			echo "$0: could not install ${missing[*]}: is there a network, and the right to?" >&2
			exit 1
		fi
	fi
	rm -f "$log"
}
