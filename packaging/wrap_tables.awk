# go-md2man makes tables with long cells wider than the page. This script turns a table of two columns into a list of
# its rows. In a wider table, tbl(1) wraps the last column.
/^\.TS/ { rows = columns = 0; in_table = 1; next }
/^\.TE/ { put_table(); in_table = 0; next }
!in_table { print; next }
/^l( l)* ?\.?$/ { columns = split($0, ignored, " ") - (/\.$/ ? 1 : 0); next }
/^T}/ { next }
/^(allbox;)?$/ { next }
/T\{$/ { pending = substr($0, 1, length($0) - 2); next }
{ row[++rows] = pending $0; pending = "" }
function put_table(   k, cell, n, j) {
	if (columns == 2) {
		for (k = 2; k <= rows; k++) {
			split(row[k], cell, "\t")
			print ".TP\n" cell[1] "\n" cell[2]
		}
		print ".PP"
		return
	}
	print ".TS\nallbox;"
	for (k = 0; k < 2; k++) {
		for (j = 1; j < columns; j++)
			printf "l "
		print k ? "lx." : "lx"
	}
	for (k = 1; k <= rows; k++) {
		n = split(row[k], cell, "\t")
		for (j = 1; j < n; j++)
			printf "%s\t", cell[j]
		print "T{\n" cell[n] "\nT}"
	}
	print ".TE"
}
