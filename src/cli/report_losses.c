/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_losses.h"

#include <inttypes.h>

#include "analyze/store/stats.h"
#include "base/core/mem.h"
#include "base/system/log.h"
#include "cli/report/config_sources.h"
#include "cli/report/record_facts.h"
#include "cli/sql_output.h"

/* ---- what was lost ---- */

/* Returns true for a count of events that a ring lost. */
static bool is_ring_count(uint32_t stat)
{
	return stat == STAT_FTRACE_CPU_OVERRUN_DELTA ||
	       stat == STAT_FTRACE_CPU_COMMIT_OVERRUN_DELTA ||
	       stat == STAT_FTRACE_CPU_DROPPED_EVENTS_DELTA;
}

/* Returns true for a count of other losses, whose number of events is unknown. */
static bool is_other_loss(uint32_t stat)
{
	switch (stat) {
	case STAT_TRACED_BUF_CHUNKS_DISCARDED:
	case STAT_TRACED_BUF_PATCHES_FAILED:
	case STAT_TRACED_BUF_TRACE_WRITER_PACKET_LOSS:
	case STAT_TRACED_BUF_ABI_VIOLATIONS:
	case STAT_TRACED_BUF_SEQUENCE_PACKET_LOSS:
	case STAT_TRACED_FINAL_FLUSH_FAILED:
	case STAT_FTRACE_KPROBE_MISSES_DELTA:
	case STAT_PERF_CPU_LOST_RECORDS:
	case STAT_PERF_SAMPLES_SKIPPED_DATALOSS:
		return true;
	default:
		return false;
	}
}

struct losses_config {
	size_t rings; /* linux.ftrace data sources: each has a ring for each CPU */
	bool wraps; /* the buffers are meant to wrap */
};

static struct losses_config report_losses_config_of(const struct import_result *r)
{
	Pb__TraceConfig *c =
		r->config ? pb__trace_config__unpack(NULL, r->config_len, r->config) : NULL;
	struct losses_config ret = {.rings = 0};

	for (size_t i = 0; c && i < c->n_data_sources; i++)
		ret.rings += !!config_source_ftrace(c->data_sources[i]);
	ret.wraps = c && config_triggers_end_ring(c);
	if (c)
		pb__trace_config__free_unpacked(c, NULL);
	return ret;
}

static void add_stats(const struct store *s, bool wraps, struct report_losses *ret)
{
	const struct table *t = &s->tables[TABLE_STATS];
	bool some = false;

	for (uint32_t row = 0; row < t->rows; row++) {
		uint32_t stat = table_u32(t, STATS_KEY, row);
		int64_t value = table_i64(t, STATS_VALUE, row);

		if (value <= 0)
			continue;
		if (is_ring_count(stat))
			ret->events += (uint64_t)value;
		some |= stat == STAT_FTRACE_CPU_HAS_DATA_LOSS;
		ret->more |= is_other_loss(stat) ||
			     (stat == STAT_TRACED_BUF_BYTES_OVERWRITTEN && !wraps);
	}
	ret->more |= some && !ret->events;
}

void report_losses_find(const struct trace_tables *tables, const char *file,
			struct report_losses *ret)
{
	struct losses_config c = report_losses_config_of(&tables->result);

	*ret = (struct report_losses){.more = tables->result.cut_off};
	add_stats(&tables->store, c.wraps, ret);
	/* The stats are by CPU: if a CPU has several rings, they count the last ring only. */
	if (ret->events && (c.rings > 1 || tables->store.tables[TABLE_MACHINE].rows > 1)) {
		ret->events = 0;
		ret->more = true;
	}
	strbuf_puts(&ret->see, file ? "sonda info " : "sonda info");
	if (file)
		strbuf_put_word(&ret->see, strcmp(file, "-") != 0 ? file : "FILE");
}

void report_losses_deinit(struct report_losses *l)
{
	strbuf_deinit(&l->see);
}

bool report_losses_any(const struct report_losses *l)
{
	return l->events || l->more;
}

/* ---- output ---- */

/* Returns buf, or a constant: "7 events", "at least 7 events", "some events". */
static const char *format_events(const struct report_losses *l, char buf[static 64])
{
	char number[32];

	if (!l->events)
		return "some events";
	snprintf(buf, 64, "%s%s event%s", l->more ? "at least " : "",
		 str_thousands(l->events, number), l->events == 1 ? "" : "s");
	return buf;
}

void report_losses_print(const struct report_losses *l, const struct report_style *style, FILE *to)
{
	char buf[64];

	if (report_losses_any(l))
		fprintf(to, "%sLost%s: %s, which this report lacks   %s(%s)%s\n\n",
			report_bold(style), report_plain(style), format_events(l, buf),
			report_dim(style), l->see.s ? l->see.s : "", report_plain(style));
}

void report_losses_warn(const struct report_losses *l)
{
	char buf[64];

	if (report_losses_any(l))
		log_warn("the trace lost %s, which the report lacks; see %s", format_events(l, buf),
			 l->see.s ? l->see.s : "sonda info");
}

int report_losses_json(const struct report_losses *l, sqlite3 *db, FILE *to)
{
	sqlite3_stmt *st;
	int r = sqlite3_prepare_v2(db, "SELECT nullif(?, 0) AS events, ? AS more, ? AS see", -1,
				   &st, NULL);

	if (r != SQLITE_OK)
		return r;
	sqlite3_bind_int64(st, 1, (int64_t)MIN(l->events, (uint64_t)INT64_MAX));
	sqlite3_bind_int(st, 2, l->more);
	sqlite3_bind_text(st, 3, l->see.s ? l->see.s : "", -1, SQLITE_STATIC);
	r = sql_output(st, SQL_JSON, to);
	sqlite3_finalize(st);
	return r;
}
