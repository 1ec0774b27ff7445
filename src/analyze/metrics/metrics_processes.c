/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/metrics/metrics_processes.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "gen/fields.h"

#define GROUPS_EACH 4096 /* of a packet; rows of further groups are skipped */
#define FORGOTTEN_NS (600 * 1000000000ull) /* a process without rows for so long makes room */

static const struct {
	const char *name;
	uint32_t columns;
} process_families[PROCESS_FAMILIES] = {
	[PROCESS_CPU_TIME] = {"cpu_time", 5},
	[PROCESS_SYSCALLS] = {"syscalls", 3},
};

struct metrics_process {
	UT_hash_handle hh; /* by pid */
	uint32_t pid;
	uint64_t group; /* 0: unknown */
	uint64_t seen_ns;
	uint64_t last[PROCESS_FAMILIES][METRICS_PROCESS_COLUMNS];
	uint32_t has_last; /* bit: family */
};

struct metrics_processes {
	struct metrics_process *by_pid; /* owned */
	bool has_forgotten; /* a process that is new may be one that was forgotten */
};

struct metrics_processes *metrics_processes_new(void)
{
	return calloc(1, sizeof(struct metrics_processes));
}

void metrics_processes_clear(struct metrics_processes *p)
{
	HASH_FREE(p->by_pid);
	p->has_forgotten = false;
}

void metrics_processes_free(struct metrics_processes *p)
{
	if (p)
		metrics_processes_clear(p);
	free(p);
}

static void metrics_processes_make_room(struct metrics_processes *p, uint64_t now)
{
	struct metrics_process *e, *next;

	HASH_ITER (hh, p->by_pid, e, next) {
		if (e->seen_ns + FORGOTTEN_NS > now)
			continue;
		HASH_DEL(p->by_pid, e);
		free(e);
		p->has_forgotten = true;
	}
}

static struct metrics_process *metrics_process_get(struct metrics_processes *p, uint64_t pid,
						   uint64_t now)
{
	uint32_t key = (uint32_t)pid;
	struct metrics_process *e;

	if (!pid || pid > INT32_MAX)
		return NULL;
	HASH_FIND(hh, p->by_pid, &key, sizeof(key), e);
	if (e) {
		e->seen_ns = now;
		return e;
	}
	if (HASH_COUNT(p->by_pid) >= METRICS_PROCESSES_MAX)
		metrics_processes_make_room(p, now);
	e = HASH_COUNT(p->by_pid) < METRICS_PROCESSES_MAX ? calloc(1, sizeof(*e)) : NULL;
	if (!e)
		return NULL;
	e->pid = key;
	e->seen_ns = now;
	HASH_ADD(hh, p->by_pid, pid, sizeof(e->pid), e);
	if (!e->hh.tbl)
		free(TAKE_PTR(e));
	return e;
}

/* ---- members ---- */

static size_t read_group_ids(const struct pb_field *members, uint64_t ids[static GROUPS_EACH])
{
	struct pb_field f = pb_inner_field(members, PB_CGROUP_MEMBERS_GROUP_IDS);
	size_t n = 0;

	for (struct pb_packed p = pb_packed_of(&f);
	     f.data && n < GROUPS_EACH && pb_packed_next(&p, &ids[n]);)
		n++;
	return n;
}

static int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

void metrics_processes_read_members(struct metrics_processes *p, const struct pb_field *members,
				    uint64_t now)
{
	struct pb_field tids = pb_inner_field(members, PB_CGROUP_MEMBERS_TID_DELTA);
	struct pb_field tgids = pb_inner_field(members, PB_CGROUP_MEMBERS_TGID_DELTA);
	struct pb_field groups = pb_inner_field(members, PB_CGROUP_MEMBERS_GROUP);
	struct pb_packed tid_deltas = pb_packed_of(&tids), tgid_deltas = pb_packed_of(&tgids);
	struct pb_packed indices = pb_packed_of(&groups);
	uint64_t ids[GROUPS_EACH], tid_delta, tgid_delta, index;
	size_t n = read_group_ids(members, ids);
	uint64_t tid = 0;

	while (pb_packed_next(&tid_deltas, &tid_delta) &&
	       pb_packed_next(&tgid_deltas, &tgid_delta) && pb_packed_next(&indices, &index)) {
		uint64_t tgid =
			(tid += (uint64_t)unzigzag(tid_delta)) + (uint64_t)unzigzag(tgid_delta);
		struct metrics_process *e;

		/* A process is where its first thread is. */
		if ((tid && tid != tgid) || index >= n)
			continue;
		e = metrics_process_get(p, tgid, now);
		if (e)
			e->group = ids[index];
	}
}

/* ---- rows ---- */

static void add_growth_of_row(struct metrics_processes *p, enum metrics_process_family family,
			      const uint64_t *row, uint64_t now, metrics_growth_fn fn, void *ctx)
{
	struct metrics_process *e = metrics_process_get(p, row[0], now);
	uint64_t growth[METRICS_PROCESS_COLUMNS] = {0};
	bool is_unknown;

	if (!e)
		return;
	is_unknown = !(e->has_last >> family & 1) && p->has_forgotten;
	for (uint32_t i = 0; i < process_families[family].columns; i++) {
		uint64_t v = row[1 + i], last = e->last[family][i];

		/* Another process may have the pid: its counters begin at 0. */
		growth[i] = is_unknown ? 0 : v >= last ? v - last : v;
		e->last[family][i] = v;
	}
	e->has_last |= 1u << family;
	fn(ctx, family, e->group, growth);
}

void metrics_processes_read_rows(struct metrics_processes *p, const struct pb_field *message,
				 uint64_t now, metrics_growth_fn fn, void *ctx)
{
	struct pb_field name = {0}, rows = {0};
	uint64_t columns = 0, row[1 + METRICS_PROCESS_COLUMNS];
	struct pb_packed packed;
	int family = 0;
	uint32_t n = 0;

	if (!pb_read(message, PB_TO(PB_EBPF_PROCESS_ROWS_FAMILY, &name),
		     PB_TO(PB_EBPF_PROCESS_ROWS_COLUMNS, &columns),
		     PB_TO(PB_EBPF_PROCESS_ROWS_ROWS, &rows)))
		return;
	while (family < PROCESS_FAMILIES && !pb_field_is(&name, process_families[family].name))
		family++;
	if (family == PROCESS_FAMILIES || columns != process_families[family].columns || !rows.data)
		return;
	packed = pb_packed_of(&rows);
	while (pb_packed_next(&packed, &row[n])) {
		if (n++ < columns)
			continue;
		add_growth_of_row(p, (enum metrics_process_family)family, row, now, fn, ctx);
		n = 0;
	}
}
