head -c 57000 $DATA/fake-ranges.gpr >cut.gpr
gpuprof phases --depth 2 cut.gpr | tail -n +2
echo $?
cp $DATA/fake-ranges.gpr bad.gpr
printf '\377\377\377\377' | dd of=bad.gpr bs=1 seek=30000 conv=notrunc 2>/dev/null
gpuprof phases --depth 1 bad.gpr
