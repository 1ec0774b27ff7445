/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/record_facts.h"

#include "base/core/mem.h"
#include "cli/report/config_sources.h"

const struct service_stats *record_stats(const struct record_facts *f)
{
	if (f->stats)
		return f->stats;
	return f->scan->has_stats ? &f->scan->stats : NULL;
}

bool record_lacks_end(const struct record_facts *f)
{
	const struct trace_scan *s = f->scan;

	if (!f->origin_unknown || f->goes_on || f->unread || f->stats || s->disabled_ns ||
	    s->stats.final_flush_succeeded || s->stats.final_flush_failed)
		return false;
	return s->started_ns || f->config->rotate;
}

/* Returns the time from the start of tracing, or else from the oldest data, to the newest data. */
static double seconds_of_data(const struct trace_scan *s)
{
	const struct ftrace_scan *events = &s->ftrace;
	uint64_t first = s->oldest_ns, last = s->newest_ns;

	if (events->first_ns) {
		uint64_t first_event = events->first_ns + (uint64_t)events->to_boot_ns;

		first = first ? MIN(first, first_event) : first_event;
		last = MAX(last, events->last_ns + (uint64_t)events->to_boot_ns);
	}
	if (s->started_ns)
		first = s->started_ns;
	return last > first ? (double)(last - first) / 1e9 : 0;
}

double record_seconds(const struct record_facts *f)
{
	const struct trace_scan *s = f->scan;

	/* A snapshot is taken before the recording ends. */
	if (!f->snapshots && s->started_ns && s->disabled_ns > s->started_ns)
		return (double)(s->disabled_ns - s->started_ns) / 1e9;
	return f->elapsed_ms ? (double)f->elapsed_ms / 1e3 : seconds_of_data(s);
}

double record_hole_seconds(const struct trace_scan *s, uint64_t ns)
{
	uint64_t boot = ns + (uint64_t)s->ftrace.to_boot_ns;

	if (!ns)
		return 0;
	if (s->started_ns)
		return (double)(int64_t)(boot - s->started_ns) / 1e9;
	return (double)(int64_t)(ns - s->ftrace.first_ns) / 1e9;
}

bool losses_are_unknown(const struct record_facts *f)
{
	return f->unread || record_lacks_end(f) ||
	       (asks_for_ftrace(f->config) && !ftrace_scan_has_rings(&f->scan->ftrace));
}

/* ---- triggers ---- */

#define NAMES_LISTED 4

#define MODE(name) PB__TRACE_CONFIG__TRIGGER_CONFIG__TRIGGER_MODE__##name

bool triggers_take_snapshots(const Pb__TraceConfig *config)
{
	const Pb__TraceConfig__TriggerConfig *t = config->trigger_config;

	return t && (t->trigger_mode == MODE(CLONE_SNAPSHOT) || t->use_clone_snapshot_if_available);
}

bool triggers_end_a_ring(const Pb__TraceConfig *config)
{
	const Pb__TraceConfig__TriggerConfig *t = config->trigger_config;

	return triggers_take_snapshots(config) || (t && t->trigger_mode == MODE(STOP_TRACING));
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

void trigger_text(const Pb__TraceConfig *config, struct strbuf *out)
{
	const Pb__TraceConfig__TriggerConfig *t = config->trigger_config;
	bool snapshots = triggers_take_snapshots(config);

	if (!t || t->n_triggers == 0)
		return;
	if (!snapshots && t->trigger_mode != MODE(STOP_TRACING) &&
	    t->trigger_mode != MODE(START_TRACING))
		return;
	if (snapshots)
		strbuf_puts(out, "recording; a snapshot is saved at trigger ");
	else if (t->trigger_mode == MODE(STOP_TRACING))
		strbuf_puts(out, "recording until trigger ");
	else
		strbuf_puts(out, "waiting for trigger ");
	put_names(t, out);
	strbuf_puts(out, snapshots ? "; Ctrl-C ends it" : "; without it nothing is saved");
}
