mkdir work && cd work && python3 -B $CLI/next_answers.py $DATA
