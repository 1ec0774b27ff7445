# SPDX-License-Identifier: Apache-2.0
#
# The kernel's names of the events that have a message: one initialiser of an array for each event
# field of FtraceEvent,  [4] = {"sched", "sched_switch"},
#
# The file that holds an event's message is named after its tracepoint group. The field is named
# after the event; in groups that share event names with others it carries the group in front.

BEGIN {
	n = split("dpu g2d hypervisor kgsl lwis mali samsung sde", list, " ")
	for (i = 1; i <= n; i++)
		prefixed[list[i]] = 1
	print "/* Made by tools/ftrace_names.awk from protos/trace/ftrace/. */"
}

FNR == 1 {
	base = FILENAME
	sub(/.*\//, "", base)
	sub(/\.proto$/, "", base)
}
{ sub(/\/\/.*/, "") }
base != "ftrace_event" && /^message [A-Za-z0-9]+ *\{/ { group[$2] = base }
base == "ftrace_event" && /^ *oneof / { in_oneof = 1; next }
base == "ftrace_event" && /\}/ { in_oneof = 0 }
base == "ftrace_event" && in_oneof && / = [0-9]+;/ {
	number = $4
	sub(/;.*/, "", number)
	type[number] = $1
	field[number] = $2
	if (number + 0 > last)
		last = number + 0
}

END {
	for (number = 0; number <= last; number++) {
		if (!(number in type) || !(type[number] in group))
			continue
		g = group[type[number]]
		if (type[number] == "KprobeEvent")
			g = "probes"
		if (g == "generic")
			continue
		name = field[number]
		if (g in prefixed && index(name, g "_") == 1)
			name = substr(name, length(g) + 2)
		printf "[%d] = {\"%s\", \"%s\"},\n", number, g, name
	}
}
