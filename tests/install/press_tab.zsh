# Types LINE and <TAB> into a zsh in a terminal: press_tab.zsh LINE EXPECTED. Exits with 0 when EXPECTED appears.
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'autoload -Uz compinit; compinit -u -D; PS1="ready"ready'
zpty -r shell shown '*readyready*'
zpty -w -n shell "$1"$'\t'
zpty -r shell shown "*$2*"
status_of_read=$?
print -r -- "$shown"
zpty -d shell
exit $status_of_read
