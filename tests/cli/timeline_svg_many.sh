cp $DATA/fake-training.gpr a.gpr
cp a.gpr b.gpr
gpuprof timeline --svg a.gpr missing.gpr b.gpr >many.svg
echo $?
grep -o 'class="title"[^<]*\|^<svg.*\|</svg>' many.svg
gpuprof timeline --svg missing.gpr
