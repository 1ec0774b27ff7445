/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of names and of addresses of a bundle. */
#include "ftrace/encode/intern_tables.h"
#include "unit/rng.h"
#include "unit/test.h"

static struct comm_table t;
static struct sym_index s;

static uint32_t get(const char text[COMM_LEN])
{
	struct comm raw;

	memcpy(&raw, text, sizeof(raw));
	return comm_table_intern(&t, raw);
}

TEST(numbers_in_the_order_of_first_sight)
{
	comm_table_clear(&t);
	assert_int_equal(get("swapper/0\0\0\0\0\0\0"), 0);
	assert_int_equal(get("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), 1);
	assert_int_equal(get("sixteen bytes ok"), 2);
	assert_int_equal(get("sixteen bytes ol"), 3);
	assert_int_equal(get("sixteen bytes ok"), 2);
	assert_int_equal(get("swapper/0\0\0\0\0\0\0"), 0);
	comm_table_clear(&t);
	assert_int_equal(get("sixteen bytes ok"), 0);
}

TEST(what_is_behind_the_nul_does_not_count)
{
	comm_table_clear(&t);
	assert_int_equal(get("bash\0\0\0\0\0\0\0\0\0\0\0"), 0);
	assert_int_equal(get("bash\0rubbish here"), 0);
	assert_int_equal(get("bash8ch\0rubbish!"), 1);
	assert_int_equal(get("bash8ch\0ooooooo!"), 1);
	assert_int_equal(get("bash8chr\0ubbish!"), 2);
	assert_int_equal(get("bash8chr\0xxxxxx!"), 2);
	assert_int_equal(get("bash8chr\1xxxxxx!"), 3);
}

/* Every length and every byte, against the obvious way. */
TEST(names_of_every_length)
{
	uint64_t seed = 3;

	for (unsigned i = 0; i < 100000; i++) {
		uint8_t bytes[COMM_LEN], want[COMM_LEN] = {0};
		struct comm c;
		size_t len;

		rng_bytes(&seed, bytes, sizeof(bytes));
		for (unsigned n = rng_below(&seed, 4); n; n--)
			bytes[rng_below(&seed, COMM_LEN)] = (uint8_t[]){0, 1, 0x80, 0xff}[n];
		if (i % 2)
			bytes[rng_below(&seed, COMM_LEN)] = 0;
		len = strnlen((const char *)bytes, sizeof(bytes));
		memcpy(want, bytes, len);
		c = comm_load(bytes);
		assert_memory_equal(&c, want, sizeof(want));
		assert_int_equal(comm_len(c), len);
	}
}

TEST(as_many_as_fit)
{
	char name[COMM_LEN + 8];

	for (unsigned round = 0; round < 3; round++) {
		comm_table_clear(&t);
		for (unsigned i = 0; i < COMM_TABLE_MAX; i++) {
			memset(name, 0, sizeof(name));
			snprintf(name, sizeof(name), "task %u", i * 7919);
			assert_int_equal(get(name), i);
		}
	}
}

TEST(generations_that_wrap)
{
	comm_table_clear(&t);
	get("left behind\0\0\0\0");
	t.generation = UINT32_MAX;
	for (unsigned i = 0; i < COMM_TABLE_SLOTS; i++)
		t.slots[i].generation = 1;
	comm_table_clear(&t);
	assert_int_equal(get("new\0\0\0\0\0\0\0\0\0\0\0\0"), 0);
	assert_int_equal(get("left behind\0\0\0\0"), 1);
}

/* ---- addresses ---- */

TEST(addresses_have_numbers_in_the_order_of_first_sight)
{
	sym_index_clear(&s);
	assert_int_equal(sym_index_intern(&s, 0xffffffff81000000), 1);
	assert_int_equal(sym_index_intern(&s, 1), 2);
	assert_int_equal(sym_index_intern(&s, UINT64_MAX), 3);
	assert_int_equal(sym_index_intern(&s, 1), 2);
	assert_int_equal(sym_index_intern(&s, 0), 0);
	assert_int_equal(s.n, 3);
	assert_true(s.addrs[2] == UINT64_MAX);
	assert_int_equal(sym_index_intern(&s, 0xffffffff81000000), 1);
	sym_index_clear(&s);
	assert_int_equal(sym_index_intern(&s, UINT64_MAX), 1);
}

TEST(a_full_table_of_addresses_keeps_what_it_has)
{
	sym_index_clear(&s);
	for (uint64_t i = 0; i < SYM_INDEX_MAX; i++)
		assert_int_equal(sym_index_intern(&s, (i + 1) << 20), i + 1);
	assert_int_equal(sym_index_intern(&s, 12345), 0);
	for (uint64_t i = 0; i < SYM_INDEX_MAX; i++)
		assert_int_equal(sym_index_intern(&s, (i + 1) << 20), i + 1);
}

TEST(generations_of_addresses_that_wrap)
{
	sym_index_clear(&s);
	sym_index_intern(&s, 77);
	s.generation = UINT32_MAX;
	for (unsigned i = 0; i < SYM_INDEX_SLOTS; i++)
		s.slots[i].generation = 1; /* of 2^32 bundles ago */
	sym_index_clear(&s);
	assert_int_equal(sym_index_intern(&s, 78), 1);
	assert_int_equal(sym_index_intern(&s, 77), 2);
}
