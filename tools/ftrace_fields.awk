# SPDX-License-Identifier: Apache-2.0
#
# The fields of the kernel's events as protos/trace/ftrace/ names them, for readers of traces. Two lists of
# initialisers, chosen by -v list=:
#
#	fields    {1, 's', "prev_comm"},            all fields of all events, an event's together
#	events    [4] = {"sched_switch", 17, 7},    by the event's number: its name, first field, number of fields
#
# Types: s(tring), i(nt), u(nsigned), r(eal), b(ool). Fields that are messages are left out, and so are extensions of
# sonda (from 2000 on), which are not arguments of the event.

BEGIN {
	split("string bytes", a, " "); for (i in a) type["" a[i]] = "s"
	split("int32 int64 sint32 sint64 sfixed32 sfixed64", a, " "); for (i in a) type["" a[i]] = "i"
	split("uint32 uint64 fixed32 fixed64", a, " "); for (i in a) type["" a[i]] = "u"
	type["double"] = "r"; type["float"] = "f"; type["bool"] = "b"
	print "/* Made by tools/ftrace_fields.awk from protos/trace/ftrace/. */"
}
FNR == 1 { depth = 0 }
{ sub(/\/\/.*/, "") }
/^[ \t]*(message|enum|oneof)[ \t].*\{/ {
	depth++
	kind[depth] = $1
	name[depth] = $2
	if ($1 == "enum")
		is_enum[$2] = 1
	if (/\}/)
		depth--
	next
}
/^[ \t]*\}/ { depth--; next }
depth == 2 && name[1] == "FtraceEvent" && kind[2] == "oneof" && / = [0-9]+/ {
	number = $4 + 0
	message[number] = $1
	event[number] = $2
	if (number > last)
		last = number
	next
}
depth == 1 && kind[1] == "message" && /^[ \t]*(optional|repeated|required)[ \t]/ && / = [0-9]+/ {
	m = name[1]
	i = n_fields[m]++
	field_type[m, i] = $2
	field_name[m, i] = $3
	field_number[m, i] = $5 + 0
}
END {
	first = 0
	for (number = 0; number <= last; number++) {
		if (!(number in event))
			continue
		m = message[number]
		kept = 0
		for (i = 0; i < n_fields[m]; i++) {
			t = field_type[m, i]
			c = t in type ? type[t] : t in is_enum ? "i" : ""
			if (c == "" || field_number[m, i] >= 2000)
				continue
			if (list == "fields")
				printf "{%d, '%s', \"%s\"},\n", field_number[m, i], c, field_name[m, i]
			kept++
		}
		if (list == "events")
			printf "[%d] = {\"%s\", %d, %d},\n", number, event[number], first, kept
		first += kept
	}
}
