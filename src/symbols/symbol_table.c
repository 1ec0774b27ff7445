/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A binary search over the blocks, then a linear one in a block:
 *
 *	blocks   [address at][address at] ...
 *	                  |
 *	bytes     | distance len word word word | distance len word word | distance 0 |
 *	                          |    |    +- "_bio"                      ends the previous one
 *	words     ... |blk|_submit|_bio| ...
 *
 * A word is the part of a name up to the next '_' or '.'. Distances and lengths are varints.
 */
#include <stdlib.h>
#include <string.h>

#include "symbols/symbol_table.h"
#include "wire/pb_varint.h"

void symbol_table_deinit(struct symbol_table *k)
{
	free(k->blocks);
	free(k->bytes);
	free(k->words);
	free(k->word_at);
	*k = (struct symbol_table){0};
}

size_t symbol_table_size(const struct symbol_table *k)
{
	if (!k->n_blocks)
		return 0;
	return k->n_blocks * sizeof(*k->blocks) + k->n_bytes + k->word_at[k->n_words] +
	       (k->n_words + 1) * sizeof(*k->word_at);
}

/* The bytes are our own, so the varint is valid. */
static const uint8_t *get_varint(const uint8_t *p, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		v |= (uint64_t)(*p & 0x7f) << shift;
		if (*p++ < 0x80)
			break;
	}
	*ret = v;
	return p;
}

/* Returns the last block that starts at or before the address, or NULL. */
static const struct symbol_table_block *find_block(const struct symbol_table *k, uint64_t address)
{
	uint32_t low = 0, high = k->n_blocks, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (k->blocks[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &k->blocks[low - 1] : NULL;
}

static size_t join_words(const struct symbol_table *k, const uint8_t *p, const uint8_t *end,
			 char *name)
{
	size_t len = 0, n;
	uint32_t word;

	while (p < end) {
		p = symbol_table_get_word(p, &word);
		n = k->word_at[word + 1] - k->word_at[word];
		memcpy(name + len, k->words + k->word_at[word], n);
		len += n;
	}
	return len;
}

size_t symbol_table_find_name(const struct symbol_table *k, uint64_t address, char *ret_name)
{
	const struct symbol_table_block *block = find_block(k, address);
	const uint8_t *p, *end, *name = NULL;
	uint64_t at, distance, len, name_len = 0, begin = 0;

	if (!block)
		return 0;
	p = k->bytes + block->at;
	end = block + 1 < k->blocks + k->n_blocks ? k->bytes + block[1].at : k->bytes + k->n_bytes;
	for (at = block->address; p < end; p = name + name_len) {
		p = get_varint(p, &distance);
		at += distance;
		if (at > address)
			break;
		name = get_varint(p, &len);
		name_len = len;
		begin = at;
	}
	if (address - begin >= SYMBOL_TABLE_REACH)
		return 0;
	return join_words(k, name, name + name_len, ret_name);
}
