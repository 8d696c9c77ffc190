#!/usr/bin/env bash
# Runs one suite of `make check` and prints its seconds: by the clock, and of processors in user and
# system mode. Suites run at the same time. Each gets a /dev/shm of its own, so that no suite adopts
# the rings of another. The recordings of tests/data are read-only for it, also for root: a test
# that writes there fails.
#   run_suite.sh NAME COMMAND... | run_suite.sh --beside: can suites run at the same time here?
TEST_DATA=$(cd "$(dirname "$0")/data" && pwd)
export TEST_DATA
own_shm='mount -t tmpfs -o mode=1777 shm /dev/shm || exit
mount --bind "$TEST_DATA" "$TEST_DATA" && mount -o remount,bind,ro "$TEST_DATA"
exec "$@"'
# as this user, because a suite without root must stay without root
own() {
	if [ "$(id -u)" = 0 ]; then
		unshare --mount sh -c "$own_shm" own "$@"
	else
		unshare --map-current-user --keep-caps --mount sh -c "$own_shm" own \
			setpriv --inh-caps=-all --ambient-caps=-all "$@"
	fi
}
own=
! own true 2>/dev/null || own=own
if [ "$1" = --beside ]; then
	[ "$own" ]
	exit
fi
unset MAKEFLAGS MAKELEVEL MFLAGS WITH # a make that a test calls is one of its own
name=$1
shift
TIMEFORMAT="$name: %0R s, of processors %0U + %0S s"
time $own "$@"
