#!/bin/bash
# Runs on a fresh machine, in a directory with a package: installs it and uses its contents. The
# first command that fails ends the script.
#   use_package.sh deb | wheel | portable_wheel
set -ex
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
apt-get update -q

# use_program: records a job on the fake driver, and reads two recordings
use_program() {
	gpuprof --version
	LD_LIBRARY_PATH=$PWD gpuprof run -q -o x.gpr -- ./leak_two
	gpuprof dump --json --native --kind alloc x.gpr | grep -o '"function": "main"' >found
	gpuprof peak h200_oom_kinds.gpr | grep '^GPU 0, NVIDIA H200: 124 GiB allocated'
	if command -v python3; then
		LD_LIBRARY_PATH=$PWD gpuprof run -q -o python.gpr -- python3 -c 'pass'
		python3 -c 'import gpuprof; print(gpuprof.open("x.gpr").peak())'
	fi
}

use_manual() {
	[ "$(man -w gpuprof-leaks)" = /usr/share/man/man1/gpuprof-leaks.1.gz ]
	man -P cat gpuprof-leaks | grep 'gpuprof-leaks - find memory that grows'
}

# use_completion: bash loads it at the first <TAB>, and zsh completes in a terminal
use_completion() {
	bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader gpuprof
		COMP_WORDS=(gpuprof "") COMP_CWORD=1; _gpuprof; echo "${COMPREPLY[@]}"' >words
	[ "$(cat words)" = "$(gpuprof --help | sed -n 's/^  \([a-z]*\)  .*/\1/p' | xargs)" ]
	zsh -f press_tab.zsh 'gpuprof lea' 'gpuprof leaks'
	zsh -f press_tab.zsh 'gpuprof help lea' 'gpuprof help leaks'
	zsh -f press_tab.zsh 'gpuprof peak --tre' 'gpuprof peak --tree'
}

use_library() {
	gcc -std=c17 -Wall -Wextra -Werror -o print_peak print_peak.c \
		$(pkg-config --cflags --libs gpuprof)
	[ "\"peak_bytes\": $(./print_peak x.gpr)" = \
		"$(gpuprof peak --json x.gpr | grep -o '"peak_bytes": [0-9]*' | head -n 1)" ]
}

if [ "$1" = deb ]; then
	dpkg -i gpuprof_*.deb || apt-get install -y -q -f --no-install-recommends
	dpkg -s gpuprof | grep '^Status: install ok installed'
	use_program
	apt-get install -y -q --no-install-recommends man-db bash-completion zsh gcc libc6-dev \
		pkg-config
	use_manual
	use_completion
	use_library
	dpkg -P gpuprof
else
	apt-get install -y -q --no-install-recommends python3-venv
	python3 -m venv venv
	PATH=$PWD/venv/bin:$PATH
	pip install --no-index ./*.whl
	use_program
	pip uninstall -y gpuprof
	[ -z "$(find venv -name '*gpuprof*')" ]
fi
