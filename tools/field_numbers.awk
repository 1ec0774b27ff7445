# SPDX-License-Identifier: Apache-2.0
#
# Turns .proto files into one C enum of field numbers, for code that encodes or decodes by hand.
# Message Outer.Inner, field some_name  ->  PB_OUTER_INNER_SOME_NAME. If a field before it has that
# name (message Outer, field inner_some_name), the name of the field follows two underscores:
# PB_OUTER__INNER_SOME_NAME.
# With -v rows=1 it makes rows for tests instead: {"Outer.Inner", "some_name", "uint32", 7, false}, where
# the last word says whether the field is packed.
#
# Reads the plain layout that protos/ keeps: one field, one brace a line.

function snake(s,    i, c, p, out) {
	out = ""
	for (i = 1; i <= length(s); i++) {
		c = substr(s, i, 1)
		p = substr(s, i - 1, 1)
		if (i > 1 && c ~ /[A-Z]/ && (p ~ /[a-z0-9]/ || substr(s, i + 1, 1) ~ /[a-z]/))
			out = out "_"
		out = out c
	}
	return toupper(out)
}

BEGIN {
	print "/* Made by tools/field_numbers.awk from protos/. */"
	if (!rows) {
		print "#pragma once"
		print ""
		print "enum pb_field_number {"
	}
}

FNR == 1 { depth = 0 }
{ sub(/\/\/.*/, "") }
/^[ \t]*(message|enum|oneof|extend|service)[ \t]/ && /\{/ {
	kind[++depth] = $1
	name[depth] = $2
	if (/\}/)
		depth--
	next
}
/^[ \t]*\}/ { depth--; next }
depth > 0 && (kind[depth] == "message" || kind[depth] == "oneof") && / = [0-9]+/ {
	if ($1 == "reserved" || $1 == "option")
		next
	at = /^[ \t]*(optional|repeated|required)[ \t]/ ? 3 : 2
	field = $at
	match($0, / = [0-9]+/)
	number = substr($0, RSTART + 3, RLENGTH - 3)
	path = whole = ""
	for (i = 1; i <= depth; i++)
		if (kind[i] == "message") {
			path = path snake(name[i]) "_"
			whole = whole (whole == "" ? "" : ".") name[i]
		}
	if ((path toupper(field)) in seen)
		path = path "_"
	seen[path toupper(field)]
	if (rows)
		printf "{\"%s\", \"%s\", \"%s\", %d, %s},\n", whole, field, $(at - 1), number, /packed = true/ ? "true" : "false"
	else
		print "\tPB_" path toupper(field) " = " number ","
}
END { if (!rows) print "};" }
