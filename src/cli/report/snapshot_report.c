/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/snapshot_report.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/text/str.h"
#include "cli/report/config_sources.h"
#include "cli/report/data_losses.h"

/* If a trigger seems older than this, its time is from another clock. */
#define LONGEST_DELAY_NS (8 * 24 * 3600 * NS_PER_S)

void snapshot_log_deinit(struct snapshot_log *log)
{
	for (size_t i = 0; i < SNAPSHOT_LOG_LINES; i++)
		free(log->lines[i]);
	trace_scan_deinit(&log->newest);
	*log = (struct snapshot_log){0};
}

/* ---- a line ---- */

/* Appends the wall-clock time of the trigger. */
static void snapshot_report_put_time(uint64_t boot_ns, struct strbuf *b)
{
	uint64_t now = clock_boot_ns();
	time_t when = time(NULL);
	char text[32];
	struct tm tm;

	if (boot_ns && boot_ns <= now && now - boot_ns < LONGEST_DELAY_NS)
		when = (time_t)((clock_ns(CLOCK_REALTIME) - (now - boot_ns)) / NS_PER_S);
	if (localtime_r(&when, &tm) && strftime(text, sizeof(text), "%F %T", &tm))
		strbuf_printf(b, " at %s", text);
}

static void snapshot_report_put_trigger(const Pb__ObservableEvents__CloneTriggerHit *hit,
					struct strbuf *b)
{
	strbuf_printf(b, "trigger '%.100s'", hit->trigger_name ? hit->trigger_name : "");
	if (hit->producer_name && *hit->producer_name)
		strbuf_printf(b, " of %.100s", hit->producer_name);
	snapshot_report_put_time(hit->boot_time_ns, b);
}

/* Appends the time span of the events. It is omitted if their clock differs from the trigger's. */
static void snapshot_report_put_events(const struct snapshot_facts *f,
				       const struct trace_scan *scan, struct strbuf *b)
{
	char count[STR_COUNT_SIZE];
	const struct ftrace_scan *ftrace = &scan->ftrace;
	uint64_t boot_ns = f->hit->boot_time_ns;

	if (!config_requests_ftrace(f->config) || scan->compressed_packets)
		return;
	strbuf_printf(b, ", %s", str_count(ftrace->counts.total, "event", count));
	if (scan->started_ns && ftrace->first_ns + NS_PER_S > scan->started_ns &&
	    ftrace->first_ns < boot_ns)
		strbuf_printf(b, " from %.1f s before it",
			      (double)(boot_ns - ftrace->first_ns) / 1e9);
}

static void snapshot_report_put_losses(const struct snapshot_facts *f,
				       const struct trace_scan *scan, const char *lines,
				       struct strbuf *b)
{
	const char *end;

	/* "No losses" is stated only if the counters are known. */
	if (!*lines && !f->cut &&
	    (!config_requests_ftrace(f->config) || ftrace_scan_has_rings(&scan->ftrace)))
		strbuf_puts(b, "; lost nothing");
	for (; *lines; lines = end + (*end == '\n')) {
		end = strchrnul(lines, '\n');
		strbuf_puts(b, "; lost: ");
		strbuf_add(b, lines, (size_t)(end - lines));
	}
}

/* Appends the number of holes of each CPU and their total length. */
static void put_holes(const struct trace_scan *scan, struct strbuf *b)
{
	const struct holes *h = &scan->ftrace.holes;
	double s;

	for (size_t i = 0, next; i < h->n; i = next) {
		s = 0;
		for (next = i; next < h->n && h->list[next].cpu == h->list[i].cpu; next++)
			s += record_seconds_at(scan, h->list[next].to_ns) -
			     record_seconds_at(scan, h->list[next].from_ns);
		strbuf_printf(b, "%s cpu%u %zu (%.3f s)", i ? "," : "; holes:", h->list[i].cpu,
			      next - i, s);
	}
	if (h->total > h->n)
		strbuf_printf(b, ", %llu shorter ones", (unsigned long long)(h->total - h->n));
}

/* ---- the log ---- */

static const char *snapshot_log_add_line(struct snapshot_log *log, struct strbuf *line)
{
	char **slot = &log->lines[log->n_lines++ % SNAPSHOT_LOG_LINES];

	if (line->s)
		str_make_plain(line->s, line->len, "");
	free(*slot);
	*slot = strbuf_take(line);
	return *slot ? *slot : "";
}

const char *snapshot_log_add_saved(struct snapshot_log *log, const struct snapshot_facts *f,
				   struct trace_scan *scan)
{
	const struct record_facts facts = {
		.config = f->config,
		.scan = scan,
	};
	struct strbuf line = {0}, lines = {0};
	struct losses losses = {0};
	char number[32];

	strbuf_printf(&line, "%s: ", f->name);
	snapshot_report_put_trigger(f->hit, &line);
	strbuf_printf(&line, ", %s", str_bytes(f->bytes, number));
	snapshot_report_put_events(f, scan, &line);
	losses_collect(&facts, &losses);
	losses_write(&losses, &lines);
	snapshot_report_put_losses(f, scan, lines.s ? lines.s : "", &line);
	put_holes(scan, &line);
	if (f->cut)
		strbuf_printf(&line, "; truncated: %s", f->cut);
	log->saved++;
	log->lossy |= losses.n || f->cut;
	losses_deinit(&losses);
	strbuf_deinit(&lines);
	trace_scan_deinit(&log->newest);
	log->newest = *scan;
	*scan = (struct trace_scan){0};
	return snapshot_log_add_line(log, &line);
}

const char *snapshot_log_add_failed(struct snapshot_log *log,
				    const Pb__ObservableEvents__CloneTriggerHit *hit,
				    const char *why)
{
	struct strbuf line = {0};

	strbuf_puts(&line, "not saved: ");
	snapshot_report_put_trigger(hit, &line);
	strbuf_printf(&line, ": %s", why);
	log->failed++;
	return snapshot_log_add_line(log, &line);
}

void snapshot_log_write(const struct snapshot_log *log, struct strbuf *out)
{
	size_t first = 0;

	if (log->n_lines > SNAPSHOT_LOG_LINES) {
		first = log->n_lines - SNAPSHOT_LOG_LINES;
		strbuf_printf(out, "%zu earlier snapshots, then\n", first);
	}
	for (size_t i = first; i < log->n_lines; i++)
		if (log->lines[i % SNAPSHOT_LOG_LINES])
			strbuf_printf(out, "%s\n", log->lines[i % SNAPSHOT_LOG_LINES]);
}
