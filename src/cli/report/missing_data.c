/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/missing_data.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "analyze/name_list.h"
#include "base/text/regex.h"
#include "base/text/str.h"

/*
 * A producer must match the machine filter first, then one of the name filters, if there are any.
 *
 * A service reports the machine of a remote producer, but not its own machine name. That name comes
 * from PERFETTO_MACHINE_NAME in the service's environment, for which we take ours, or else from
 * uname(2).
 *
 * An expression that base/text/regex.h does not support may be valid for another service: it is not
 * evaluated.
 */

#define REGEX_STEPS (1u << 24)

static bool has(char *const *list, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i], text))
			return true;
	return false;
}

/* ---- machines ---- */

static bool names_host(const Pb__TraceConfig__DataSource *s)
{
	const char *name = getenv("PERFETTO_MACHINE_NAME");
	char *const *list = s->machine_name_filter;
	size_t n = s->n_machine_name_filter;
	struct utsname u;

	if (has(list, n, "host"))
		return true;
	if (name && *name)
		return has(list, n, name);
	return uname(&u) < 0 || has(list, n, u.sysname);
}

static bool machine_passes(const Pb__TraceConfig *config, const Pb__TraceConfig__DataSource *s,
			   const Pb__TracingServiceState__Producer *p)
{
	bool remote = p->has_machine_id && p->machine_id;

	if (s->n_machine_name_filter == 0)
		return !remote || config->trace_all_machines;
	if (!remote)
		return names_host(s);
	return !p->machine_name ||
	       has(s->machine_name_filter, s->n_machine_name_filter, p->machine_name);
}

/* ---- names ---- */

static bool regex_passes(const char *pattern, const char *name)
{
	uint64_t steps = REGEX_STEPS;
	struct regex *re;
	int r;

	if (regex_new(pattern, NULL, &re) < 0)
		return true;
	r = regex_match(re, REGEX_WHOLE, name, strlen(name), 0, NULL, &steps);
	regex_free(re);
	return r != 0;
}

static bool name_passes(const Pb__TraceConfig__DataSource *s, const char *name)
{
	if (!name || (s->n_producer_name_filter == 0 && s->n_producer_name_regex_filter == 0))
		return true;
	if (has(s->producer_name_filter, s->n_producer_name_filter, name))
		return true;
	for (size_t i = 0; i < s->n_producer_name_regex_filter; i++)
		if (regex_passes(s->producer_name_regex_filter[i], name))
			return true;
	return false;
}

enum source_match source_match(const Pb__TraceConfig *config,
			       const Pb__TraceConfig__DataSource *source,
			       const Pb__TracingServiceState__Producer *producer)
{
	if (!machine_passes(config, source, producer))
		return SOURCE_OTHER_MACHINE;
	return name_passes(source, producer->name) ? SOURCE_GIVEN : SOURCE_OTHER_PRODUCER;
}

/*
 *	sched/sched_switch (filter refused: Field not found at character 18: prev_pid == 1 && ^x)
 *
 *	event sched/sched_switch could not be recorded: filter refused: Field not found
 *	  prev_pid == 1 && x
 *	                   ^
 *
 * A pattern makes many events fail for one reason, so these are reported together.
 */

#define NAMED 3 /* events per reason; the others are counted */

/* A view of one entry. */
struct entry {
	const char *what;
	size_t what_len;
	const char *reason; /* without its brackets; "": none */
	size_t reason_len;
};

static struct entry read_entry(const char *text)
{
	const char *open = strstr(text, " (");
	size_t len = strlen(text);

	if (!open || text[len - 1] != ')')
		return (struct entry){text, len, "", 0};
	return (struct entry){text, (size_t)(open - text), open + 2,
			      (size_t)(text + len - 1 - (open + 2))};
}

static bool is_option(const struct entry *e)
{
	return str_starts(e->what, "option:");
}

static bool same_reason(const struct entry *a, const struct entry *b)
{
	return a->reason_len == b->reason_len && !memcmp(a->reason, b->reason, a->reason_len) &&
	       !is_option(a) && !is_option(b);
}

/* ---- the position in the expression ---- */

/* "WHAT at character N: SHOWN", with a '^' in SHOWN before that character. "..." stands for text
 * that is cut off. */
struct place {
	size_t what_len;
	const char *shown;
	const char *caret;
};

static bool find_place(const char *reason, size_t len, struct place *ret)
{
	static const char mark[] = " at character ";
	const char *at = memmem(reason, len, mark, strlen(mark)), *end = reason + len;
	char *shown;
	size_t n;

	if (!at)
		return false;
	n = strtoul(at + strlen(mark), &shown, 10);
	if (!n || shown + 2 > end || shown[0] != ':' || shown[1] != ' ')
		return false;
	shown += 2;
	*ret = (struct place){.what_len = (size_t)(at - reason), .shown = shown};
	if (n <= (size_t)(end - shown) && shown[n - 1] == '^')
		ret->caret = shown + n - 1;
	else
		ret->caret = memchr(shown, '^', (size_t)(end - shown));
	return ret->caret;
}

/* Appends as many blanks as the text is wide. */
static void put_blanks(const char *text, const char *end, struct strbuf *lines)
{
	for (; text < end; text++)
		if (((unsigned char)*text & 0xc0) != 0x80)
			strbuf_putc(lines, *text == '\t' ? '\t' : ' ');
}

static void put_reason(const struct entry *e, struct strbuf *lines)
{
	const char *end = e->reason + e->reason_len;
	struct place p;

	if (!e->reason_len) {
		strbuf_putc(lines, '\n');
		return;
	}
	strbuf_puts(lines, ": ");
	if (!find_place(e->reason, e->reason_len, &p)) {
		strbuf_add(lines, e->reason, e->reason_len);
		strbuf_putc(lines, '\n');
		return;
	}
	strbuf_add(lines, e->reason, p.what_len);
	strbuf_puts(lines, "\n  ");
	strbuf_add(lines, p.shown, (size_t)(p.caret - p.shown));
	strbuf_add(lines, p.caret + 1, (size_t)(end - p.caret - 1));
	strbuf_puts(lines, "\n  ");
	put_blanks(p.shown, p.caret, lines);
	strbuf_puts(lines, "^\n");
}

/* ---- entries ---- */

static void tell_option(const struct entry *e, struct strbuf *lines)
{
	size_t prefix = strlen("option:");

	strbuf_puts(lines, "ftrace option ");
	strbuf_add(lines, e->what + prefix, e->what_len - prefix);
	put_reason(e, lines);
}

static const char trigger_refused[] = "trigger refused: ";

/* Returns true if the entry is about a trigger: the event itself is recorded. */
static bool is_trigger(const struct entry *e)
{
	return e->reason_len > strlen(trigger_refused) && str_starts(e->reason, trigger_refused);
}

static void tell_refused(struct entry *e, struct strbuf *lines)
{
	strbuf_puts(lines, " is refused");
	e->reason += strlen(trigger_refused);
	e->reason_len -= strlen(trigger_refused);
}

/* Reports the entry at first, and all later ones of the same reason. */
static void tell_events(const struct name_list *failed, size_t first, struct strbuf *lines)
{
	struct entry e = read_entry(failed->names[first]);
	struct strbuf names = {0};
	size_t n = 0;

	for (size_t i = first; i < failed->n; i++) {
		struct entry other = read_entry(failed->names[i]);

		if (!same_reason(&e, &other))
			continue;
		if (n++ >= NAMED)
			continue;
		strbuf_puts(&names, n == 1 ? "" : ", ");
		strbuf_add(&names, other.what, other.what_len);
	}
	strbuf_printf(lines, "%sevent%s %s", is_trigger(&e) ? "trigger at " : "", n == 1 ? "" : "s",
		      names.s ? names.s : "");
	if (n > NAMED)
		strbuf_printf(lines, " and %zu others", n - NAMED);
	if (is_trigger(&e))
		tell_refused(&e, lines);
	else
		strbuf_puts(lines, " could not be recorded");
	put_reason(&e, lines);
	strbuf_deinit(&names);
}

static bool is_told(const struct name_list *failed, size_t i, const struct entry *e)
{
	while (i-- > 0) {
		struct entry earlier = read_entry(failed->names[i]);

		if (same_reason(e, &earlier))
			return true;
	}
	return false;
}

/*
 * Writes FtraceStats.failed_ftrace_events as lines for a person, each ended:
 *
 *	group/name (reason)       events of one reason together
 *	option:field (reason)     used by sonda-probes for fields of FtraceConfig
 *
 * The position at which the kernel rejected an expression is shown below it.
 */
static void failed_events_tell(const struct name_list *failed, struct strbuf *lines)
{
	for (size_t i = 0; i < failed->n; i++) {
		struct entry e = read_entry(failed->names[i]);

		if (is_option(&e))
			tell_option(&e, lines);
		else if (!is_told(failed, i, &e))
			tell_events(failed, i, lines);
	}
}

/*
 * Only this program reports them. A service starts a session whose data sources do not exist. A
 * producer records the existing events and writes the others into a packet that no viewer shows.
 */

static const Pb__FtraceConfig *ftrace_of(const Pb__TraceConfig__DataSource *source)
{
	const Pb__DataSourceConfig *c = source->config;

	return c && c->name && !strcmp(c->name, "linux.ftrace") ? c->ftrace_config : NULL;
}

bool asks_for_ftrace(const Pb__TraceConfig *config)
{
	for (size_t i = 0; i < config->n_data_sources; i++)
		if (ftrace_of(config->data_sources[i]))
			return true;
	return false;
}

bool asks_for_ftrace_only(const Pb__TraceConfig *config)
{
	for (size_t i = 0; i < config->n_data_sources; i++)
		if (!ftrace_of(config->data_sources[i]))
			return false;
	return config->n_data_sources != 0;
}

bool asks_for_source(const Pb__TraceConfig *config, const char *name)
{
	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__DataSourceConfig *c = config->data_sources[i]->config;

		if (c && c->name && !strcmp(c->name, name))
			return true;
	}
	return false;
}

/* ---- events ---- */

/* Ends the line with the nearest name, if there is one. */
static void end_with_nearest(const char *word, const struct tracefs_events *events,
			     struct strbuf *lines)
{
	char buf[TRACEFS_EVENTS_MAX_NAME];
	const char *nearest = tracefs_events_nearest(events, word, buf);

	if (nearest && strcmp(nearest, word))
		strbuf_printf(lines, "; did you mean %s?", nearest);
	else if (!strcmp(word, "help"))
		strbuf_puts(lines, "; see 'sonda help record'");
	strbuf_putc(lines, '\n');
}

static bool is_pattern(const char *word)
{
	return strpbrk(word, "*?[");
}

static void tell_missing(const char *word, const struct tracefs_events *events, bool with_nearest,
			 struct strbuf *lines)
{
	strbuf_printf(lines,
		      is_pattern(word) ? "no event matches '%s'" : "event '%s' does not exist",
		      word);
	if (is_pattern(word) || !with_nearest)
		strbuf_putc(lines, '\n');
	else
		end_with_nearest(word, events, lines);
}

size_t missing_idle(const struct event_requests *idle, const struct tracefs_events *events,
		    struct strbuf *lines)
{
	for (size_t i = 0; i < idle->n; i++) {
		strbuf_printf(lines, "'%s' excludes no event", idle->names[i]);
		if (is_pattern(idle->names[i]) || i >= MISSING_NEAREST)
			strbuf_putc(lines, '\n');
		else
			end_with_nearest(idle->names[i] + 1, events, lines);
	}
	return idle->n;
}

static void add_text(struct name_list *l, const char *s)
{
	name_list_add(l, (const uint8_t *)s, strlen(s));
}

static bool is_deaf(const Pb__ProcessStatsConfig *c)
{
	for (size_t i = 0; i < c->n_quirks; i++)
		if (c->quirks[i] == PB__PROCESS_STATS_CONFIG__QUIRKS__DISABLE_ON_DEMAND)
			return true;
	return false;
}

/* Reports resolve_process_fds that has no effect: linux.process_stats gets the opened files only
 * from the events of linux.ftrace. */
static size_t tell_files_missing(const Pb__TraceConfig *config, struct strbuf *lines)
{
	const char *why;
	size_t n = 0;

	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__DataSourceConfig *c = config->data_sources[i]->config;

		if (!c || !c->name || strcmp(c->name, "linux.process_stats") ||
		    !c->process_stats_config || !c->process_stats_config->resolve_process_fds)
			continue;
		if (!asks_for_source(config, "linux.ftrace"))
			why = "it needs a data source linux.ftrace";
		else if (is_deaf(c->process_stats_config))
			why = "quirks DISABLE_ON_DEMAND disables it";
		else
			continue;
		strbuf_printf(lines,
			      "resolve_process_fds of linux.process_stats resolves no files: %s\n",
			      why);
		n++;
	}
	return n;
}

/* Reports that a list is truncated. Names past the list's own limit are counted again at each
 * flush, so their number is not given. */
static size_t tell_more(const char *what, uint64_t more, const struct name_list *l,
			struct strbuf *lines)
{
	if (more)
		strbuf_printf(lines, "and %llu more %s\n", (unsigned long long)more, what);
	else if (l->left_out)
		strbuf_printf(lines, "and more %s\n", what);
	return more || l->left_out;
}

size_t missing_events(const Pb__TraceConfig *config, const struct ftrace_scan *ftrace,
		      const struct tracefs_events *events, struct strbuf *lines)
{
	struct name_list missing = {0};
	const Pb__FtraceConfig *f;
	size_t n;

	for (size_t i = 0; i < config->n_data_sources; i++) {
		f = ftrace_of(config->data_sources[i]);
		for (size_t k = 0; f && events && k < f->n_ftrace_events; k++)
			if (!tracefs_events_has(events, f->ftrace_events[k]))
				add_text(&missing, f->ftrace_events[k]);
	}
	for (size_t i = 0; ftrace && i < ftrace->unknown.n; i++)
		add_text(&missing, ftrace->unknown.names[i]);
	for (size_t i = 0; i < missing.n; i++)
		tell_missing(missing.names[i], events, i < MISSING_NEAREST, lines);
	n = missing.n;
	if (ftrace)
		n += tell_more("events that do not exist", ftrace->unknown_more, &ftrace->unknown,
			       lines);
	n += tell_files_missing(config, lines);
	name_list_deinit(&missing);

	if (ftrace) {
		failed_events_tell(&ftrace->failed, lines);
		n += ftrace->failed.n;
		n += tell_more("that could not be recorded", ftrace->failed_more, &ftrace->failed,
			       lines);
	}
	for (size_t i = 0; ftrace && i < ftrace->problems.n; i++, n++)
		strbuf_printf(lines, "ftrace: %s\n", ftrace->problems.names[i]);
	return n;
}

/* Returns true if the config may record events that are in no list of events. */
static bool makes_events(const Pb__FtraceConfig *f)
{
	return f->n_ftrace_events == 0 || f->n_syscall_events || f->n_kprobe_events ||
	       f->n_uprobe_events || f->enable_function_graph || f->n_atrace_categories ||
	       f->n_atrace_apps;
}

/* Returns true if the data source only names processes, and records nothing by itself. */
static bool only_names(const Pb__DataSourceConfig *c)
{
	const Pb__ProcessStatsConfig *p = c ? c->process_stats_config : NULL;

	return c && c->name &&
	       (!strcmp(c->name, "linux.system_info") ||
		(!strcmp(c->name, "linux.process_stats") && (!p || !p->proc_stats_poll_ms)));
}

bool missing_all_events(const Pb__TraceConfig *config, const struct tracefs_events *events,
			struct strbuf *lines)
{
	bool any = false;

	if (config->trace_all_machines)
		return false;
	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__TraceConfig__DataSource *d = config->data_sources[i];
		const Pb__FtraceConfig *f = ftrace_of(d);

		if (!f && only_names(d->config))
			continue;
		if (!f || makes_events(f) || d->n_machine_name_filter)
			return false;
		for (size_t k = 0; k < f->n_ftrace_events; k++)
			if (tracefs_events_has(events, f->ftrace_events[k]))
				return false;
		any = true;
	}
	if (any)
		missing_events(config, NULL, events, lines);
	return any;
}

/* ---- data sources ---- */

static const Pb__TracingServiceState__Producer *producer_of(const Pb__TracingServiceState *state,
							    int32_t id)
{
	static const Pb__TracingServiceState__Producer unknown =
		PB__TRACING_SERVICE_STATE__PRODUCER__INIT;

	for (size_t i = 0; i < state->n_producers; i++)
		if (state->producers[i]->id == id)
			return state->producers[i];
	return &unknown;
}

/* Finds the best match of a source among all producers that have registered it. Returns false if
 * none has. */
static bool find_match(const Pb__TraceConfig *config, const Pb__TraceConfig__DataSource *source,
		       const Pb__TracingServiceState *state, enum source_match *ret)
{
	enum source_match m;
	bool found = false;

	for (size_t i = 0; i < state->n_data_sources; i++) {
		const Pb__TracingServiceState__DataSource *r = state->data_sources[i];
		const Pb__DataSourceDescriptor *d = r->ds_descriptor;

		if (r->left_out || !d || !d->name || strcmp(d->name, source->config->name))
			continue;
		m = source_match(config, source, producer_of(state, r->producer_id));
		*ret = found && *ret < m ? *ret : m;
		found = true;
	}
	return found;
}

static void put_filter(struct strbuf *s, const char *field, char *const *values, size_t n)
{
	if (n)
		strbuf_printf(s, " %s \"%s\"%s", field, values[0], n > 1 ? ", ..." : "");
}

static void tell_left_out(const Pb__TraceConfig__DataSource *d, enum source_match why,
			  struct name_list *ret)
{
	struct strbuf s = {0};

	strbuf_printf(&s, "data source '%s' is left out: ", d->config->name);
	if (why == SOURCE_OTHER_MACHINE && d->n_machine_name_filter == 0) {
		strbuf_puts(&s,
			    "only other machines provide it, and trace_all_machines is not set");
	} else {
		strbuf_puts(&s, "no producer that provides it matches");
		if (why == SOURCE_OTHER_MACHINE) {
			put_filter(&s, "machine_name_filter", d->machine_name_filter,
				   d->n_machine_name_filter);
		} else {
			put_filter(&s, "producer_name_filter", d->producer_name_filter,
				   d->n_producer_name_filter);
			put_filter(&s, "producer_name_regex_filter", d->producer_name_regex_filter,
				   d->n_producer_name_regex_filter);
		}
	}
	if (s.s)
		add_text(ret, s.s);
	strbuf_deinit(&s);
}

void missing_sources(const Pb__TraceConfig *config, const Pb__TracingServiceState *state,
		     struct name_list *ret_names, struct name_list *ret_left_out)
{
	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__TraceConfig__DataSource *d = config->data_sources[i];
		enum source_match match;

		if (!d->config || !d->config->name || !*d->config->name)
			continue;
		if (!find_match(config, d, state, &match))
			add_text(ret_names, d->config->name);
		else if (match != SOURCE_GIVEN)
			tell_left_out(d, match, ret_left_out);
	}
}
