#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds what is installed into a folder that may stand anywhere: libraries that are neither libc's nor
# rdma-core's come along, with their licences. The tarball and the container image are made of it.
#   relocatable.sh BUILD ROOT
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd) build=$1 root=$2
mkdir -p "$root"
# shellcheck disable=SC2016 # $ORIGIN is the dynamic linker's
cmake -S "$source" --preset user -B "$build" -DCMAKE_INSTALL_PREFIX=/usr/local -DCMAKE_INSTALL_LIBDIR=lib \
	-DCMAKE_INSTALL_RPATH='$ORIGIN/../lib/libverbena.d/needs;$ORIGIN/libverbena.d/needs'
cmake --build "$build" -j "$(nproc)"
cmake --install "$build" --prefix "$root" --strip
mkdir -p "$root/lib/libverbena.d/needs" "$root/doc"
ldd "$root/bin/verbena" "$root/lib/libverbena.so.0" | awk '$3 ~ /lib(isal|yaml)/ { print $3 }' | sort -u |
	while read -r file; do
		cp -L "$file" "$root/lib/libverbena.d/needs/"
	done
cp "$source/LICENSE" "$source/README.md" "$source/CHANGELOG.md" "$root/"
for file in libisal2 libyaml-0-2; do
	cp "/usr/share/doc/$file/copyright" "$root/doc/$file.copyright"
done
