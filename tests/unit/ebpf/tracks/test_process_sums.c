/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process.h"
#include "ebpf/tracks/per_process.c"
#include "unit/fixture.h"

static struct process_sums sums;

SETUP
{
	sums = (struct process_sums){.n_values = 2, .n_cpus = 4};
}

TEARDOWN
{
	process_sums_deinit(&sums);
}

static const struct process_sum *find(uint32_t pid)
{
	struct process_sum *p;

	HASH_FIND(hh, sums.all, &pid, sizeof(pid), p);
	return p;
}

static void add(uint32_t pid, uint64_t a, uint64_t b)
{
	assert_non_null(process_sums_add(&sums, pid, (const uint64_t[]){a, b}));
}

FIXTURE_TEST(elements_of_a_process_add_up)
{
	process_sums_begin(&sums, 0);
	add(7, 1, 100);
	add(8, 5, 500);
	add(7, 2, 200);
	process_sums_end(&sums);
	assert_int_equal(find(7)->totals[0], 3);
	assert_int_equal(find(7)->totals[1], 300);
	assert_true(find(7)->grew);
	assert_int_equal(sums.all_totals[0], 8);
	process_sums_begin(&sums, 0);
	add(7, 4, 300);
	add(8, 5, 500);
	process_sums_end(&sums);
	assert_int_equal(find(7)->totals[0], 4);
	assert_false(find(8)->grew);
	assert_int_equal(sums.all_totals[1], 800);
}

FIXTURE_TEST(exited_processes_do_not_reduce_totals)
{
	process_sums_begin(&sums, 0);
	add(7, 1, 100);
	add(8, 5, 500);
	process_sums_end(&sums);
	process_sums_begin(&sums, 0);
	add(8, 6, 500);
	process_sums_end(&sums);
	assert_null(find(7));
	assert_int_equal(sums.all_totals[0], 7);
	/* Another one of that pid begins anew. */
	process_sums_begin(&sums, 0);
	add(7, 1, 1);
	add(8, 6, 500);
	process_sums_end(&sums);
	assert_int_equal(find(7)->totals[0], 1);
	assert_int_equal(sums.all_totals[0], 8);
}

/* What the kernel's side does. */
static uint64_t span(uint64_t word, int number, int64_t sum)
{
	return ((word & ~SONDA_SPAN_SUM) + ((uint64_t)number << SONDA_SPAN_BITS)) |
	       ((word + (uint64_t)sum) & SONDA_SPAN_SUM);
}

#define LONG_AGO 300000000000000 /* ns: more than 48 bits hold */

static uint64_t span_begin(uint64_t word, int64_t now)
{
	return span(word, 1, -(LONG_AGO + now));
}

static uint64_t span_end(uint64_t word, int64_t now)
{
	return span(word, -1, LONG_AGO + now);
}

static void read_spans(int64_t now, uint64_t a, uint64_t b)
{
	sums.is_spans = true;
	process_sums_begin(&sums, (uint64_t)(LONG_AGO + now));
	add(7, a, 0);
	add(7, b, 0);
	process_sums_end(&sums);
}

FIXTURE_TEST(a_span_that_is_open_counts_until_now)
{
	uint64_t a = 0;

	a = span_begin(a, 1000);
	read_spans(1500, a, 0);
	assert_int_equal(find(7)->totals[0], 500);
	a = span_begin(a, 2000);
	read_spans(2100, a, 0);
	assert_int_equal(find(7)->totals[0], 1200);
	a = span_end(a, 2200);
	a = span_end(a, 2300);
	read_spans(9000, a, 0);
	assert_int_equal(find(7)->totals[0], 1500);
	assert_true(find(7)->grew);
	read_spans(10000, a, 0);
	assert_int_equal(find(7)->totals[0], 1500);
	assert_false(find(7)->grew);
}

FIXTURE_TEST(a_span_may_end_on_another_cpu)
{
	uint64_t a = span_begin(0, 1000), b = 0;

	read_spans(1100, a, b);
	b = span_end(b, 1300);
	read_spans(2000, a, b);
	assert_int_equal(find(7)->totals[0], 300);
	b = span_begin(b, 2100);
	a = span_end(a, 2400);
	read_spans(3000, a, b);
	assert_int_equal(find(7)->totals[0], 600);
	assert_int_equal(a, span(0, 0, 1400));
}

FIXTURE_TEST(totals_do_not_fall)
{
	uint64_t a = span_begin(0, 1000);

	/* It ended while the elements were read: 10 ns after the moment, or before one was read. */
	read_spans(990, a, 0);
	assert_int_equal(find(7)->totals[0], 0);
	read_spans(1500, a, 0);
	assert_int_equal(find(7)->totals[0], 500);
	read_spans(1490, a, 0);
	assert_int_equal(find(7)->totals[0], 500);
	read_spans(1600, a, 0);
	assert_int_equal(find(7)->totals[0], 600);
}

/* A thread that sleeps on one CPU and is woken by others, more often than a number of 16 bits
 * holds. */
FIXTURE_TEST(spans_that_begin_and_end_on_different_cpus)
{
	uint64_t here = 0, there = 0, elsewhere = 0;

	sums.is_spans = true;
	for (int i = 0; i < 40000; i++) {
		here = span(here, 1, -i);
		if (i % 2)
			there = span(there, -1, i + 1);
		else
			elsewhere = span(elsewhere, -1, i + 1);
	}
	process_sums_begin(&sums, 1000000);
	add(7, here, 0);
	add(7, there, 0);
	add(7, elsewhere, 0);
	process_sums_end(&sums);
	assert_int_equal(find(7)->totals[0], 40000);
}

FIXTURE_TEST(time_on_cpus_is_never_longer_than_the_cpus_had_time)
{
	uint64_t a = span_begin(0, 0), b = 0;

	sums.n_cpus = 1;
	read_spans(1000, a, b);
	/* One thread gives the CPU to another, which ends before its element is read. */
	a = span_end(a, 2000);
	b = span_end(span_begin(b, 2000), 2500);
	read_spans(2000, a, b);
	assert_int_equal(find(7)->totals[0], 2000);
	read_spans(3000, a, b);
	assert_int_equal(find(7)->totals[0], 2500);
}
