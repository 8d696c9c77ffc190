mkdir b && for x in "$BUILD"/*; do
	[ ! "${x##*/}" = demo.gpr ] && [ ! "${x##*/}" = run ] && ln -s "$x" b
done
BUILD=b $DATA/../../kernels/demo.sh 2>&1 >plot | grep -c "recorded .* events in"
grep -oE "(driver|reserved|allocated) +peak" plot
gpuprof info --json b/demo.gpr | grep -oE '"complete": [a-z]+'
