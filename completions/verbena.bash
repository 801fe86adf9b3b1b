# SPDX-License-Identifier: BSD-2-Clause
# bash completion for verbena(1)

_verbena()
{
	local cur prev words cword
	_init_completion || return

	local command=${words[1]} i

	if ((cword == 1)); then
		COMPREPLY=($(compgen -W 'run trace devices counters top capture explain fault rdma reg fwreset csr dfx hca broker sim sweep fabric doctor ping version --help --version' -- "$cur"))
		return
	fi
	case $command in
	run)
	for ((i = 2; i < cword; i++)); do
			if [[ ${words[i]} == -- ]]; then
				_command_offset $((i + 1))
				return
			elif [[ ${words[i]} =~ ^(--adp|--pkeys|--cc|--dc|-l|--link|-f|--fault|-s|--fault-seed)$ ]]; then
				((++i))
			elif [[ ${words[i]} != -* ]]; then
				_command_offset $i
				return
			fi
		done
		case $prev in
		--dc)
			COMPREPLY=($(compgen -W 'half full adapter' -- "$cur"))
			return
			;;
		-l | --link)
			COMPREPLY=($(compgen -W 'udp shm' -- "$cur"))
			return
			;;
		--adp)
			_filedir
			return
			;;
		--cc)
			_filedir
			COMPREPLY+=($(compgen -W 'paper hardware firmware-rate firmware-only off fixed dcqcn dctcp timely swift' -- "$cur"))
			return
			;;
		-f | --fault | -s | --fault-seed | --pkeys)
			return
			;;
		esac
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W '--print --adp --pkeys --cc --dc --mlx5dv --mlx5dv=trap --mlx5dv=spin --link --fault --fault-seed --log --fabric --node --help --' -- "$cur"))
		else
			_command_offset $cword
		fi
		;;
	trace)
		for ((i = 2; i < cword; i++)); do
			if [[ ${words[i]} == -- ]]; then
				_command_offset $((i + 1))
				return
			elif [[ ${words[i]} =~ ^(-o|--output|-e|--calls)$ ]]; then
				((++i))
			elif [[ ${words[i]} != -* ]]; then
				_command_offset $i
				return
			fi
		done
		case $prev in
		-o | --output)
			_filedir
			return
			;;
		-e | --calls)
			return
			;;
		esac
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W '--output --calls --json --help --' -- "$cur"))
		else
			_command_offset $cword
		fi
		;;
	reg)
		case $prev in
		-d | --device)
			COMPREPLY=($(compgen -W "$(_verbena_devices)" -- "$cur"))
			return
			;;
		--reg_name | --show_reg)
			COMPREPLY=($(compgen -W 'ROCE_ACCL ADP_RETX_HISTOGRAM ADP_RETX_HISTOGRAM_CONFIG PKEY_TABLE ROCE_RECOVERY' -- "$cur"))
			return
			;;
		--preset)
			COMPREPLY=($(compgen -W 'lossy lossless' -- "$cur"))
			return
			;;
		--reg_id | --reg_len | -i | --indexes | -s | --set)
			return
			;;
		esac
		COMPREPLY=($(compgen -W '--device --reg_name --reg_id --reg_len --indexes --get --set --preset
			--show_reg --show_regs --overwrite --full_path --yes --help' -- "$cur"))
		;;
	broker)
		COMPREPLY=($(compgen -W '--shared --processes --qps --services --groups --memory --direct --fault --seed --status --json --openmetrics --keeper --help' -- "$cur"))
		;;
	fwreset)
		case $prev in
		-d | --device)
			COMPREPLY=($(compgen -W "$(_verbena_devices)" -- "$cur"))
			return
			;;
		esac
		COMPREPLY=($(compgen -W '--device --help' -- "$cur"))
		;;
	csr | dfx)
		case $prev in
		-d | --device)
			COMPREPLY=($(compgen -W "$(_verbena_devices)" -- "$cur"))
			return
			;;
		-q | --qp | -i | --index | -t | --time | -f | --flow | --from)
			return
			;;
		--svg | --html)
			_filedir "${prev#--}"
			return
			;;
		sim)
			_filedir yaml
			return
			;;
		esac
		if [[ $command == dfx ]]; then
			COMPREPLY=($(compgen -W 'record start stop dump sim --device --qp --index --time --flow --from --svg --html --raw --keep --help' \
				-- "$cur"))
		elif [[ $cur != -* && " ${words[*]} " == *' params '* ]]; then
			COMPREPLY=($(compgen -W "$(verbena csr params 2>/dev/null | awk 'NR > 1 { print $1, $2 }')" \
				-- "$cur"))
		elif [[ $cur != -* && " ${words[*]} " =~ \ (read|write)\  ]]; then
			COMPREPLY=($(compgen -W "$(verbena csr fields 2>/dev/null | awk '/^  / { print $3 }')" -- "$cur"))
		else
			COMPREPLY=($(compgen -W 'read write dump params wait fields --device --qp --index --help' -- "$cur"))
		fi
		;;
	rdma)
		case $prev in
		rdma | -*)
			COMPREPLY=($(compgen -W 'dev link resource statistic system --json --pretty --details --help' -- "$cur"))
			;;
		resource | res)
			COMPREPLY=($(compgen -W 'show' -- "$cur"))
			;;
		show)
			COMPREPLY=($(compgen -W 'qp cm_id link' -- "$cur"))
			;;
		dev | link | statistic | stat | system | sys)
			COMPREPLY=($(compgen -W 'show' -- "$cur"))
			;;
		esac
		;;
	hca)
		COMPREPLY=($(compgen -W 'start stop status --vfs --help' -- "$cur"))
		;;
	devices)
		COMPREPLY=($(compgen -W '--json --help' -- "$cur"))
		;;
	counters)
		case $prev in
		-d | --device)
			# Only what a running broker shows: completion starts none.
			COMPREPLY=($(compgen -W "$(_verbena_devices)" -- "$cur"))
			return
			;;
		esac
		COMPREPLY=($(compgen -W '--watch --device --all --json --openmetrics --help' -- "$cur"))
		;;
	top)
		case $prev in
		-d | --device)
			COMPREPLY=($(compgen -W "$(_verbena_devices)" -- "$cur"))
			return
			;;
		-s | --seconds)
			return
			;;
		esac
		COMPREPLY=($(compgen -W '--device --seconds --once --json --help' -- "$cur"))
		;;
	capture)
		case $prev in
		-c | --count | -t | --time | --fabric | --node | --port)
			return
			;;
		--report)
			_filedir html
			return
			;;
		esac
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W '--count --time --read --report --fabric --node --port --flow-control --help' -- "$cur"))
		else
			_filedir pcapng
		fi
		;;
	sim)
		case $prev in
		-s | --replay | -j | --jobs | -p | --pcap | -w | --wqe | --every | --flows | --ports)
			return
			;;
		-e | --explain)
			COMPREPLY=($(compgen -W 'all' -- "$cur"))
			return
			;;
		--series)
			COMPREPLY=($(compgen -W 'all rate inflight window cc-rate cc-target alpha rtt queue marks pauses drops utilisation cnps' -- "$cur"))
			return
			;;
		-o | --out | --figures)
			_filedir -d
			return
			;;
		-t | --trace | -r | --report | --svg | --png)
			_filedir
			return
			;;
		esac
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W '--every --explain --figures --flows --jobs --out --pcap --png --ports --ranks --replay --report --series --svg --trace --wqe --help' -- "$cur"))
		else
			_filedir '@(yaml|yml)'
		fi
		;;
	sweep)
		case $prev in
		-s | --seeds | -j | --jobs | -x | --x)
			return
			;;
		-g | --grid)
			COMPREPLY=($(compgen -S = -W 'seed transport.timeout transport.retry transport.mtu
				transport.depth transport.message transport.window faults.loss faults.burst
				faults.reorder faults.delay workload.count workload.bytes workload.load' -- "$cur"))
			compopt -o nospace
			return
			;;
		-y | --y)
			COMPREPLY=($(compgen -W 'goodput_bps jain_ppm fct_mean_ns fct_p50_ns fct_p99_ns
				slowdown_p99_milli resent timeouts dropped marked paused_ns depth_max_bytes' -- "$cur"))
			return
			;;
		-o | --out | --figures)
			_filedir -d
			return
			;;
		-l | --list)
			_filedir
			return
			;;
		esac
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W '--grid --list --seeds --out --jobs --x --y --figures --quiet --help' -- "$cur"))
		else
			_filedir '@(yaml|yml)'
		fi
		;;
	explain)
		case $prev in
		-d | --device)
			COMPREPLY=($(compgen -W "$(_verbena_devices)" -- "$cur"))
			return
			;;
		--html)
			_filedir html
			return
			;;
		-p | --pid)
			COMPREPLY=($(compgen -W "$(verbena explain --json 2>/dev/null | sed -n 's/.*"pid": \([0-9]*\),.*/\1/p')" -- "$cur"))
			return
			;;
		esac
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W '--all --cm --device --dlid --fabric --html --json --mtu --node --path --pid --pkey --sl --wqe --help' -- "$cur"))
		else
			COMPREPLY=($(compgen -W "$(verbena explain 2>/dev/null | grep -o '^0x[0-9a-f]*')" -- "$cur"))
		fi
		;;
	fault)
		case $prev in
		-d | --device)
			COMPREPLY=($(compgen -W "$(_verbena_devices)" -- "$cur"))
			return
			;;
		-s | --seed)
			return
			;;
		esac
		COMPREPLY=($(compgen -W 'list set add clear log --device --seed --follow --help' -- "$cur"))
		;;
	doctor)
		case $prev in
		-p | --program)
			COMPREPLY=($(compgen -c -- "$cur"))
			return
			;;
		esac
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W '--quiet --program --help' -- "$cur"))
		else
			_known_hosts_real -- "$cur"
		fi
		;;
	fabric)
		case $prev in
		up | route)
			_filedir
			;;
		-R | --engine)
			COMPREPLY=($(compgen -W 'minhop updn dnup ftree lash dor sssp dfsssp nue torus-2QoS' -- "$cur"))
			;;
		-o | --out)
			_filedir -d
			;;
		--svg | --html)
			_filedir
			;;
		--color)
			COMPREPLY=($(compgen -W 'state rate load' -- "$cur"))
			;;
		*)
			if [[ " ${COMP_WORDS[*]} " == *" show "* ]]; then
				COMPREPLY=($(compgen -W '--name --route --sl --pkey --path-bits --interval --compact --json --svg --html --color --help' -- "$cur"))
				return
			fi
			COMPREPLY=($(compgen -W 'up down show dump watch route set link unlink relink tunnel untunnel join error --name --foreground --sm --prefix --real-time --part --engine --out --group --help' -- "$cur"))
			;;
		esac
		;;
	ping)
		case $prev in
		-d | --device)
			COMPREPLY=($(compgen -W "$(_verbena_devices)" -- "$cur"))
			return
			;;
		-c | --count | -i | --interval | -s | --size | -W | --timeout)
			return
			;;
		esac
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W '--count --interval --size --timeout --device --quiet --json --help' -- "$cur"))
		else
			_known_hosts_real -- "$cur"
		fi
		;;
	esac
}

_verbena_devices()
{
	local dir base
	for base in "$XDG_RUNTIME_DIR" /dev/shm /tmp; do
		for dir in "$base"/verbena-$UID-*/class/infiniband/*; do
			[[ -d $dir && -O $dir ]] && echo "${dir##*/}"
		done
	done 2>/dev/null | sort -u
}

complete -F _verbena verbena
