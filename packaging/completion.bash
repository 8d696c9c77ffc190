# Completion of gpuprof for bash. The program itself prints the commands and options.
_gpuprof() {
	local word=${COMP_WORDS[COMP_CWORD]} command=
	local index
	for ((index = 1; index < COMP_CWORD; index++)); do
		[[ ${COMP_WORDS[index]} == -* ]] || { command=${COMP_WORDS[index]}; break; }
	done
	if [[ -z $command || $command == help ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(gpuprof --help 2>/dev/null |
			sed -n 's/^  *\([a-z]*\)  .*/\1/p') help" -- "$word")
	elif [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(gpuprof "$command" --help 2>/dev/null |
			grep -oE '^ +(-[a-zA-Z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+')" -- "$word")
	fi
}
# recordings and other files if the function has no match
complete -o default -F _gpuprof gpuprof
