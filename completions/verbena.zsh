#compdef verbena
# SPDX-License-Identifier: BSD-2-Clause
# zsh completion for verbena(1). Commands, options and what an option takes are as --help lists them.

_verbena_devices()
{
	local -aU devices
	local base

	# Only what a running broker shows: completion starts none.
	for base in $XDG_RUNTIME_DIR /dev/shm /tmp; do
		devices+=($base/verbena-$UID-*/class/infiniband/*(N:t))
	done
	_describe -t devices device devices
}

# The words that follow the options of a command.
_verbena_arguments()
{
	case $1 in
	run | trace) _normal ;;
	sim | sweep) _files -g '*.(yaml|yml)' ;;
	capture) _files ;;
	fault) _values action list set add clear log ;;
	hca) _values action start stop status ;;
	csr) _values action read write dump params wait fields ;;
	dfx) _values action record start stop dump sim ;;
	esac
}

_verbena()
{
	local curcontext=$curcontext line takes
	local -a commands specs

	if ((CURRENT == 2)); then
		for line in ${(f)"$(_call_program commands verbena --help 2>/dev/null)"}; do
			[[ $line =~ '^  ([a-z]+)  +(.*)$' ]] && commands+=("$match[1]:${match[2]//:/\\:}")
		done
		commands+=('--help:show the commands' '--version:show the version')
		_describe -t commands command commands
		return
	fi
	local command=$words[2]
	for line in ${(f)"$(_call_program options verbena ${(q)command} --help 2>/dev/null)"}; do
		[[ $line =~ '^  (-(.), |    )--([A-Za-z0-9_-]+)(\[=[^ ]+\]| ([^ ]+))?  +(.*)$' ]] || continue
		local letter=$match[2] name=$match[3] text=${match[6]//[:\[\]]/ }
		case $match[5] in
		'') takes= ;;
		*FILE* | PROGRAM) takes=":$match[5]:_files" ;;
		DIR) takes=':folder:_files -/' ;;
		DEVICE) takes=':device:_verbena_devices' ;;
		NAME) [[ $name == device ]] && takes=':device:_verbena_devices' || takes=':name:' ;;
		*\|*) takes=":$name:(${match[5]//|/ })" ;;
		*) takes=":$match[5]:" ;;
		esac
		[[ -z $letter ]] || specs+=("-${letter}[$text]$takes")
		specs+=("--${name}[$text]$takes")
	done
	shift words
	((CURRENT--))
	case $command in
	run | trace) _arguments -s -S : $specs '(-)1:program:_command_names -e' '*::arguments:_normal' ;;
	*) _arguments -s -S : $specs "*:argument:_verbena_arguments $command" ;;
	esac
}

_verbena "$@"
