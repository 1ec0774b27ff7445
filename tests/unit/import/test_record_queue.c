/* SPDX-License-Identifier: Apache-2.0 */
#include "import/perf_data/record_queue.h"
#include "unit/test.h"

static struct record_queue queue;
static char taken[64];

static void note_record(void *ctx, uint64_t time, const uint8_t *record, size_t len)
{
	assert_int_equal(len, 1);
	assert_int_equal(time, *record - '0');
	strncat(taken, (const char *)record, 1);
}

static void add_records(const char *digits)
{
	for (; *digits; digits++)
		assert_int_equal(record_queue_add(&queue, (uint64_t)(*digits - '0'),
						  (const uint8_t *)digits, 1),
				 0);
}

TEST(records_are_taken_up_to_the_end_of_the_round_before)
{
	queue = (struct record_queue){.take = note_record};
	taken[0] = '\0';
	/* Two rings, one after the other. */
	add_records("135"
		    "24");
	record_queue_end_round(&queue);
	assert_string_equal(taken, "");
	add_records("7"
		    "56");
	record_queue_end_round(&queue);
	assert_string_equal(taken, "123455");
	record_queue_end_round(&queue);
	assert_string_equal(taken, "12345567");
	add_records("98");
	record_queue_end(&queue);
	assert_string_equal(taken, "1234556789");
	record_queue_deinit(&queue);
}
