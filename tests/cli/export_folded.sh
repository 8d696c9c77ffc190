# stacks of GPU time; of a recording without it the file is empty
$BUILD/frag/made_gpu_time made.gpr
gpuprof export --format folded --select gpu_time made.gpr
gpuprof export --format folded --select gpu_time $DATA/fake-held.gpr
gpuprof export --format folded --select space $DATA/fake-held.gpr 2>&1 | cut -c 1-58
# memory of the host has a root of its own
gpuprof export --format folded --select alloc_objects --no-stacks $DATA/leak_pinned.gpr
# the recorded reason is printed
$BUILD/frag/made_gpu_time refused.gpr refused
gpuprof export --format folded --select gpu_time refused.gpr
# without memory there are no stacks
gpuprof export --format folded --from 0 --to 0 made.gpr
gpuprof export --format speedscope --from 0 --to 0 made.gpr | tail -n 1
