# SPDX-License-Identifier: Apache-2.0
#
# Turns protos/trace/ftrace/*.proto into the read-only tables behind src/ftrace/format/proto_events.h: one blob of names,
# offsets into it, no pointers.
#
# Reads the plain layout that protos/ keeps: one field, one brace a line. The kernel's group of an event is the base
# name of the file that holds its message; which messages are events, and their numbers, says the oneof of FtraceEvent
# in ftrace_event.proto. Messages inside messages, and events of files that no kernel group stands for (generic.proto),
# are not in the table.

BEGIN { n_events = n_blob = blob_len = n_sorted = 0 }

function fail(text) {
	print "ftrace_events.awk: " text > "/dev/stderr"
	failed = 1
	exit 1
}

# Offset of s in the blob; equal names share one place.
function intern(s) {
	if (!(s in place)) {
		place[s] = blob_len
		blob[n_blob++] = s
		blob_len += length(s) + 1
	}
	return place[s]
}

function type_code(label, type) {
	if (label == "repeated")
		return type == "uint64" ? "PROTO_REPEATED_UINT64" : ""
	if (type ~ /^(int32|int64|uint32|uint64|string|bytes)$/)
		return "PROTO_" toupper(type)
	return ""
}

FNR == 1 {
	depth = 0
	group = FILENAME
	sub(/.*\//, "", group)
	sub(/\.proto$/, "", group)
}
{ sub(/\/\/.*/, "") }
/^[ \t]*(message|enum|oneof)[ \t].*\{/ {
	depth++
	kind[depth] = $1
	name[depth] = $2
	if (depth == 1 && $1 == "message")
		message_group[$2] = group
	if (/\}/)
		depth--
	next
}
/^[ \t]*\}/ { depth--; next }

# The events: "SchedSwitchFtraceEvent sched_switch = 4;"
depth == 2 && name[1] == "FtraceEvent" && kind[2] == "oneof" && / = [0-9]+/ {
	event_message[n_events] = $1
	event_name[n_events] = $2
	event_number[n_events] = $4 + 0
	n_events++
	next
}
# Their fields: "optional string prev_comm = 1;"
depth == 1 && kind[1] == "message" && / = [0-9]+/ {
	m = name[1]
	i = n_fields[m]++
	field_name[m, i] = $3
	field_number[m, i] = $5 + 0
	field_type[m, i] = type_code($1, $2)
}

END {
	if (failed)
		exit 1
	if (!n_events)
		fail("no event in FtraceEvent")

	# Insertion sort by group, then name, as strcmp orders them ("\001" is below every letter).
	for (i = 0; i < n_events; i++) {
		m = event_message[i]
		if (!(m in message_group))
			fail("no message " m)
		if (message_group[m] == "generic")
			continue
		# An old Android tracepoint is called "0", which no protobuf field can be.
		kernel_name = message_group[m] == "systrace" && event_name[i] == "zero" ? "0" : event_name[i]
		key = message_group[m] "\001" kernel_name
		for (j = n_sorted++; j > 0 && sort_key[j - 1] > key; j--) {
			sort_key[j] = sort_key[j - 1]
			sorted[j] = sorted[j - 1]
		}
		sort_key[j] = key
		sorted[j] = i
	}

	print "/* Made by tools/ftrace_events.awk from protos/trace/ftrace/. */"
	print "#include \"ftrace/format/proto_events.h\""
	print ""
	print "const struct proto_event_row proto_event_rows[] = {"
	first = 0
	for (i = 0; i < n_sorted; i++) {
		m = event_message[sorted[i]]
		split(sort_key[i], part, "\001")
		kept = 0
		for (j = 0; j < n_fields[m]; j++) {
			if (field_type[m, j] == "")
				continue
			rows = rows sprintf("\t{ %d, %d, %s },\n", intern(field_name[m, j]), field_number[m, j], \
					    field_type[m, j])
			kept++
		}
		printf "\t{ %d, %d, %d, %d, %d }, /* %s/%s */\n", intern(part[1]), intern(part[2]), \
			event_number[sorted[i]], first, kept, part[1], part[2]
		first += kept
	}
	print "};"
	print "const unsigned proto_event_row_count = " n_sorted ";"
	print ""
	print "const struct proto_field_row proto_field_rows[] = {"
	printf "%s", rows
	print "};"
	print ""
	if (blob_len > 65535 || first > 65535)
		fail("the tables outgrow 16-bit offsets")
	print "const char proto_names[] ="
	for (i = 0; i < n_blob; i++)
		print "\t\"" blob[i] "\\0\""
	print "\t\"\";"
}
