#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# In a clean system, for scripts/package: installs the Debian packages of a folder, runs the demo on them,
# installs the next version while programs run, removes them, and compares what files there are.
#   try_deb.sh FOLDER ARCHITECTURE
set -eu
folder=$1 machine=$2
work=$(mktemp -d)
fail()
{
	echo "$0: $*" >&2
	exit 1
}
files() { find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /src -o -path /var/lib/apt -o \
	-path /var/lib/dpkg -o -path /var/log -o -path /var/cache -o -path /tmp -o -path /run -o \
	-path /etc/ld.so.cache \) -prune -o -print | sort; }

apt-get update -qq
# The packages that a user of the demo has: of tshark, which is large, it needs nothing.
apt-get install -y -qq --no-install-recommends ibverbs-utils perftest iproute2 util-linux procps >/dev/null
files >"$work/before"
apt-get install -y -qq --no-install-recommends "$folder"/*_"$machine".deb "$folder"/*_all.deb >/dev/null
dpkg -l 'verbena*' 'libverbena*' | grep '^ii'
verbena version
verbena sim /usr/share/verbena/scenarios/incast.yaml | tail -n 3 | tee "$work/sim"
python3 -c 'import verbena; print(verbena.Simulation("/usr/share/verbena/scenarios/incast.yaml").run().digest)' |
	grep -qFf - "$work/sim" || fail "the simulator makes something else of a scenario in Python"
/src/scripts/demo --installed

echo "== The next version is installed while programs run"
cd "$work"
for deb in "$folder"/*_"$machine".deb; do
	rm -rf next
	dpkg-deb -R "$deb" next
	# Its library is another file, as after a release.
	old=$(find next -name 'libverbena.so.0.*' -type f)
	if [ -n "$old" ]; then
		mv "$old" "${old%.*}.999"
		ln -sfn "$(basename "${old%.*}.999")" "$(dirname "$old")/libverbena.so.0"
	fi
	sed -Ei 's/(^Version: [0-9.]+-)1/\19/; s/\(= ([0-9.]+)-1\)/(= \1-9)/g' next/DEBIAN/control
	rm -f next/DEBIAN/md5sums
	dpkg-deb -b next "$work/$(basename "$deb")" >/dev/null
done
mkfifo go
# shellcheck disable=SC2016
unshare -n bash -c 'ip link set lo up
	verbena run -- bash -c "
		ib_write_bw -d verbena0 -x 0 -F -D 600 >server.out 2>&1 & server=\$!
		until ss -ltn 2>/dev/null | grep -q :18515; do sleep 0.1; done
		ib_write_bw -d verbena0 -x 0 -F -D 600 127.0.0.1 >client.out 2>&1 & client=\$!
		until verbena counters --all | grep -Eq \"port_xmit_packets +[1-9]\"; do sleep 0.1; done
		echo running >running
		read -r _ <go
		kill -0 \$server \$client && ibv_devices
		kill \$server \$client; wait"' >program.out 2>&1 &
program=$!
for _ in $(seq 600); do
	[ ! -e running ] || break
	kill -0 $program 2>/dev/null || { cat program.out; fail "the programs did not start"; }
	sleep 0.1
done
dpkg -i ./*.deb >/dev/null
dpkg -l verbena libverbena0 | grep -c -- '-9 ' | grep -qx 2 || fail "the next version is not installed"
echo >go
wait $program || true
cat program.out
grep -q verbena0 program.out || fail "a program does not find the adapter after the upgrade"
! grep -q 'cannot be preloaded' program.out || fail "the library that programs preload went away"

echo "== Removed"
cd /
apt-get purge -y -qq verbena libverbena0 libverbena-sim0 libverbena-dev python3-verbena verbena-doc >/dev/null
apt-get autoremove -y -qq --purge >/dev/null
rm -rf "${work:?}/"*.deb
files | diff "$work/before" - || fail "something is left behind"
echo "nothing is left behind"
