/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unit/procfs/fake_producer.h"

/* What the packets of fake_producer.h say of processes and threads. */

/* Calls fn for each row of that kind (PB_PROCESS_TREE_PROCESSES, _THREADS) in all packets. */
static inline unsigned fake_rows(uint32_t kind, void (*fn)(void *ctx, struct pb_field row),
				 void *ctx)
{
	struct pb_field tree, row;
	unsigned n = 0;

	for (size_t i = 0; i < fake.n; i++) {
		const struct fake_packet *p = &fake.packets[i];
		struct pb_dec d;

		if (!fake_field(p->data, p->len, PB_TRACE_PACKET_PROCESS_TREE, 0, &tree))
			continue;
		pb_dec_init(&d, tree.data, tree.len);
		while (pb_dec_next(&d, &row)) {
			if (row.id != kind)
				continue;
			if (fn)
				fn(ctx, row);
			n++;
		}
		assert(pb_dec_ok(&d));
	}
	return n;
}

struct fake_search {
	uint32_t id_field;
	int32_t id;
	unsigned found;
	struct pb_field row; /* the last that was found */
};

static inline void fake_match(void *ctx, struct pb_field row)
{
	struct fake_search *s = ctx;

	if ((int32_t)fake_u64(row, s->id_field) != s->id)
		return;
	s->found++;
	s->row = row;
}

/* How often the process or thread was described; ret_row (may be NULL): the last time. */
static inline unsigned fake_process(int32_t pid, struct pb_field *ret_row)
{
	struct fake_search s = {.id_field = PB_PROCESS_TREE_PROCESS_PID, .id = pid};

	fake_rows(PB_PROCESS_TREE_PROCESSES, fake_match, &s);
	if (ret_row)
		*ret_row = s.row;
	return s.found;
}

static inline unsigned fake_thread(int32_t tid, struct pb_field *ret_row)
{
	struct fake_search s = {.id_field = PB_PROCESS_TREE_THREAD_TID, .id = tid};

	fake_rows(PB_PROCESS_TREE_THREADS, fake_match, &s);
	if (ret_row)
		*ret_row = s.row;
	return s.found;
}

static const struct fake_word process_words[] = {
	FAKE_WORD(PB_PROCESS_TREE_PROCESS_PPID, "ppid"),
	FAKE_WORD(PB_PROCESS_TREE_PROCESS_CMDLINE, "cmdline"),
	FAKE_WORD(PB_PROCESS_TREE_PROCESS_CMDLINE_IS_COMM, "is_comm"),
	FAKE_WORD(PB_PROCESS_TREE_PROCESS_UID, "uid"),
	FAKE_WORD(PB_PROCESS_TREE_PROCESS_NSPID, "nspid"),
	FAKE_WORD(PB_PROCESS_TREE_PROCESS_PROCESS_START_FROM_BOOT, "start"),
	FAKE_WORD(PB_PROCESS_TREE_PROCESS_IS_KTHREAD, "kthread"),
	{0},
};

static const struct fake_word thread_words[] = {
	FAKE_WORD(PB_PROCESS_TREE_THREAD_TGID, "tgid"),
	FAKE_WORD(PB_PROCESS_TREE_THREAD_NAME, "name"),
	FAKE_WORD(PB_PROCESS_TREE_THREAD_NSTID, "nstid"),
	{0},
};

/* Described so often, and the last time with all of these fields. */
static inline void expect_process(int32_t pid, unsigned times, const char *want, const char *file,
				  int line)
{
	struct pb_field row;

	_assert_int_equal(fake_process(pid, &row), times, file, line);
	_assert_string_equal(fake_words(row, process_words), want, file, line);
}

static inline void expect_thread(int32_t tid, unsigned times, const char *want, const char *file,
				 int line)
{
	struct pb_field row;

	_assert_int_equal(fake_thread(tid, &row), times, file, line);
	_assert_string_equal(fake_words(row, thread_words), want, file, line);
}

#define assert_process(pid, times, want) expect_process(pid, times, want, __FILE__, __LINE__)
#define assert_thread(tid, times, want) expect_thread(tid, times, want, __FILE__, __LINE__)
