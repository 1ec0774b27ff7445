# SPDX-License-Identifier: Apache-2.0
#
# Lists the fields of TraceConfig and of all messages in it, with the comments of the .proto files, for a man page.
#
# Reads the plain layout that protos/ keeps: one field, one brace a line. A comment belongs to what follows it or stands
# before it on the same line.

# What producers of other systems record; a service only passes these on.
function is_foreign(file) {
	return file ~ /config\/(android|chrome|etw|gpu|interceptors|power|qnx|statsd)\//
}

function scope(    i, out) {
	out = ""
	for (i = 1; i <= depth; i++)
		if (kind[i] != "oneof")
			out = out (out == "" ? "" : ".") name[i]
	return out
}

function append(a, b) {
	sub(/^ +/, "", b)
	return a == "" || b == "" ? a b : a " " b
}

FNR == 1 { depth = 0; comment = "" }
/^[ \t]*\/\// {
	sub(/^[ \t]*\/\/ ?/, "")
	comment = append(comment, $0)
	next
}
/^[ \t]*$/ { comment = ""; next }
{
	trailing = ""
	if (match($0, /\/\//)) {
		trailing = substr($0, RSTART + 2)
		$0 = substr($0, 1, RSTART - 1)
	}
}
/^[ \t]*(message|enum|oneof)[ \t]/ {
	kind[++depth] = $1
	name[depth] = $2
	full = scope()
	if ($1 != "oneof") {
		type_kind[full] = $1
		type_file[full] = FILENAME
		type_comment[full] = append(comment, trailing)
	}
	comment = ""
	if (/\}/)
		depth--
	next
}
/^[ \t]*\}/ { depth--; comment = ""; next }
depth && / = -?[0-9]+/ && $1 != "reserved" && $1 != "option" {
	full = scope()
	i = ++n_fields[full]
	if (kind[depth] == "enum") {
		field_name[full, i] = $1
	} else {
		at = $1 ~ /^(optional|repeated|required)$/ ? 2 : 1
		field_label[full, i] = $1 == "repeated" ? "repeated " : ""
		field_type[full, i] = $at
		field_name[full, i] = $(at + 1)
	}
	field_comment[full, i] = append(append(comment, trailing), /deprecated = true/ ? "Deprecated." : "")
	comment = ""
	next
}
{ comment = "" }

# The full name of a type that a field of message `from` names, or "" for a scalar.
function resolve(from, type,    candidate) {
	while (1) {
		candidate = from == "" ? type : from "." type
		if (candidate in type_kind)
			return candidate
		if (from == "")
			return ""
		if (from ~ /\./)
			sub(/\.[^.]*$/, "", from)
		else
			from = ""
	}
}

# Breadth first: messages and enums in the order in which a reader meets them.
function walk(root,    head, m, i, t) {
	queue[n_queue = 1] = root
	queued[root] = 1
	for (head = 1; head <= n_queue; head++) {
		m = queue[head]
		if (type_kind[m] == "enum")
			continue
		for (i = 1; i <= n_fields[m]; i++) {
			t = resolve(m, field_type[m, i])
			field_full[m, i] = t
			if (t != "" && !(t in queued)) {
				queued[t] = 1
				queue[++n_queue] = t
			}
		}
	}
}

function print_message(m,    i, t) {
	print ".SS " roff_arg(m)
	if (type_comment[m] != "")
		put(inline(type_comment[m]))
	for (i = 1; i <= n_fields[m]; i++) {
		t = field_full[m, i] == "" ? field_type[m, i] : field_full[m, i]
		print ".TP"
		put(bold(field_name[m, i]) "  \\fI" roff(field_label[m, i] t) "\\fR")
		put(field_comment[m, i] == "" ? "\\&" : inline(field_comment[m, i]))
	}
}

# A list too long for a page is left to its file.
function print_enum(e,    i) {
	print ".SS " roff_arg(e)
	if (type_comment[e] != "")
		put(inline(type_comment[e]))
	if (n_fields[e] > 300) {
		put(roff(n_fields[e] " values, see " type_file[e] "."))
		return
	}
	for (i = 1; i <= n_fields[e]; i++) {
		print ".TP"
		put(bold(field_name[e, i]))
		put(field_comment[e, i] == "" ? "\\&" : inline(field_comment[e, i]))
	}
}

function print_all(title, wanted_kind, foreign,    i) {
	print ".SH " roff_arg(title)
	for (i = 1; i <= n_queue; i++) {
		if (type_kind[queue[i]] != wanted_kind || (wanted_kind == "message" && is_foreign(type_file[queue[i]]) != foreign))
			continue
		if (wanted_kind == "message")
			print_message(queue[i])
		else
			print_enum(queue[i])
	}
}

END {
	walk("TraceConfig")
	print_all("FIELDS", "message", 0)
	print_all("FIELDS FOR OTHER SYSTEMS", "message", 1)
	print_all("ENUMERATIONS", "enum", 0)
}
