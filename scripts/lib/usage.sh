# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Prints a script's usage, which is the comment at its head. Sourced by scripts/*.

# Ends the script for its argument $1: --help, or one that it does not know.
usage()
{
	local text

	text=$(sed -n '3,/^[^#]/s/^# \?//p' "scripts/${0##*/}")
	if [ "$1" = --help ]; then
		printf '%s\n' "$text"
		exit 0
	fi
	printf '%s: unknown argument "%s"\n\n%s\n' "${0##*/}" "$1" "$text" >&2
	exit 2
}
