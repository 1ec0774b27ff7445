/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/fixture.h"
#include "procfs/process/process_scan.c"

static struct process_table table;
static unsigned n_gone;
static int32_t last_gone;

static void count_gone(void *ctx, struct polled *p)
{
	assert_ptr_equal(ctx, &n_gone);
	n_gone++;
	last_gone = p->source.pid;
}

SETUP
{
	n_gone = 0;
	table = (struct process_table){.gone = count_gone, .ctx = &n_gone};
}

TEARDOWN
{
	process_table_deinit(&table);
}

static struct process_counters of(uint64_t size, uint64_t rss)
{
	struct process_counters c = {.has = 1u << COUNTER_VM_SIZE | 1u << COUNTER_VM_RSS};

	c.v[COUNTER_VM_SIZE] = size;
	c.v[COUNTER_VM_RSS] = rss;
	return c;
}

static uint32_t look(int32_t pid, struct process_counters now)
{
	struct polled *p = process_table_take(&table, pid);

	assert_int_equal(p->source.pid, pid);
	return polled_change(p, &now);
}

static void end_pass(void)
{
	while (process_table_drop_exited(&table))
		;
}

FIXTURE_TEST(changes_since_the_last_pass)
{
	const uint32_t size = 1u << COUNTER_VM_SIZE, rss = 1u << COUNTER_VM_RSS;
	struct process_counters more = of(1, 2);

	assert_int_equal(look(5, of(1, 2)), size | rss);
	assert_int_equal(look(9, of(0, 0)), size | rss); /* zero is news as well */
	end_pass();
	assert_int_equal(look(5, of(1, 3)), rss);
	assert_int_equal(look(9, of(0, 0)), 0);
	end_pass();
	assert_int_equal(n_gone, 0);
	assert_int_equal(look(5, of(1, 2)), rss);
	end_pass();
	assert_int_equal(n_gone, 1);
	assert_int_equal(last_gone, 9);
	/* The number is used anew. */
	assert_int_equal(look(9, of(0, 0)), size | rss);
	more.has |= 1u << COUNTER_OOM_SCORE_ADJ;
	assert_int_equal(look(5, more), 1u << COUNTER_OOM_SCORE_ADJ);
	end_pass();
	/* What cannot be read this time has not changed, and is compared with what was last
	 * read. */
	more.has = size;
	assert_int_equal(look(5, more), 0);
	end_pass();
	assert_int_equal(look(5, of(1, 2)), 0);
	/* All of a value counts. */
	end_pass();
	assert_int_equal(look(5, of(1 + (1ull << 32), 2)), size);
}

FIXTURE_TEST(in_any_order)
{
	for (int32_t pid = 1000; pid > 0; pid--)
		look(pid, of((uint64_t)pid, 0));
	end_pass();
	for (int32_t pid = 1; pid <= 1000; pid++)
		assert_int_equal(look(pid, of((uint64_t)pid, 0)), 0);
	end_pass();
	assert_int_equal(n_gone, 0);
	end_pass();
	assert_int_equal(n_gone, 1000);
}

FIXTURE_TEST(forgotten_in_the_middle_of_a_pass)
{
	look(5, of(1, 2));
	look(7, of(1, 2));
	end_pass();
	look(5, of(1, 2));
	process_table_forget(&table);
	assert_int_not_equal(look(7, of(1, 2)), 0);
	end_pass();
	assert_int_not_equal(look(5, of(1, 2)), 0);
	assert_int_equal(look(7, of(1, 2)), 0);
	end_pass();
	assert_int_equal(n_gone, 0);
}

FIXTURE_TEST(another_process_with_the_number)
{
	struct polled *p;

	look(5, of(1, 2));
	end_pass();
	p = process_table_take(&table, 5);
	p->tracks.group = 9;
	process_table_renew(&table, p);
	assert_int_equal(n_gone, 1);
	assert_int_equal(last_gone, 5);
	assert_int_equal(p->source.pid, 5);
	assert_int_equal(p->tracks.group, 0);
	assert_int_equal(p->has, 0);
	end_pass();
	assert_int_equal(n_gone, 1);
	assert_int_equal(look(5, (struct process_counters){0}), 0);
}

FIXTURE_TEST(many_go_piece_by_piece)
{
	const unsigned many = 1000;
	unsigned before, pieces = 1;
	bool more;

	for (unsigned pid = 1; pid <= many; pid++)
		look((int32_t)pid, of(1, 2));
	end_pass();
	look(500, of(1, 2));
	do {
		before = n_gone;
		more = process_table_drop_exited(&table);
		assert_true(n_gone - before <= PROCESS_TABLE_PIECE);
		pieces += more;
	} while (more);
	assert_int_equal(n_gone, many - 1);
	assert_true(pieces >= many / PROCESS_TABLE_PIECE);
	assert_int_equal(look(500, of(1, 2)), 0);
	/* The end in the middle of it: nothing is closed twice. */
	for (unsigned pid = 1; pid <= many; pid++)
		look((int32_t)pid, of(1, 2));
	end_pass();
	assert_true(process_table_drop_exited(&table));
}

/* In the middle of a pass: some rows have moved on, some have not. */
FIXTURE_TEST(it_is_emptied_piece_by_piece)
{
	int32_t n = (int32_t)PROCESS_TABLE_PIECE;
	unsigned pieces = 1;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	for (int32_t pid = 1; pid <= n; pid++)
		look(pid, of(1, 1));
	end_pass();
	for (int32_t pid = 1; pid <= 2 * n; pid += 2)
		look(pid, of(1, 1));
	process_table_take(&table, 2 * n + 1)->source.oom.fd = fds[0];
	while (process_table_release(&table))
		pieces++;
	assert_true(pieces >= 2);
	assert_int_equal(table.last.n + table.next.n, 0);
	/* Nobody is told, and what was open is closed. */
	assert_int_equal(n_gone, 0);
	assert_int_equal(fcntl(fds[0], F_GETFD), -1);
	close(fds[1]);
	assert_false(process_table_release(&table));
}
