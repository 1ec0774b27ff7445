/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/missing_events.h"

#include <stdbool.h>
#include <string.h>

#include "analyze/name_list.h"
#include "base/core/mem.h"
#include "base/text/number_read.h"
#include "base/text/str.h"
#include "cli/report/config_sources.h"
#include "cli/terminal/suggestions.h"

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

static struct entry read_refused_entry(const char *text)
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

static bool has_same_reason(const struct entry *a, const struct entry *b)
{
	return a->reason_len == b->reason_len && !memcmp(a->reason, b->reason, a->reason_len) &&
	       !is_option(a) && !is_option(b);
}

/* ---- the position in the expression ---- */

/* "WHAT at character N: SHOWN", with a '^' in SHOWN before that character. "..." stands for text
 * that is cut off. */
struct position {
	size_t what_len;
	const char *shown;
	const char *caret;
};

static bool find_error_position(const char *reason, size_t len, struct position *ret)
{
	static const char mark[] = " at character ";
	const char *at = memmem(reason, len, mark, strlen(mark)), *end = reason + len;
	const char *shown;
	struct span rest;
	uint64_t n;

	if (!at)
		return false;
	rest = (struct span){at + strlen(mark), (size_t)(end - at) - strlen(mark)};
	if (span_read_u64(&rest, 10, &n) || !n || rest.len < 2 || memcmp(rest.p, ": ", 2) != 0)
		return false;
	shown = rest.p + 2;
	*ret = (struct position){.what_len = (size_t)(at - reason), .shown = shown};
	if (n <= (size_t)(end - shown) && shown[n - 1] == '^')
		ret->caret = shown + n - 1;
	else
		ret->caret = memchr(shown, '^', (size_t)(end - shown));
	return ret->caret;
}

/* Appends blanks that are as wide as the text, to align the next line. */
static void put_blanks(const char *text, const char *end, struct strbuf *lines)
{
	for (; text < end; text++)
		if (((unsigned char)*text & 0xc0) != 0x80)
			strbuf_putc(lines, *text == '\t' ? '\t' : ' ');
}

static void put_reason(const struct entry *e, struct strbuf *lines)
{
	const char *end = e->reason + e->reason_len;
	struct position p;

	if (!e->reason_len) {
		strbuf_putc(lines, '\n');
		return;
	}
	strbuf_puts(lines, ": ");
	if (!find_error_position(e->reason, e->reason_len, &p)) {
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

static void put_refused_option(const struct entry *e, struct strbuf *lines)
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

static void put_refused(struct entry *e, struct strbuf *lines)
{
	strbuf_puts(lines, " was refused");
	e->reason += strlen(trigger_refused);
	e->reason_len -= strlen(trigger_refused);
}

/* Reports the entry with the index `first`, and all later entries with the same reason. */
static void missing_events_put_events(const struct name_list *failed, size_t first,
				      struct strbuf *lines)
{
	struct entry e = read_refused_entry(failed->names[first]);
	struct strbuf names = {0};
	size_t n = 0;

	for (size_t i = first; i < failed->n; i++) {
		struct entry other = read_refused_entry(failed->names[i]);

		if (!has_same_reason(&e, &other))
			continue;
		if (n++ >= NAMED)
			continue;
		strbuf_puts(&names, n == 1 ? "" : ", ");
		strbuf_add(&names, other.what, other.what_len);
	}
	strbuf_printf(lines, "%sevent%s %s", is_trigger(&e) ? "trigger on " : "", n == 1 ? "" : "s",
		      names.s ? names.s : "");
	if (n > NAMED)
		strbuf_printf(lines, " and %zu other%s", n - NAMED, n == NAMED + 1 ? "" : "s");
	if (is_trigger(&e))
		put_refused(&e, lines);
	else
		strbuf_puts(lines, " could not be recorded");
	put_reason(&e, lines);
	strbuf_deinit(&names);
}

static bool is_reason_printed(const struct name_list *failed, size_t i, const struct entry *e)
{
	while (i-- > 0) {
		struct entry earlier = read_refused_entry(failed->names[i]);

		if (has_same_reason(e, &earlier))
			return true;
	}
	return false;
}

/*
 * Writes FtraceStats.failed_ftrace_events as lines for a person, each ending in a newline:
 *
 *	group/name (reason)       events of one reason together
 *	option:field (reason)     used by sonda-probes for fields of FtraceConfig
 *
 * The position at which the kernel rejected an expression is shown below it.
 */
static void failed_events_put(const struct name_list *failed, struct strbuf *lines)
{
	for (size_t i = 0; i < failed->n; i++) {
		struct entry e = read_refused_entry(failed->names[i]);

		if (is_option(&e))
			put_refused_option(&e, lines);
		else if (!is_reason_printed(failed, i, &e))
			missing_events_put_events(failed, i, lines);
	}
}

/*
 * Only this program reports missing events. A service starts a session whose data sources do not
 * exist. A producer records the existing events and writes the names of the others into a packet
 * that no viewer shows.
 */

/* ---- events ---- */

/* Returns true for a name that perf list shows, perhaps with modifiers: perf:cycles, cycles:u. */
static bool is_name_of_perf(const char *word)
{
	static const char *const names[] = {
		"perf",		"cycles",	 "cpu-cycles",	     "instructions",
		"cache-misses", "branch-misses", "cache-references", "branches",
		"cpu-clock",	"task-clock",	 "page-faults",	     "context-switches",
	};
	size_t len = strcspn(word, "/:");

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == len && !memcmp(names[i], word, len))
			return true;
	return false;
}

/* Ends the line with the nearest name, if there is one. */
static void put_nearest_name(const char *word, const struct tracefs_events *events,
			     struct strbuf *lines)
{
	char buf[TRACEFS_EVENTS_MAX_NAME];
	struct presets *presets = presets_new(NULL);
	const char *nearest = suggestions_find(events, presets, word, buf);

	if (nearest && strcmp(nearest, word) && !is_name_of_perf(word))
		strbuf_printf(lines, "; did you mean %s?", nearest);
	else if (is_name_of_perf(word))
		strbuf_puts(lines, "; call stacks at 99 Hz: --cpu-stacks; perf counters: a config "
				   "with linux.perf");
	else if (!strcmp(word, "help"))
		strbuf_puts(lines, "; see 'sonda help record'");
	strbuf_putc(lines, '\n');
	presets_free(presets);
}

static bool missing_events_is_pattern(const char *word)
{
	return strpbrk(word, "*?[");
}

static void put_missing(const char *word, const struct tracefs_events *events, bool with_nearest,
			struct strbuf *lines)
{
	strbuf_printf(lines,
		      missing_events_is_pattern(word) ? "no event matches '%s'"
						      : "event '%s' does not exist",
		      word);
	if (!with_nearest)
		strbuf_putc(lines, '\n');
	else
		put_nearest_name(word, events, lines);
}

size_t missing_events_write_idle(const struct event_requests *idle,
				 const struct tracefs_events *events, struct strbuf *lines)
{
	for (size_t i = 0; i < idle->n; i++) {
		strbuf_printf(lines, "'%s' matches no event to exclude", idle->names[i]);
		if (i >= MISSING_NEAREST)
			strbuf_putc(lines, '\n');
		else
			put_nearest_name(idle->names[i] + 1, events, lines);
	}
	return idle->n;
}

static void missing_events_add_text(struct name_list *l, const char *s)
{
	name_list_add(l, (const uint8_t *)s, strlen(s));
}

/* Reports resolve_process_fds, which sonda-probes does not support. Returns the number of lines. */
static size_t put_missing_files(const Pb__TraceConfig *config, struct strbuf *lines)
{
	size_t n = 0;

	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__DataSourceConfig *c = config->data_sources[i]->config;

		if (!c || !c->name || strcmp(c->name, "linux.process_stats") ||
		    !c->process_stats_config || !c->process_stats_config->resolve_process_fds)
			continue;
		strbuf_puts(lines, "resolve_process_fds of linux.process_stats has no effect: "
				   "sonda-probes does not record open files\n");
		n++;
	}
	return n;
}

/* Reports that a list is truncated; returns true if it is. Names past the list's own limit are
 * counted again at each flush, so their number is not given. */
static size_t put_number_left_out(const char *what, uint64_t more, const struct name_list *l,
				  struct strbuf *lines)
{
	if (more)
		strbuf_printf(lines, "and %llu more %s\n", (unsigned long long)more, what);
	else if (l->left_out)
		strbuf_printf(lines, "and more %s\n", what);
	return more || l->left_out;
}

size_t missing_events_write(const Pb__TraceConfig *config, const struct ftrace_scan *ftrace,
			    const struct tracefs_events *events, struct strbuf *lines)
{
	struct name_list missing = {0};
	const Pb__FtraceConfig *f;
	size_t n;

	for (size_t i = 0; i < config->n_data_sources; i++) {
		f = config_source_ftrace(config->data_sources[i]);
		for (size_t k = 0; f && events && k < f->n_ftrace_events; k++)
			if (!tracefs_events_has(events, f->ftrace_events[k]))
				missing_events_add_text(&missing, f->ftrace_events[k]);
	}
	for (size_t i = 0; ftrace && i < ftrace->unknown.n; i++)
		missing_events_add_text(&missing, ftrace->unknown.names[i]);
	for (size_t i = 0; i < missing.n; i++)
		put_missing(missing.names[i], events, i < MISSING_NEAREST, lines);
	n = missing.n;
	if (ftrace)
		n += put_number_left_out("events that do not exist", ftrace->unknown_more,
					 &ftrace->unknown, lines);
	n += put_missing_files(config, lines);
	name_list_deinit(&missing);

	if (ftrace) {
		failed_events_put(&ftrace->failed, lines);
		n += ftrace->failed.n;
		n += put_number_left_out("that could not be recorded", ftrace->failed_more,
					 &ftrace->failed, lines);
	}
	for (size_t i = 0; ftrace && i < ftrace->problems.n; i++, n++)
		strbuf_printf(lines, "ftrace: %s\n", ftrace->problems.names[i]);
	return n;
}

/* Returns true if the config may record events that are in no list of events. */
static bool may_record_other_events(const Pb__FtraceConfig *f)
{
	return f->n_ftrace_events == 0 || f->n_syscall_events || f->n_kprobe_events ||
	       f->n_uprobe_events || f->enable_function_graph || f->n_atrace_categories ||
	       f->n_atrace_apps;
}

bool missing_events_write_if_all_missing(const Pb__TraceConfig *config,
					 const struct tracefs_events *events, struct strbuf *lines)
{
	bool any = false;

	if (config->trace_all_machines)
		return false;
	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__TraceConfig__DataSource *d = config->data_sources[i];
		const Pb__FtraceConfig *f = config_source_ftrace(d);

		if (!f && config_source_only_names_processes(d->config))
			continue;
		if (!f || may_record_other_events(f) || d->n_machine_name_filter)
			return false;
		for (size_t k = 0; k < f->n_ftrace_events; k++)
			if (tracefs_events_has(events, f->ftrace_events[k]))
				return false;
		any = true;
	}
	if (any)
		missing_events_write(config, NULL, events, lines);
	return any;
}
