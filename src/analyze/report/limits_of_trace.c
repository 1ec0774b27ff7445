/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/limits_of_trace.h"

#include <stdbool.h>
#include <string.h>

#include "base/core/mem.h"
#include "gen/fields.h"
#include "wire/pb_read.h"

#define CPUS_MAX 4096u
#define REQUEST_MAX 200u /* characters; a longer text is not the name of an event */

/* Events that times are computed from. */
static const struct watched {
	const char *group, *name;
	const char *line;
} watched[] = {
	{"sched", "sched_switch", "sched_switch is filtered: thread times are incomplete\n"},
	{"sched", "sched_waking",
	 "sched_waking is filtered: wakeups, and the waits after them, are incomplete\n"},
	{"raw_syscalls", "sys_enter", "sys_enter is filtered: system calls are incomplete\n"},
	{"raw_syscalls", "sys_exit", "sys_exit is filtered: system calls are incomplete\n"},
};

#define SWITCH 0u /* in watched */

struct limits {
	bool cpus[CPUS_MAX];
	bool some_cpus, all_cpus; /* some source has a mask; one without a mask records switches */
	bool filtered[ARRAY_SIZE(watched)], whole[ARRAY_SIZE(watched)];
};

/* The limits of one data source. */
struct source_limits {
	bool has_mask;
	bool recorded[ARRAY_SIZE(watched)], filtered[ARRAY_SIZE(watched)];
};

/* Sets the flags of the events that a request matches: GROUP/NAME or NAME, which may have
 * patterns. */
static void set_flags_of_request(const struct pb_field *request,
				 bool flags[static ARRAY_SIZE(watched)])
{
	char text[REQUEST_MAX + 1];
	char *slash;

	if (!request->data || request->len > REQUEST_MAX)
		return;
	memcpy(text, request->data, request->len);
	text[request->len] = '\0';
	slash = strchr(text, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++)
		flags[i] |= (!slash || str_glob(text, watched[i].group)) &&
			    str_glob(slash ? slash + 1 : text, watched[i].name);
}

/* Adds the CPUs of a mask: words of 32 bits in hex, the last one has the lowest CPUs. */
static void add_cpus(const struct pb_field *mask, bool cpus[static CPUS_MAX])
{
	unsigned word = 0, digit = 0;

	for (size_t i = mask->len; i-- > 0;) {
		unsigned char c = mask->data[i];
		const char *hex = "0123456789abcdef", *at;

		if (c == ',') {
			word++;
			digit = 0;
			continue;
		}
		at = c ? strchr(hex, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
		for (unsigned bit = 0; at && digit < 8 && bit < 4; bit++)
			if ((at - hex) & 1 << bit && word < CPUS_MAX / 32)
				cpus[word * 32 + digit * 4 + bit] = true;
		digit++;
	}
}

static void limits_of_trace_add_source(const struct pb_field *ftrace, struct limits *l)
{
	struct source_limits s = {.has_mask = false};

	pb_for_each (f, ftrace) {
		struct pb_field event, filter;

		if (!f.data)
			continue;
		switch (f.id) {
		case PB_FTRACE_CONFIG_FTRACE_EVENTS:
			set_flags_of_request(&f, s.recorded);
			break;
		case PB_FTRACE_CONFIG_TRACING_CPUMASK:
			s.has_mask = true;
			add_cpus(&f, l->cpus);
			break;
		case PB_FTRACE_CONFIG_EVENT_FILTERS:
			event = pb_inner_field(&f, PB_FTRACE_CONFIG_EVENT_FILTER_EVENT);
			filter = pb_inner_field(&f, PB_FTRACE_CONFIG_EVENT_FILTER_FILTER);
			if (!pb_field_is(&filter, "0")) /* no filter */
				set_flags_of_request(&event, s.filtered);
			break;
		}
	}
	l->some_cpus |= s.has_mask;
	l->all_cpus |= !s.has_mask && s.recorded[SWITCH];
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++) {
		l->filtered[i] |= s.filtered[i];
		l->whole[i] |= s.recorded[i] && !s.filtered[i];
	}
}

/* Writes CPUs as "0-3, 5". Returns how many there are. */
static unsigned put_cpu_ranges(const bool cpus[static CPUS_MAX], struct strbuf *out)
{
	unsigned n = 0;

	for (unsigned c = 0, last; c < CPUS_MAX; c = last + 1) {
		last = c;
		if (!cpus[c])
			continue;
		while (last + 1 < CPUS_MAX && cpus[last + 1])
			last++;
		strbuf_printf(out, "%s%u", n ? ", " : "", c);
		if (last > c)
			strbuf_printf(out, "-%u", last);
		n += last - c + 1;
	}
	return n;
}

/* Returns true if the number of CPUs is known, and each of them is in the mask. */
static bool mask_has_all_cpus(const bool mask[static CPUS_MAX], unsigned cpus)
{
	unsigned c = 0;

	while (c < CPUS_MAX && mask[c])
		c++;
	return cpus > 0 && c >= cpus;
}

void limits_of_trace_write(const uint8_t *config, size_t len, unsigned cpus, struct strbuf *out)
{
	struct limits l = {.some_cpus = false};
	struct strbuf list = {0};
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, config, len);
	while (pb_dec_next(&d, &f)) {
		struct pb_field source, ftrace;

		if (f.id != PB_TRACE_CONFIG_DATA_SOURCES)
			continue;
		source = pb_inner_field(&f, PB_TRACE_CONFIG_DATA_SOURCE_CONFIG);
		ftrace = pb_inner_field(&source, PB_DATA_SOURCE_CONFIG_FTRACE_CONFIG);
		if (ftrace.id)
			limits_of_trace_add_source(&ftrace, &l);
	}
	if (l.some_cpus && !l.all_cpus && !mask_has_all_cpus(l.cpus, cpus)) {
		unsigned n = put_cpu_ranges(l.cpus, &list);

		if (n)
			strbuf_printf(out,
				      "only CPU%s %s %s recorded: a thread on another CPU appears "
				      "to wait\n",
				      n > 1 ? "s" : "", list.s ? list.s : "", n > 1 ? "are" : "is");
	}
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++)
		if (l.filtered[i] && !l.whole[i])
			strbuf_puts(out, watched[i].line);
	out->failed |= list.failed;
	strbuf_deinit(&list);
}
