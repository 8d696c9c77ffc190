#!/bin/sh
# Simulates a machine whose compilers and tools appear while `make deps` runs, without a network. It
# has a PATH without them, and an apt-get, a sudo and an id of its own. One call of `make deps GOAL`
# must then find the same as a make that starts when they are installed. Without root, sudo is used
# where it works. Elsewhere the packages are printed and none is installed.
#   run_deps.sh BUILD
build=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
dir=$build/run/deps
results=${RESULTS:-$dir/results}
failed=0
rm -rf "$dir"
mkdir -p "$dir/fakes" "$dir/tools" "$dir/rest"
cd "$dir" || exit 2

say() {
	echo "$1 deps/$2 $3" >>"$results"
	[ "$1" = pass ] || echo "$1 $2: $3"
	[ "$1" != fail ] || failed=1
}

# fake NAME: makes a command from stdin
fake() {
	{
		echo '#!/bin/sh'
		cat
	} >"fakes/$1" && chmod +x "fakes/$1"
}
fake id <<'END'
echo "$FAKE_UID"
END
# SUDO: free, password or refused
fake sudo <<'END'
case $SUDO,$1 in
free,-n | password,-v) exit 0 ;;
*,-n | refused,*) exit 1 ;;
esac
FAKE_UID=0 exec "$@"
END
fake apt-get <<'END'
[ "$FAKE_UID" = 0 ] || exit 100
echo "$*" >>"$DIR/orders"
[ "$1" != install ] || mv "$DIR/tools" "$DIR/installed"
END

# all commands of this machine, without those that packages of lint/deps.sh install, which lie apart
(
	IFS=:
	for folder in $PATH /usr/sbin /sbin; do
		ln -s "$folder"/* rest 2>/dev/null
	done
)
cd rest || exit 2
rm -f apt-get sudo id
mv -- *gcc* *g++* *c++* *cpp* *clang* cc *-linux-gnu-* as ld ld.* ar nm strip objcopy readelf \
	python3* xz shellcheck valgrind lttng ../tools 2>/dev/null
cd .. || exit 2

# new_machine: removes all installed packages
new_machine() {
	[ ! -e installed ] || mv installed tools
}

# call UID SUDO ARGUMENT...: runs make in the sources, on the machine; `terminal` is set to have one
terminal=
call() {
	uid=$1 sudo=$2
	shift 2
	set -- make -C "$here/.." --no-print-directory BUILD="$dir/build" "$@"
	[ -z "$terminal" ] || set -- script -qec "$*" /dev/null
	: >orders
	env -i PATH="$dir/fakes:$dir/rest:$dir/installed" HOME="$dir" DIR="$dir" FAKE_UID="$uid" \
		SUDO="$sudo" setsid -w "$@" >out 2>&1 </dev/null
}

# values: prints the variables and rules of make's data base, as found on the machine
values() {
	sed '1,/^# Make data base/d' out | grep -E '^[A-Z][A-Z_]* :?= |^[^#[:blank:]][^=]*:' |
		grep -vE '^(MAKE[A-Z_]*|CURDIR|GNUMAKEFLAGS) ' | sort -u
}

# one call: packages first, whatever -j; a build that needs them; then the same with all installed
goals="build/format/golden_names build/libgpuprof-unwind.so"
for turn in first second; do
	rm -rf build
	call 0 refused -p -j4 $(for goal in $goals; do echo "$dir/$goal"; done) deps
	echo "ends with $?" >$turn.status
	cp out $turn.out
	cp orders $turn.orders
	values >$turn.values
done
if ! grep -qx 'ends with 0' first.status; then
	why=$(grep -m 1 '\*\*\*' first.out)
	say fail one_call "$(cat first.status): $why (see $dir/first.out)"
elif ! grep -q '^install .*libzstd-dev' first.orders; then
	say fail one_call "libzstd-dev was not installed (see $dir/first.orders)"
elif ! diff first.values second.values >values.diff || ! grep -q ^UNWIND first.values; then
	say fail one_call "make found other values than with all packages (see $dir/values.diff)"
else
	say pass one_call
fi

# user NAME SUDO INSTALLS STATUS: a user calls make deps, with a sudo of this kind
user() {
	call 1000 "$2" deps help
	status=$? installs=$(grep -c ^install orders)
	if [ "$status" != "$4" ] || [ "$installs" != "$3" ]; then
		say fail "$1" "$installs installs, status $status, expected $3, $4 (see $dir/out)"
	elif [ "$4" != 0 ] && ! grep -q 'apt-get install -y .*libzstd-dev' out; then
		say fail "$1" "the packages to install are not printed (see $dir/out)"
	else
		say pass "$1"
	fi
}
new_machine
user sudo_refused refused 0 2
user sudo_without_terminal password 0 2
mv fakes/sudo fakes/no_sudo
user no_sudo refused 0 2
mv fakes/no_sudo fakes/sudo
user sudo_free free 1 0
user nothing_missing refused 0 0
new_machine
terminal=yes
user sudo_password password 1 0
exit $failed
