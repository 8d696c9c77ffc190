cd $DATA
for r in leak_kv_cache leak_pinned h200_oom_kinds h200_ddp fake-killed; do
	gpuprof info $r.gpr | sed -n "/^peaks/,/^lost/p;/^next/p"
done
gpuprof info $CLI/overwritten.gpr | grep -A 1 "^peaks"
