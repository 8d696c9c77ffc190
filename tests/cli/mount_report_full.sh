# a disk without room: no part of a page is left, and an old page stays
cp $DATA/h200_gpt_stacks.gpr job.gpr
mkdir d
cat >fill.sh <<'END'
mount -t tmpfs -o size=256k none d
echo old >d/page.html
dd if=/dev/zero of=d/fill bs=1k count=300 2>/dev/null
gpuprof report --force -o d/page.html job.gpr
echo $?
gpuprof report -o d/new.html job.gpr
echo $?
ls d
cat d/page.html
set -- $DATA/fake-killed.gpr $DATA/fake-killed.gpr $DATA/fake-killed.gpr $DATA/fake-killed.gpr
rm d/fill
mount -t tmpfs -o size=3m none d
gpuprof report -o d/new.html "$@" "$@" "$@" "$@"
echo $?
ls d
END
unshare -rm sh fill.sh
