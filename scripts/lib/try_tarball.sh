#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# In a clean system, for scripts/package: unpacks the tarball of a folder into one with a space in its name,
# beside rdma-core alone, and runs two programs of it.
#   try_tarball.sh FOLDER
set -eu
apt-get update -qq
apt-get install -y -qq --no-install-recommends ibverbs-utils iproute2 >/dev/null
! ldconfig -p | grep -E 'libisal|libyaml' || { echo "$0: this system is not clean" >&2; exit 1; }
mkdir "/tmp/a folder"
tar -xzf "$1"/verbena-*.tar.gz -C "/tmp/a folder" --strip-components 1
# shellcheck disable=SC2016
unshare -n bash -euc '
	ip link set lo up
	verbena="/tmp/a folder/bin/verbena"
	"$verbena" version
	"$verbena" doctor || true
	"$verbena" run -- ibv_rc_pingpong -d verbena0 -g 0 & server=$!
	until "$verbena" run -- ibv_rc_pingpong -d verbena0 -g 0 127.0.0.1; do kill -0 $server; sleep 0.2; done
	wait $server'
