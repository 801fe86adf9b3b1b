# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Runs steps, keeps their output in a log each, and counts what passed. Sourced by scripts/*.

steps_passed=0
steps_failed=0
steps_skipped=0
steps_logs=${steps_logs:-build/logs}
steps_failures=()

# Adds the figures that a log closes with: ours, or ctest's. A log without any counts as one.
steps_count()
{
	local log=$1 status=$2 line passed=0 failed=0 skipped=0

	# A program that is tested may print any byte.
	line=$(grep -aE '^[0-9]+ passed, [0-9]+ failed|^[0-9]+% tests passed, [0-9]+ tests? failed out of [0-9]+' \
		"$log" | tail -n 1)
	if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)? ]]; then
		passed=${BASH_REMATCH[1]} failed=${BASH_REMATCH[2]} skipped=${BASH_REMATCH[4]:-0}
	elif [[ $line =~ passed,\ ([0-9]+)\ tests?\ failed\ out\ of\ ([0-9]+) ]]; then
		failed=${BASH_REMATCH[1]} passed=$((BASH_REMATCH[2] - failed))
	elif [ "$status" -eq 0 ]; then
		passed=1
	fi
	# A step that fails without a failed test of its own (it crashed, say) is one failure.
	if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then
		failed=1
	fi
	steps_passed=$((steps_passed + passed))
	steps_failed=$((steps_failed + failed))
	steps_skipped=$((steps_skipped + skipped))
	steps_line="$passed passed, $failed failed"
	[ "$skipped" -eq 0 ] || steps_line+=", $skipped skipped"
}

# step NAME CMD...: runs CMD; on failure shows the end of its output. Returns its status.
step()
{
	local name=$1 log status start=$SECONDS

	shift
	mkdir -p "$steps_logs"
	log=$steps_logs/${name// /-}.log
	printf '%-30s ' "$name"
	"$@" >"$log" 2>&1 </dev/null
	status=$?
	steps_count "$log" "$status"
	printf '%s (%d s)\n' "$steps_line" $((SECONDS - start))
	if [ "$status" -ne 0 ]; then
		steps_failures+=("$name")
		# Of what ctest prints, not the lines of what went well.
		grep -avE '^ *[0-9]+/[0-9]+ Test .* Passed |^ +Start +[0-9]+: ' "$log" |
			tail -n "${steps_tail:-60}" | LC_ALL=C tr -c '[:print:]\n\t' '?' | sed 's/^/    /'
		echo "    (all of it: $log)"
	fi
	return "$status"
}

# Says why a step is left out; it counts as skipped.
step_skip()
{
	printf '%-30s skipped: %s\n' "$1" "$2"
	steps_skipped=$((steps_skipped + 1))
}

# The closing line; the status is that of the whole.
steps_end()
{
	[ ${#steps_failures[@]} -eq 0 ] || echo "failed: ${steps_failures[*]}"
	if [ "$steps_skipped" -gt 0 ]; then
		echo "$steps_skipped skipped"
	fi
	echo "$steps_passed passed, $steps_failed failed"
	[ "$steps_failed" -eq 0 ]
}
