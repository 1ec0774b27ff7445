/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup_waits_by: waits for a CPU that the kernel counted by control group. A row of cgroup_wait
 * is in the window if the middle of its interval is.
 */
#include "analyze/report/pass.h"

#include <stdlib.h>
#include <string.h>

/* The waits of one subject, or of one cause. */
struct cgroup_sum {
	uint64_t n, buckets[CGROUP_WAIT_BUCKETS];
	int64_t total, quota, longest;
};

struct cgroup_sums {
	const struct pass_input *in;
	struct cgroup_sum **of; /* owned; by row of cgroup, or by cause */
	struct cgroup_sum **of_wait; /* borrowed; by row of cgroup_wait; NULL: it does not count */
	uint32_t n;
};

static bool sums_init(struct cgroup_sums *s, const struct pass_input *in, bool by_cause)
{
	*s = (struct cgroup_sums){
		.in = in, .n = by_cause ? CGROUP_WAIT_CAUSES : in->s->tables[TABLE_CGROUP].rows};
	s->of = calloc((size_t)s->n + 1, sizeof(struct cgroup_sum *));
	s->of_wait = calloc((size_t)in->s->tables[TABLE_CGROUP_WAIT].rows + 1,
			    sizeof(struct cgroup_sum *));
	return s->of && s->of_wait;
}

static void sums_deinit(struct cgroup_sums *s)
{
	for (uint32_t i = 0; s->of && i < s->n; i++)
		free(s->of[i]);
	free(s->of);
	free(s->of_wait);
}

static bool row_is_in_window(const struct pass_input *in, uint32_t row)
{
	const struct table *t = &in->s->tables[TABLE_CGROUP_WAIT];
	uint32_t cgroup = table_u32(t, CGROUP_WAIT_CGROUP, row);
	int64_t middle = table_ts(t, CGROUP_WAIT_TS, row) + table_dur(t, CGROUP_WAIT_DUR, row) / 2;

	return middle >= in->from && middle < in->to &&
	       (in->machine == MACHINES_ALL ||
		table_u32(&in->s->tables[TABLE_CGROUP], CGROUP_MACHINE, cgroup) == in->machine) &&
	       (!in->chosen_groups || in->chosen_groups[cgroup]);
}

static int64_t add_ns_saturating(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Adds a row of cgroup_wait to the sum at an index. Returns false if out of memory. */
static bool add_wait_to_sum(struct cgroup_sums *s, uint32_t row, uint32_t at, bool is_quota)
{
	const struct table *t = &s->in->s->tables[TABLE_CGROUP_WAIT];
	int64_t total = table_i64(t, CGROUP_WAIT_TOTAL, row),
		longest = table_i64(t, CGROUP_WAIT_LONGEST, row);
	struct cgroup_sum *sum = s->of[at];

	if (!sum)
		sum = s->of[at] = calloc(1, sizeof(*sum));
	if (!sum)
		return false;
	if (is_quota) {
		sum->quota = add_ns_saturating(sum->quota, total);
		return true;
	}
	s->of_wait[row] = sum;
	sum->total = add_ns_saturating(sum->total, total);
	if (longest != NULL_I64)
		sum->longest = MAX(sum->longest, longest);
	return true;
}

static void sums_add_lengths(const struct cgroup_sums *s)
{
	const struct table *t = &s->in->s->tables[TABLE_CGROUP_WAIT_LENGTH];

	for (uint32_t row = 0; row < t->rows; row++) {
		struct cgroup_sum *sum = s->of_wait[table_u32(t, CGROUP_WAIT_LENGTH_WAIT, row)];
		uint64_t n = (uint64_t)table_i64(t, CGROUP_WAIT_LENGTH_N, row);

		if (!sum)
			continue;
		sum->n += n;
		sum->buckets[table_u8(t, CGROUP_WAIT_LENGTH_BUCKET, row)] += n;
	}
}

/* Returns the length of the wait of a rank from 1 to n: the middle of its bucket. */
static int64_t wait_length_of_rank(const struct cgroup_sum *sum, uint64_t rank)
{
	uint64_t before = 0;
	uint32_t i = 0;
	int64_t middle;

	while (i < CGROUP_WAIT_BUCKETS - 1 && before + sum->buckets[i] < rank)
		before += sum->buckets[i++];
	middle = (cgroup_wait_begin(i) + cgroup_wait_begin(i + 1)) / 2;
	return sum->longest ? MIN(middle, sum->longest) : middle;
}

static int64_t find_longest_wait(const struct cgroup_sum *sum)
{
	uint32_t i = CGROUP_WAIT_BUCKETS - 1;

	while (i && !sum->buckets[i])
		i--;
	/* The row with the longest wait may be outside of the window, and later rows lack it. */
	return MAX(sum->longest, cgroup_wait_begin(i));
}

void pass_fill_cgroup_waits(const struct pass_input *in, struct pass_rows *ret)
{
	const struct table *t = &in->s->tables[TABLE_CGROUP_WAIT];
	bool by_cause = !strcmp(in->by, "cause");
	struct cgroup_sums s = {.n = 0};
	struct pass_who who;

	ret->failed = !pass_who_init(&who, in) || !sums_init(&s, in, by_cause);
	for (uint32_t row = 0; !ret->failed && (by_cause || who.subject) && row < t->rows; row++) {
		uint32_t cause = table_u8(t, CGROUP_WAIT_CAUSE, row);
		uint32_t group = table_u32(t, CGROUP_WAIT_CGROUP, row);

		if (row_is_in_window(in, row))
			ret->failed |=
				!add_wait_to_sum(&s, row, by_cause ? cause : who.subject[group],
						 !by_cause && cause == CGROUP_WAIT_QUOTA);
	}
	if (!ret->failed)
		sums_add_lengths(&s);
	for (uint32_t i = 0; !ret->failed && i < s.n; i++) {
		const struct cgroup_sum *sum = s.of[i];

		if (sum)
			PASS_ROW(ret, i, (int64_t)sum->n, sum->total,
				 sum->n ? wait_length_of_rank(sum, (sum->n + 1) / 2) : NULL_I64,
				 sum->n ? wait_length_of_rank(sum, (sum->n * 99 + 99) / 100)
					: NULL_I64,
				 sum->n ? find_longest_wait(sum) : NULL_I64, sum->quota);
	}
	sums_deinit(&s);
	pass_who_deinit(&who);
}
