# a disk without room: no table is left, when the tables are made and when they get their names
mkdir d
cat >fill.sh <<'END'
for size in 400k 900k 2m; do
	mount -t tmpfs -o size=$size none d
	gpuprof export --format csv -o d/ $DATA/h200_phases.gpr 2>&1 | sed 's/ rows.*/ rows/'
	ls -A d | wc -l
	umount d
done
END
unshare -rm sh fill.sh
