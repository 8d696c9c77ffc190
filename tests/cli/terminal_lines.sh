(
	cd $DATA
	cp h200_oom_kinds.gpr leak_hooks.gpr h200_phases.gpr "$OLDPWD"
)
python3 -B $CLI/long_lines.py h200_oom_kinds.gpr leak_hooks.gpr h200_phases.gpr
