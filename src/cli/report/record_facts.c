/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/record_facts.h"

#include <math.h>

#include "base/core/mem.h"
#include "cli/report/config_sources.h"

const struct service_stats *record_find_stats(const struct record_facts *f)
{
	if (f->stats)
		return f->stats;
	return f->scan->has_stats ? &f->scan->stats : NULL;
}

bool record_is_end_missing(const struct record_facts *f)
{
	const struct trace_scan *s = f->scan;

	if (!f->origin_unknown || f->goes_on || f->unread || f->stats || s->disabled_ns ||
	    s->stats.final_flush_succeeded || s->stats.final_flush_failed)
		return false;
	return s->started_ns || f->config->rotate;
}

#define NOTICEABLE_MS 100 /* durations that differ by less count as the same */

/* Returns the time when all data sources had started; if that is unknown, when tracing started. */
static uint64_t begin_of_recording(const struct trace_scan *s)
{
	bool before_end = !s->disabled_ns || s->all_started_ns < s->disabled_ns;

	return s->all_started_ns > s->started_ns && before_end ? s->all_started_ns : s->started_ns;
}

/* Returns the time from begin, or from the oldest data if that is 0, to the newest data. */
static double seconds_of_data(const struct trace_scan *s, uint64_t begin)
{
	const struct ftrace_scan *events = &s->ftrace;
	uint64_t first = s->oldest_ns, last = s->newest_ns;

	if (events->first_ns) {
		uint64_t first_event = events->first_ns + (uint64_t)events->to_boot_ns;

		first = first ? MIN(first, first_event) : first_event;
		last = MAX(last, events->last_ns + (uint64_t)events->to_boot_ns);
	}
	if (begin)
		first = begin;
	return last > first ? (double)(last - first) / 1e9 : 0;
}

/* Returns the time from begin to the end of tracing, by the trace, else by our clock. */
static double tracing_seconds_since(const struct record_facts *f, uint64_t begin,
				    uint64_t elapsed_ms)
{
	const struct trace_scan *s = f->scan;

	/* A snapshot is taken before the recording ends. */
	if (!f->snapshots && begin && s->disabled_ns > begin)
		return (double)(s->disabled_ns - begin) / 1e9;
	return elapsed_ms ? (double)elapsed_ms / 1e3 : seconds_of_data(s, begin);
}

double record_seconds(const struct record_facts *f)
{
	return tracing_seconds_since(f, begin_of_recording(f->scan), f->elapsed_ms);
}

double record_tracing_seconds(const struct record_facts *f)
{
	return tracing_seconds_since(f, f->scan->started_ns, f->set_up_ms + f->elapsed_ms);
}

double record_set_up_seconds(const struct trace_scan *s)
{
	return (double)(begin_of_recording(s) - s->started_ns) / 1e9;
}

double record_requested_seconds(const Pb__TraceConfig *config)
{
	return config->trigger_config ? 0 : config->duration_ms / 1e3;
}

double record_event_seconds(const struct record_facts *f)
{
	const struct ftrace_scan *events = &f->scan->ftrace;

	return events->last_ns > events->first_ns
		       ? (double)(events->last_ns - events->first_ns) / 1e9
		       : 0;
}

static bool differ_noticeably(double a, double b)
{
	return lround(fabs(a - b) * 1e3) >= NOTICEABLE_MS;
}

void record_put_other_durations(const struct record_facts *f, struct strbuf *out)
{
	double recorded = record_seconds(f), asked = record_requested_seconds(f->config);
	double events = record_event_seconds(f);
	const char *separator = " (";

	if (asked > 0 && !f->goes_on && !record_is_end_missing(f) &&
	    differ_noticeably(asked, recorded)) {
		strbuf_printf(out, "%sasked for %.10g s", separator, asked);
		separator = "; ";
	}
	if (events > 0 && !f->snapshots && differ_noticeably(events, recorded)) {
		strbuf_printf(out, events < 0.1 ? "%sevents cover %.1g s" : "%sevents cover %.2f s",
			      separator, events);
		separator = "; ";
	}
	strbuf_puts(out, separator[0] == ';' ? ")" : "");
}

double record_seconds_at(const struct trace_scan *s, uint64_t ns)
{
	uint64_t boot = ns + (uint64_t)s->ftrace.to_boot_ns;

	if (!ns)
		return 0;
	if (s->started_ns)
		return (double)(int64_t)(boot - s->started_ns) / 1e9;
	return (double)(int64_t)(ns - s->ftrace.first_ns) / 1e9;
}

bool record_losses_are_unknown(const struct record_facts *f)
{
	return f->unread || record_is_end_missing(f) ||
	       (config_requests_ftrace(f->config) && !ftrace_scan_has_rings(&f->scan->ftrace));
}

/* ---- triggers ---- */

#define NAMES_LISTED 4

#define MODE(name) PB__TRACE_CONFIG__TRIGGER_CONFIG__TRIGGER_MODE__##name

bool config_triggers_take_snapshots(const Pb__TraceConfig *config)
{
	const Pb__TraceConfig__TriggerConfig *t = config->trigger_config;

	return t && (t->trigger_mode == MODE(CLONE_SNAPSHOT) || t->use_clone_snapshot_if_available);
}

bool config_triggers_end_ring(const Pb__TraceConfig *config)
{
	const Pb__TraceConfig__TriggerConfig *t = config->trigger_config;

	return config_triggers_take_snapshots(config) ||
	       (t && t->trigger_mode == MODE(STOP_TRACING));
}

static void put_names(const Pb__TraceConfig__TriggerConfig *t, struct strbuf *out)
{
	size_t n = t->n_triggers, listed = n > NAMES_LISTED + 1 ? NAMES_LISTED : n;

	for (size_t i = 0; i < listed; i++)
		strbuf_printf(out, "%s'%.100s'",
			      i == 0	   ? ""
			      : i + 1 == n ? " or "
					   : ", ",
			      t->triggers[i]->name ? t->triggers[i]->name : "");
	if (listed < n)
		strbuf_printf(out, " or one of %zu more", n - listed);
}

void config_triggers_put_text(const Pb__TraceConfig *config, struct strbuf *out)
{
	const Pb__TraceConfig__TriggerConfig *t = config->trigger_config;
	bool snapshots = config_triggers_take_snapshots(config);

	if (!t || t->n_triggers == 0)
		return;
	if (!snapshots && t->trigger_mode != MODE(STOP_TRACING) &&
	    t->trigger_mode != MODE(START_TRACING))
		return;
	if (snapshots)
		strbuf_puts(out, "recording; a snapshot is saved on trigger ");
	else if (t->trigger_mode == MODE(STOP_TRACING))
		strbuf_puts(out, "recording until trigger ");
	else
		strbuf_puts(out, "waiting for trigger ");
	put_names(t, out);
	strbuf_puts(out, snapshots ? "; Ctrl-C ends it" : "; without it, nothing is saved");
}
