# The masks of the command line tests: each replaces text that differs between runs or machines.
# run_cli.sh applies `default` to the output of every test. A test that needs more names it:
#   gpuprof run ... 2>&1 | mask numbers sizes
# shellcheck shell=sh
mask() (
	rules=
	for mask_name; do
		case $mask_name in
		# the directories of the machine; the notices of a shell whose command was killed
		default)
			rule="
				s,$HERE,HERE,g
				s,$CLI,CLI,g
				s,$DATA,DATA,g
				s,$BUILD,BUILD,g
				/^(Aborted|Killed|Segmentation fault)( \(core dumped\))?\$/d"
			;;
		numbers) rule='s/[0-9][0-9.,]*/N/g' ;;
		# behind numbers
		sizes) rule='s/N ([KMGT]i)?B/SIZE/g' ;;
		times) rule='s/ *-?[0-9.]+ [mun]?s\b/ T/g' ;;
		# of a call, in dump
		took) rule='s/took=[^ ]+ [mun]?s/took=T/g' ;;
		json_times) rule='s/(_ns": )[0-9]+/\1N/g' ;;
		# columns that are as wide as their numbers
		blanks) rule='s/  +/ /g' ;;
		host) rule="s/$(uname -n | cut -d. -f1)/HOST/g" ;;
		# a recorded command without the directories of its program
		program) rule='s,-- .*/,-- ,' ;;
		python) rule='s,-- [^ ]*python[0-9.]* ,-- python3 ,' ;;
		# Python has the class in a frame's name since 3.11
		classes) rule='s/([ :"])[A-Z][A-Za-z]*\.([a-z_])/\1\2/g' ;;
		# steps that depend on how fast the job started
		steps)
			rule='
				s/since step [0-9]+/since/g
				s/since at [0-9.]+ [mu]?s/since/g
				s/steps [0-9]+ to [0-9]+/steps/g
				s/step:[0-9]+ --to/step:N --to/
				s/in step [0-9]+ of/in step N of/
				s/\([0-9]+ steps\)/(N steps)/
				s/, [0-9]+ of them warm-up; .*//'
			;;
		last_step) rule='s/--to step:[0-9]+/--to step:N/' ;;
		full) rule='s/full in .* at this rate/full soon/' ;;
		*)
			echo "mask: no mask '$mask_name' in tests/cli_masks.sh"
			exit 2
			;;
		esac
		rules="$rules
$rule"
	done
	sed -E "$rules"
)
