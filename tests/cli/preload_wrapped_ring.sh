# The ring keeps the newest events; peaks and sums are those since the start. A busy machine may
# lose launches, but no memory event. "complete" and "lost" are keys of the recording, not the
# number of "lost" events.
LD_LIBRARY_PATH=$BUILD/fake gpuprof run -q --ring 1M -o w.gpr -- $BUILD/victims/training_loop 120 5
gpuprof info --json w.gpr |
	grep -E '^  "(complete|lost|self_check)":' |
	sed 's/, "launch.*//'
gpuprof timeline --json w.gpr | grep -o '"[a-z]*_peak_bytes": [0-9]*'
gpuprof dump w.gpr | awk '
	/ms  t[1-9]/ {
		if ($1 + 0 < last)
			print "back in time:", $0
		last = $1 + 0
		n++
	}
	END {
		kept = n > 100000 && n < 298000
		print kept ? "the newest events are kept" : n " events kept"
	}'
