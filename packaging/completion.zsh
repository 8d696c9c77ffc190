#compdef gpuprof
# Completion of gpuprof for zsh. The program itself prints the commands and options.
local -a words_of
if (( CURRENT == 2 )) || [[ $words[2] == help ]]; then
	words_of=(${(f)"$(gpuprof --help 2>/dev/null | sed -n 's/^  *\([a-z]*\)  *\(.*\)/\1:\2/p')"} "help:this text, or that of a command")
	_describe command words_of
elif [[ $PREFIX == -* ]]; then
	words_of=(${(f)"$(gpuprof $words[2] --help 2>/dev/null |
		grep -oE '^ +(-[a-zA-Z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+')"})
	compadd -- $words_of
else
	_files
fi
