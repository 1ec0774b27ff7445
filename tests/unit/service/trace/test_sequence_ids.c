/* SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

#include "unit/test.h"
#include "service/ipc/limits.h"
#include "service/trace/sequence_ids.h"

TEST(ids_begin_after_the_service)
{
	struct sequence_ids s = {0};

	assert_int_equal(sequence_ids_get(&s, 1, 1), 2);
	assert_int_equal(sequence_ids_get(&s, 1, 2), 3);
	assert_int_equal(sequence_ids_get(&s, 2, 1), 4);
	assert_int_equal(sequence_ids_get(&s, 1, 1), 2);
	assert_int_equal(sequence_ids_get(&s, 2, 1), 4);
	sequence_ids_deinit(&s);
	assert_int_equal(sequence_ids_get(&s, 2, 1), 2);
	sequence_ids_deinit(&s);
}

TEST(producer_and_writer_are_not_mixed_up)
{
	struct sequence_ids s = {0};
	uint32_t a = sequence_ids_get(&s, 1, 0), b = sequence_ids_get(&s, 0x0100, 1);

	assert_int_not_equal(a, b);
	assert_int_not_equal(sequence_ids_get(&s, 1, 0x0100), b);
	sequence_ids_deinit(&s);
}

TEST(many_keep_their_ids)
{
	struct sequence_ids s = {0};

	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 50000; i++)
			assert_int_equal(
				sequence_ids_get(&s, (uint16_t)(1 + i % 500), (uint16_t)(i / 500)),
				2 + i);
	sequence_ids_deinit(&s);
}

TEST(there_is_a_limit)
{
	struct sequence_ids s = {0};

	for (uint32_t i = 0; i < MAX_SEQUENCES; i++)
		sequence_ids_get(&s, (uint16_t)(1 + i / 32768), (uint16_t)(i % 32768));
	assert_int_equal(s.last, MAX_SEQUENCES + 1);
	assert_int_equal(sequence_ids_get(&s, 60000, 1), 0);
	assert_int_equal(sequence_ids_get(&s, 60001, 1), 0);
	/* Those that are known stay known. */
	assert_int_equal(sequence_ids_get(&s, 1, 0), 2);
	assert_int_equal(sequence_ids_get(&s, MAX_SEQUENCES / 32768, 32767), MAX_SEQUENCES + 1);
	sequence_ids_deinit(&s);
}

TEST(copy_goes_on_by_itself)
{
	struct sequence_ids s = {0}, copy = {0}, none = {0};

	assert_int_equal(sequence_ids_copy(&none, &copy), 0);
	assert_int_equal(sequence_ids_get(&copy, 1, 1), 2);
	sequence_ids_deinit(&copy);
	for (uint16_t i = 1; i <= 100; i++)
		sequence_ids_get(&s, 1, i);
	assert_int_equal(sequence_ids_copy(&s, &copy), 0);
	assert_int_equal(sequence_ids_get(&copy, 2, 1), 102);
	assert_int_equal(sequence_ids_get(&s, 3, 1), 102);
	for (uint16_t i = 1; i <= 100; i++)
		assert_int_equal(sequence_ids_get(&copy, 1, i), i + 1);
	sequence_ids_deinit(&s);
	sequence_ids_deinit(&copy);
}

/* ---- ids that are chosen ---- */

#define CHOSEN 1500
#define ROUNDS 20

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* CPU time of the cheapest round with these writers of producer 1: on a busy machine some cost
 * several times as much. */
static uint64_t cost_of(const uint16_t *writers)
{
	uint64_t least = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t before = cpu_ns(), one;
		struct sequence_ids s = {0};

		for (size_t i = 0; i < CHOSEN; i++)
			sequence_ids_get(&s, 1, writers[i]);
		sequence_ids_deinit(&s);
		one = cpu_ns() - before;
		least = one < least ? one : least;
	}
	return least;
}

/* Writers that a multiplicative hash puts side by side, as a peer can compute them. */
TEST(chosen_ids_cost_what_others_do)
{
	uint16_t chosen[CHOSEN], plain[CHOSEN];
	uint64_t chosen_ns, plain_ns;
	size_t n = 0;

	for (uint32_t w = 0; w <= UINT16_MAX && n < CHOSEN; w++)
		if ((1u << 16 | w) * 2654435769u >> 27 == 0)
			chosen[n++] = (uint16_t)w;
	assert_int_equal(n, CHOSEN);
	for (size_t i = 0; i < CHOSEN; i++)
		plain[i] = (uint16_t)i;
	plain_ns = cost_of(plain);
	chosen_ns = cost_of(chosen);
	assert_true(chosen_ns < 5 * plain_ns);
}
