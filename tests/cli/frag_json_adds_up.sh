cd $DATA && python3 $CLI/frag_adds_up.py *.gpr
