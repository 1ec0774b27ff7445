/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that packets are about, by pid: their counters, and their rows of eBPF families. */
#include "analyze/live/live_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "gen/fields.h"

struct live_entry *live_find_or_add_process(struct live *l, int32_t pid)
{
	struct live_entry *p;

	HASH_FIND(hh, l->processes, &pid, sizeof(pid), p);
	if (p)
		return p;
	if (HASH_COUNT(l->processes) >= LIVE_PROCESSES_MAX) {
		l->losses.processes++;
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->p.pid = pid;
	HASH_ADD(hh, l->processes, p.pid, sizeof(p->p.pid), p);
	if (!p->hh.tbl)
		free(TAKE_PTR(p));
	return p;
}

void live_set_last_seen(const struct live *l, struct live_entry *p, uint64_t at)
{
	p->seen_at = MAX(p->seen_at, at);
	p->seen_in = l->polls;
	p->is_reported = true;
}

void live_set_name(struct live_entry *p, const void *name, size_t len)
{
	size_t n = MIN(len, sizeof(p->p.name) - 1);

	memcpy(p->p.name, name, n);
	p->p.name[n] = '\0';
	str_make_plain(p->p.name, n, "");
}

void live_remove_process(struct live *l, struct live_entry *p)
{
	live_add_to_groups(l, p, true);
	HASH_DEL(l->processes, p);
	free(p);
}

/* Starts all counters of the process anew: another process has its pid, and its tracks. */
static void reset_counters_of_process(struct live *l, struct live_entry *p)
{
	struct live_track *t, *next;

	live_add_to_groups(l, p, true);
	memset(p->grouped, 0, sizeof(p->grouped));
	HASH_ITER (hh, l->tracks, t, next)
		if (t->pid == p->p.pid)
			t->has_last = false;
	memset(p->p.values, 0, sizeof(p->p.values));
	p->has_last = 0;
	p->p.has_rss = false;
}

void live_set_start(struct live *l, struct live_entry *p, uint64_t start_ns)
{
	if (!start_ns)
		return;
	if (p->start_ns && p->start_ns != start_ns)
		reset_counters_of_process(l, p);
	p->start_ns = start_ns;
}

/* Rows of the eBPF families: totals by process (protos/trace/linux/ebpf_process_rows.proto). */

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

static const struct family *find_family(const struct pb_field *name)
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

static void read_process_row(struct live *l, const struct family *f, const uint64_t *row,
			     uint64_t at)
{
	struct live_entry *p =
		row[0] && row[0] <= INT32_MAX ? live_find_or_add_process(l, (int32_t)row[0]) : NULL;
	const uint64_t *values = row + 1;

	if (!p)
		return;
	live_set_last_seen(l, p, at);
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
		read_process_row(l, f, row, at);
		n = 0;
	}
	l->losses.bad_packets += n > 0;
}

static void live_rows_read_name(struct live *l, const struct pb_field *message, uint64_t at)
{
	struct pb_field name = {0};
	bool is_kthread = false;
	struct live_entry *p;
	uint64_t pid = 0, parent = 0, tgid = 0;
	bool ok = pb_read(message, PB_TO(PB_EBPF_PROCESS_ROWS_PROCESS_PID, &pid),
			  PB_TO(PB_EBPF_PROCESS_ROWS_PROCESS_PARENT_PID, &parent),
			  PB_TO(PB_EBPF_PROCESS_ROWS_PROCESS_TGID, &tgid),
			  PB_TO(PB_EBPF_PROCESS_ROWS_PROCESS_NAME, &name),
			  PB_TO(PB_EBPF_PROCESS_ROWS_PROCESS_IS_KTHREAD, &is_kthread));

	p = ok && pid && pid <= INT32_MAX ? live_find_or_add_process(l, (int32_t)pid) : NULL;
	if (!p || !name.data)
		return;
	live_set_last_seen(l, p, at);
	p->is_kthread = is_kthread;
	p->p.parent = parent <= INT32_MAX ? (int32_t)parent : 0;
	if (tgid && tgid <= INT32_MAX)
		p->p.tgid = (int32_t)tgid;
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

	of = find_family(&family);
	if (!of)
		return;
	if (!ok || columns < of->n || columns > COLUMNS_MAX) {
		l->losses.bad_packets++;
		return;
	}
	l->has_rows = true;
	l->counts_calls |= of->source == LIVE_ROWS_SYSCALLS;
	live_set_poll_time(l, of->source, p->timestamp);
	if (rows.data)
		read_packed_rows(l, of, (uint32_t)columns, &rows, p->timestamp);
	pb_for_each (f, &p->payload)
		if (f.id == PB_EBPF_PROCESS_ROWS_PROCESSES && f.data)
			live_rows_read_name(l, &f, p->timestamp);
}
