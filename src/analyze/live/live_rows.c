/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the eBPF families: totals by process (protos/trace/linux/ebpf_process_rows.proto). */
#include "analyze/live/live_internal.h"

#include "base/core/mem.h"
#include "gen/fields.h"

#define COLUMNS_MAX 16u
#define NOT_SHOWN LIVE_METRICS

/* The first values of a row of the family "processes". */
enum { PROCESSES_START, PROCESSES_RSS };

static const struct family {
	const char *name;
	enum live_source source;
	uint32_t n;
	enum live_metric metrics[COLUMNS_MAX];
} families[] = {
	{"cpu_time",
	 LIVE_ROWS_CPU_TIME,
	 5,
	 {LIVE_CPU, LIVE_RUNQ, LIVE_SLEEP, LIVE_BLOCKED, NOT_SHOWN}},
	{"syscalls",
	 LIVE_ROWS_SYSCALLS,
	 3,
	 {LIVE_SYSCALLS, LIVE_SYSCALL_TIME, LIVE_SYSCALL_ERRORS}},
	{"processes", LIVE_ROWS_PROCESSES, 4, {NOT_SHOWN, NOT_SHOWN, LIVE_READ, LIVE_WRITTEN}},
};

static const struct family *family_of(const struct pb_field *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		if (pb_field_is(name, families[i].name))
			return &families[i];
	return NULL;
}

/* Returns true if the counters began at 0 during the session: the family "processes" counts from
 * the start of the process, the others from the start of the session. */
static bool began_in_session(const struct live *l, const struct live_entry *p,
			     enum live_source source)
{
	return source != LIVE_ROWS_PROCESSES || p->start_ns >= l->setup.began_ns;
}

static void read_row(struct live *l, const struct family *f, const uint64_t *row, uint64_t at)
{
	struct live_entry *p =
		row[0] && row[0] <= INT32_MAX ? live_process_of(l, (int32_t)row[0]) : NULL;
	const uint64_t *values = row + 1;

	if (!p)
		return;
	live_note_seen(l, p, at);
	if (f->source == LIVE_ROWS_PROCESSES) {
		p->listed_at = at;
		live_set_start(l, p, values[PROCESSES_START]);
		p->p.rss = values[PROCESSES_RSS];
		p->p.has_rss = p->p.rss > 0;
	}
	for (uint32_t i = 0; i < f->n; i++) {
		enum live_metric m = f->metrics[i];
		uint64_t v = values[i], last;

		if (m == NOT_SHOWN)
			continue;
		last = p->has_last >> m & 1		   ? p->last[m]
		       : began_in_session(l, p, f->source) ? 0
							   : v;
		live_add_growth(&p->p.values[m], v >= last ? v - last : v, at,
				l->before[f->source]);
		p->source[m] = f->source;
		p->last[m] = v;
		p->has_last |= 1u << m;
	}
}

static void read_packed_rows(struct live *l, const struct family *f, uint32_t columns,
			     const struct pb_field *rows, uint64_t at)
{
	struct pb_packed values = pb_packed_of(rows);
	uint64_t row[1 + COLUMNS_MAX];
	uint32_t n = 0;

	while (pb_packed_next(&values, &row[n])) {
		if (n++ < columns)
			continue;
		read_row(l, f, row, at);
		n = 0;
	}
	l->losses.bad_packets += n > 0;
}

static void live_rows_read_name(struct live *l, const struct pb_field *message, uint64_t at)
{
	struct pb_field name = {0};
	bool is_kthread = false;
	struct live_entry *p;
	uint64_t pid = 0;
	bool ok = pb_read(message, PB_TO(PB_EBPF_PROCESS_ROWS_PROCESS_PID, &pid),
			  PB_TO(PB_EBPF_PROCESS_ROWS_PROCESS_NAME, &name),
			  PB_TO(PB_EBPF_PROCESS_ROWS_PROCESS_IS_KTHREAD, &is_kthread));

	p = ok && pid && pid <= INT32_MAX ? live_process_of(l, (int32_t)pid) : NULL;
	if (!p || !name.data)
		return;
	live_note_seen(l, p, at);
	p->is_kthread = is_kthread;
	live_set_name(p, name.data, name.len);
}

void live_read_rows(struct live *l, const struct packet *p)
{
	struct pb_field family = {0}, rows = {0};
	const struct family *of;
	uint64_t columns = 0;
	bool ok = pb_read(&p->payload, PB_TO(PB_EBPF_PROCESS_ROWS_FAMILY, &family),
			  PB_TO(PB_EBPF_PROCESS_ROWS_COLUMNS, &columns),
			  PB_TO(PB_EBPF_PROCESS_ROWS_ROWS, &rows));

	of = family_of(&family);
	if (!of)
		return;
	if (!ok || columns < of->n || columns > COLUMNS_MAX) {
		l->losses.bad_packets++;
		return;
	}
	l->has_rows = true;
	l->counts_calls |= of->source == LIVE_ROWS_SYSCALLS;
	live_note_poll(l, of->source, p->timestamp);
	if (rows.data)
		read_packed_rows(l, of, (uint32_t)columns, &rows, p->timestamp);
	pb_for_each (f, &p->payload)
		if (f.id == PB_EBPF_PROCESS_ROWS_PROCESSES && f.data)
			live_rows_read_name(l, &f, p->timestamp);
}
