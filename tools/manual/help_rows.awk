# SPDX-License-Identifier: Apache-2.0
#
# Splits the --help text of a program or verb into rows of two or three columns, separated by tabs:
#
#	U	usage line
#	P	paragraph
#	H	paragraph that stands directly above rows: their heading
#	R	what is explained	explanation
#
# The text has the layout that all programs of this tree print: a row is indented by at most 8 columns, its explanation
# follows behind two spaces, or on the next lines, which are indented by 9 columns or more.

function flush_row() {
	if (left != "")
		print "R\t" left "\t" right
	left = right = ""
}
function flush_text(kind) {
	if (text != "")
		print kind "\t" text
	text = ""
}
function join_words(a, b) {
	return a == "" ? b : a " " b
}

/^usage: / || (in_usage && /^ +[a-z]/) {
	in_usage = 1
	sub(/^usage: */, "")
	sub(/^ +/, "")
	print "U\t" $0
	next
}
{ in_usage = 0 }
/^[ \t]*$/ {
	flush_row()
	flush_text("P")
	next
}
/^[^ ]/ {
	flush_row()
	text = join_words(text, $0)
	next
}
{
	flush_text("H")
	match($0, /^ +/)
	indent = RLENGTH
	sub(/^ +/, "")
	if (indent > 8 && left != "") {
		right = join_words(right, $0)
		next
	}
	flush_row()
	if (match($0, /  +/)) {
		left = substr($0, 1, RSTART - 1)
		right = substr($0, RSTART + RLENGTH)
	} else {
		left = $0
	}
}
END {
	flush_row()
	flush_text("P")
}
