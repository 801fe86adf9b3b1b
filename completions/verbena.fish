# SPDX-License-Identifier: BSD-2-Clause
# fish completion for verbena(1). Commands, options and what an option takes are as --help lists them.

function __verbena_commands
	verbena --help 2>/dev/null | string replace -rf '^  ([a-z]+)  +(.*)$' '$1\t$2'
	printf '%s\t%s\n' --help 'show the commands' --version 'show the version'
end

function __verbena_command
	set -l words (commandline -opc)
	echo $words[2]
end

function __verbena_options
	verbena (__verbena_command) --help 2>/dev/null |
		string replace -rf -- '^  (?:-(.), |    )--([A-Za-z0-9_-]+)(?:\[=[^ ]+\]| [^ ]+)?  +(.*)$' '--$2\t$3'
end

# Only what a running broker shows: completion starts none.
function __verbena_devices
	set -l user (id -u)
	for base in $XDG_RUNTIME_DIR /dev/shm /tmp
		for folder in $base/verbena-$user-*/class/infiniband/*
			string replace -r '.*/' '' $folder
		end
	end
end

# The kind of value that the option before the cursor takes, as --help calls it.
function __verbena_takes
	set -l option (commandline -opc)[-1]
	string match -q -- '-*' $option; or return
	verbena (__verbena_command) --help 2>/dev/null |
		string replace -rf -- '^  (?:(-.), |    )(--[A-Za-z0-9_-]+) ([^ ]+)  .*$' '$1 $2 $3' |
		while read -d ' ' -l short long takes
			test "$option" = "$short" -o "$option" = "$long"; and echo $takes
		end
end

function __verbena_values
	set -l takes (__verbena_takes)
	switch "$takes"
		case '*FILE*' PROGRAM
			__fish_complete_path (commandline -ct)
		case DIR
			__fish_complete_directories (commandline -ct)
		case DEVICE
			__verbena_devices
		case NAME
			contains -- (commandline -opc)[-1] -d --device; and __verbena_devices
		case '*|*'
			string split '|' $takes
	end
end

function __verbena_arguments
	switch (__verbena_command)
		case sim sweep capture
			__fish_complete_path (commandline -ct)
		case run trace
			__fish_complete_subcommand --fcs-skip=2
		case fault
			printf '%s\n' list set add clear log
		case hca
			printf '%s\n' start stop status
		case csr
			printf '%s\n' read write dump params wait fields
		case dfx
			printf '%s\n' record start stop dump sim
	end
end

function __verbena_needs_command
	test (count (commandline -opc)) -eq 1
end

function __verbena_needs_value
	not __verbena_needs_command; and test -n "$(__verbena_takes)"
end

complete -c verbena -f
complete -c verbena -n __verbena_needs_command -a '(__verbena_commands)'
complete -c verbena -n __verbena_needs_value -a '(__verbena_values)'
complete -c verbena -n 'not __verbena_needs_command; and not __verbena_needs_value' \
	-a '(__verbena_options; __verbena_arguments)'
