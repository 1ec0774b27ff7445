// SPDX-License-Identifier: Apache-2.0
/* A table put together by hand: what stands in it byte by byte, and what is found in it. */

#include "unit/test.h"
#include "symbols/symbol_table.h"

TEST(test_numbers_of_words)
{
	static const uint32_t words[] = {0,
					 1,
					 SYMBOL_TABLE_ONE_BYTE - 1,
					 SYMBOL_TABLE_ONE_BYTE,
					 SYMBOL_TABLE_ONE_BYTE + 255,
					 SYMBOL_TABLE_ONE_BYTE + 256,
					 SYMBOL_TABLE_TWO_BYTES - 1,
					 SYMBOL_TABLE_TWO_BYTES,
					 SYMBOL_TABLE_MAX_WORDS - 1};
	static const unsigned lengths[] = {1, 1, 1, 2, 2, 2, 2, 4, 4};
	uint8_t bytes[8];
	uint32_t word;

	for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
		assert_int_equal(symbol_table_put_word(bytes, words[i]) - bytes, lengths[i]);
		assert_ptr_equal(symbol_table_get_word(bytes, &word), bytes + lengths[i]);
		assert_int_equal(word, words[i]);
	}
}

/* Two blocks: a function, data, and a function with another behind it in the next block. */
static struct symbol_table_block blocks[] = {{0x1000, 0}, {0x200000, 10}};
static uint8_t bytes[] = {
	0,    2,    0, 1, /* 0x1000 do_idle */
	0x10, 0, /* 0x1010, data */
	0x20, 2,    2, 1, /* 0x1030 my_idle */
	0,    1,    0, /* 0x200000 do */
	0x80, 0x01, 0, /* 0x200080, the end of it */
};
static char words[] = "do_idlemy";
static uint32_t word_at[] = {0, 2, 7, 9};
static const struct symbol_table k = {
	.blocks = blocks,
	.n_blocks = 2,
	.n_functions = 3,
	.bytes = bytes,
	.n_bytes = sizeof(bytes),
	.words = words,
	.word_at = word_at,
	.n_words = 3,
};

static void assert_name(uint64_t address, const char *want)
{
	char name[SYMBOL_TABLE_NAME_MAX];
	size_t len = symbol_table_name(&k, address, name);

	assert_int_equal(len, strlen(want));
	assert_memory_equal(name, want, len);
}

TEST(test_names)
{
	assert_name(0, "");
	assert_name(0xfff, "");
	assert_name(0x1000, "do_idle");
	assert_name(0x100f, "do_idle");
	assert_name(0x1010, "");
	assert_name(0x102f, "");
	assert_name(0x1030, "my_idle");
	/* It reaches as far as functions may, not to the next block. */
	assert_name(0x1030 + SYMBOL_TABLE_REACH - 1, "my_idle");
	assert_name(0x1030 + SYMBOL_TABLE_REACH, "");
	assert_name(0x1fffff, "");
	assert_name(0x200000, "do");
	assert_name(0x20007f, "do");
	assert_name(0x200080, "");
	assert_name(UINT64_MAX, "");
}

TEST(test_an_empty_table)
{
	struct symbol_table none = {0};
	char name[SYMBOL_TABLE_NAME_MAX];

	assert_int_equal(symbol_table_name(&none, 0x1000, name), 0);
	assert_int_equal(symbol_table_size(&none), 0);
	symbol_table_deinit(&none);
	assert_true(symbol_table_size(&k) >= sizeof(bytes) + sizeof(words) - 1 + sizeof(word_at));
}
