# SPDX-License-Identifier: Apache-2.0
#
# Rows of help_rows.awk become the first sections of a man page: SYNOPSIS, DESCRIPTION, and one with the rows, whose name
# is `rows` (OPTIONS). Rows without an explanation are a list of the paragraph above them.

BEGIN { FS = "\t" }
function section(name) {
	if (name != current)
		print ".SH " roff_arg(name)
	else
		print ".PP"
	current = name
}
$1 == "U" {
	if (current != "SYNOPSIS") {
		print ".SH SYNOPSIS"
		current = "SYNOPSIS"
	} else {
		print ".br"
	}
	put(synopsis($2))
	next
}
$1 == "R" && $3 == "" {
	print (in_list ? ".br" : ".PP\n.RS 4")
	put(bold($2))
	in_list = 1
	next
}
in_list {
	print ".RE"
	in_list = 0
}
$1 == "P" {
	section(has_rows ? current : "DESCRIPTION")
	put(inline($2))
	next
}
$1 == "H" {
	section(rows)
	has_rows = 1
	if (current != $2 ":")
		put(inline($2))
	next
}
$1 == "R" {
	if (!has_rows)
		section(rows)
	has_rows = 1
	print ".TP"
	put($2 ~ /^-/ ? option($2) : bold($2))
	put(inline($3))
}

# "-o, --out FILE": the commas are text.
function option(text,    n, i, part, out) {
	n = split(text, part, /, -/)
	out = synopsis(part[1])
	for (i = 2; i <= n; i++)
		out = out ", " synopsis("-" part[i])
	return out
}
