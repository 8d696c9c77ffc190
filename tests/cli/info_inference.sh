gpuprof info $DATA/leak_kv_cache.gpr | grep -A 5 "^roles"
gpuprof info --json $DATA/leak_kv_cache.gpr | sed -n '/"inference"/p'
gpuprof info $DATA/h200_clean_train.gpr | grep -A 1 "^roles"
