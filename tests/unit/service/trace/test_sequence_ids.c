/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <time.h>

#include "service/ipc/limits.h"
#include "service/trace/sequence_ids.h"
#include "unit/test.h"

#define OWN_USER 500 /* of the service */
static const struct quota quota = {.own_user = OWN_USER};

/* Returns the id of a writer of a user, or 0 if it gets none. */
static uint32_t id_for(struct sequence_ids *s, uid_t uid, uint16_t producer_id, uint16_t writer_id)
{
	const struct trace_buffer_writer writer = {
		.producer_id = producer_id, .writer_id = writer_id, .uid = uid};
	uint32_t id = 0;
	int r = sequence_ids_get_or_add(s, &quota, &writer, &id);

	assert_int_equal(r, id ? 0 : -EDQUOT);
	return id;
}

static uint32_t id_of(struct sequence_ids *s, uint16_t producer_id, uint16_t writer_id)
{
	return id_for(s, 0, producer_id, writer_id);
}

TEST(ids_begin_after_the_service)
{
	struct sequence_ids s = {0};

	assert_int_equal(id_of(&s, 1, 1), 2);
	assert_int_equal(id_of(&s, 1, 2), 3);
	assert_int_equal(id_of(&s, 2, 1), 4);
	assert_int_equal(id_of(&s, 1, 1), 2);
	assert_int_equal(id_of(&s, 2, 1), 4);
	sequence_ids_deinit(&s);
	assert_int_equal(id_of(&s, 2, 1), 2);
	sequence_ids_deinit(&s);
}

TEST(producer_and_writer_are_not_mixed_up)
{
	struct sequence_ids s = {0};
	uint32_t a = id_of(&s, 1, 0), b = id_of(&s, 0x0100, 1);

	assert_int_not_equal(a, b);
	assert_int_not_equal(id_of(&s, 1, 0x0100), b);
	assert_int_not_equal(id_of(&s, 1, 0x0100), a);
	sequence_ids_deinit(&s);
}

TEST(many_keep_their_ids)
{
	struct sequence_ids s = {0};

	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 50000; i++)
			assert_int_equal(id_of(&s, (uint16_t)(1 + i % 500), (uint16_t)(i / 500)),
					 2 + i);
	sequence_ids_deinit(&s);
}

TEST(there_is_a_limit)
{
	struct sequence_ids s = {0};

	for (uint32_t i = 0; i < MAX_SEQUENCES; i++)
		id_of(&s, (uint16_t)(1 + i / 32768), (uint16_t)(i % 32768));
	assert_int_equal(s.last, MAX_SEQUENCES + 1);
	assert_int_equal(id_of(&s, 60000, 1), 0);
	assert_int_equal(id_of(&s, 60001, 1), 0);
	/* Those that are known stay known. */
	assert_int_equal(id_of(&s, 1, 0), 2);
	assert_int_equal(id_of(&s, MAX_SEQUENCES / 32768, 32767), MAX_SEQUENCES + 1);
	sequence_ids_deinit(&s);
}

/* Returns how many writers of a user get an id until one gets none, at most MAX_SEQUENCES. Each
 * user has producers of its own, from `producer` on. */
static uint32_t take_all(struct sequence_ids *s, uid_t uid, uint16_t producer)
{
	uint32_t n = 0;

	while (n < MAX_SEQUENCES &&
	       id_for(s, uid, (uint16_t)(producer + n / 32768), (uint16_t)(n % 32768)))
		n++;
	return n;
}

TEST(a_user_that_takes_all_it_can_leaves_ids_to_others_and_to_root)
{
	struct sequence_ids s = {0};

	assert_int_equal(take_all(&s, 4242, 100), MAX_SEQUENCES / 4);
	assert_int_equal(take_all(&s, 4243, 200), MAX_SEQUENCES / 4);
	assert_int_equal(take_all(&s, 4244, 300), MAX_SEQUENCES / 8);
	/* What one has is not lost when others come. */
	assert_int_not_equal(id_for(&s, 4242, 100, 0), 0);
	assert_int_equal(id_for(&s, 4242, 400, 1), 0);
	assert_int_not_equal(id_for(&s, 4245, 401, 1), 0);
	assert_int_not_equal(id_for(&s, OWN_USER, 402, 1), 0);
	assert_int_equal(take_all(&s, 0, 500), MAX_SEQUENCES / 8 * 3 - 2);
	sequence_ids_deinit(&s);
}

TEST(however_many_users_there_are_root_has_a_quarter)
{
	struct sequence_ids s = {0};

	for (uint16_t user = 0; user < 100; user++)
		take_all(&s, 1000u + user, (uint16_t)(100 * (1 + user)));
	assert_int_equal(take_all(&s, 0, 60000), MAX_SEQUENCES / 4);
	sequence_ids_deinit(&s);
}

/* A uid of another machine is whatever that machine says. */
TEST(writers_of_other_machines_are_one_user)
{
	struct sequence_ids s = {0};
	struct trace_buffer_writer remote = {.producer_id = 1, .uid = OWN_USER, .machine_id = 7};
	uint32_t id, n = 0;

	for (; sequence_ids_get_or_add(&s, &quota, &remote, &id) == 0; n++) {
		remote.uid = n % 1000;
		remote.machine_id = 1 + n % 1000;
		remote.writer_id++;
		remote.producer_id += remote.writer_id == 0;
	}
	assert_int_equal(n, MAX_SEQUENCES / 4);
	sequence_ids_deinit(&s);
}

TEST(a_copy_knows_what_each_user_has)
{
	struct sequence_ids s = {0}, copy = {0};

	take_all(&s, 4242, 100);
	assert_int_equal(sequence_ids_copy(&s, &copy), 0);
	assert_int_equal(id_for(&copy, 4242, 200, 1), 0);
	assert_int_not_equal(id_for(&copy, 4243, 200, 1), 0);
	sequence_ids_deinit(&s);
	sequence_ids_deinit(&copy);
}

TEST(copy_goes_on_by_itself)
{
	struct sequence_ids s = {0}, copy = {0}, none = {0};

	assert_int_equal(sequence_ids_copy(&none, &copy), 0);
	assert_int_equal(id_of(&copy, 1, 1), 2);
	sequence_ids_deinit(&copy);
	for (uint16_t i = 1; i <= 100; i++)
		id_of(&s, 1, i);
	assert_int_equal(sequence_ids_copy(&s, &copy), 0);
	assert_int_equal(id_of(&copy, 2, 1), 102);
	assert_int_equal(id_of(&s, 3, 1), 102);
	for (uint16_t i = 1; i <= 100; i++)
		assert_int_equal(id_of(&copy, 1, i), i + 1);
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
			id_of(&s, 1, writers[i]);
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
