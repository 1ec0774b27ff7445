/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A binary search over the blocks, then a linear one in a block:
 *
 *	blocks   [address at][address at] ...
 *	                  |
 *	bytes     | distance 14 0 "blk_submit_bio" | distance 9 4 "queue" | distance 0 |
 *	                     |  |                             "blk_queue"            |
 *	                     |  bytes shared with the name before           ends blk_queue
 *	                     length
 *
 * A name is stored without the bytes at its beginning that it shares with the function before it in
 * the block. Distances and numbers of bytes are varints.
 *
 * A dictionary of the words of all names would save 0.48 MB of 1.20 MB for the 64,091 functions of
 * one kernel, but took 230 lines. Whole names would take 1.60 MB.
 */
#include "symbols/symbol_table.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/lower_bound.h"
#include "base/core/mem.h"
#include "base/text/number_read.h"
#include "base/text/str.h"
#include "wire/pb_varint.h"

void symbol_table_deinit(struct symbol_table *k)
{
	free(k->blocks);
	free(k->bytes);
	*k = (struct symbol_table){0};
}

size_t symbol_table_size(const struct symbol_table *k)
{
	return k->n_blocks * sizeof(*k->blocks) + k->n_bytes;
}

/* Reads a varint and returns the position after it. The bytes are our own, so it is valid. */
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
	uint32_t n = LOWER_BOUND(i, 0, k->n_blocks, k->blocks[i].address <= address);

	return n ? &k->blocks[n - 1] : NULL;
}

size_t symbol_table_find_name(const struct symbol_table *k, uint64_t address, char *ret_name)
{
	const struct symbol_table_block *block = find_block(k, address);
	uint64_t at, distance, len, shared, name_len = 0, begin = 0;
	const uint8_t *p, *end;

	if (!block)
		return 0;
	p = k->bytes + block->at;
	end = block + 1 < k->blocks + k->n_blocks ? k->bytes + block[1].at : k->bytes + k->n_bytes;
	for (at = block->address; p < end; begin = at) {
		p = get_varint(p, &distance);
		at += distance;
		if (at > address)
			break;
		p = get_varint(p, &len);
		name_len = len;
		if (!len)
			continue;
		p = get_varint(p, &shared);
		memcpy(ret_name + shared, p, len - shared);
		p += len - shared;
	}
	return address - begin < SYMBOL_TABLE_REACH ? name_len : 0;
}

/*
 *	read     line -> symbol {address, name}; all names in one text
 *	sort     symbols by address, unless they are
 *	pack     symbols -> blocks (symbol_table.h)
 *
 * A step packs about STEP_SYMBOLS symbols; the sort is one step.
 */

/*
 * Builds a symbol table from the text of /proc/kallsyms in time slices:
 *
 *	for each piece of text:  symbol_table_build_feed   any length, split anywhere
 *	while it returns 1:      symbol_table_build_step   sorts and packs: some ms each (the sort: 20)
 *	                         symbol_table_build_finish
 *
 * Format: lines ADDRESS TYPE NAME[\t[MODULE]], first those of the kernel sorted by address, then
 * those of modules and BPF programs in any order. Functions have type t, T, w or W.
 *
 * Skipped: malformed lines, addresses of 0 (hidden), mapping symbols of the architecture ($x), and
 * padding before functions (__pfx_). If an address has several names, the first line wins, as in
 * the kernel. Suffixes of control-flow integrity (.cfi, .cfi_jt) are removed.
 */
#define SYMBOL_TABLE_MAX_SYMBOLS (1u << 22) /* further symbols are ignored */

#define STEP_SYMBOLS 16384u
#define NO_NAME UINT32_MAX /* address that is not a function; it ends the previous function */
#define LINE_MAX_BYTES 1024u /* longer lines are not from kallsyms */
#define HEAD_MAX_BYTES 20u /* of a symbol: three varints */

struct symbol {
	uint64_t address;
	uint32_t name; /* offset in names */
	uint32_t line; /* number of the symbol in the text */
};

enum stage { READ, SORT, PACK, DONE };

struct symbol_table_build {
	enum stage stage;
	char line[LINE_MAX_BYTES]; /* start of an incomplete line */
	size_t line_len;
	bool skip_line; /* the current line is too long */
	char *names; /* owned: NUL-terminated names, one after the other */
	size_t n_names;
	size_t names_cap;
	struct symbol *symbols; /* owned */
	size_t n_symbols;
	size_t symbols_cap;
	bool sorted; /* the symbols so far are sorted */
	size_t next; /* next symbol of the stage */
	struct symbol_table out;
	size_t blocks_cap;
	size_t bytes_cap;
	uint64_t last_address; /* used by PACK */
	const char *last_name; /* used by PACK: of the last function of the block, or "" */
	uint32_t in_block;
};

int symbol_table_build_new(struct symbol_table_build **ret)
{
	struct symbol_table_build *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->sorted = true;
	*ret = b;
	return 0;
}

struct symbol_table_build *symbol_table_build_free(struct symbol_table_build *b)
{
	if (!b)
		return NULL;
	free(b->names);
	free(b->symbols);
	symbol_table_deinit(&b->out);
	free(b);
	return NULL;
}

/* ---- lines ---- */

/* Adds a name. Returns 0 or -ENOMEM. */
static int symbol_table_build_add_name(struct symbol_table_build *b, const char *name, size_t len,
				       uint32_t *ret)
{
	if (b->n_names + len + 1 > UINT32_MAX ||
	    array_reserve(&b->names, &b->names_cap, b->n_names + len + 1, 1))
		return -ENOMEM;
	*ret = (uint32_t)b->n_names;
	memcpy(b->names + b->n_names, name, len);
	b->n_names += len;
	b->names[b->n_names++] = '\0';
	return 0;
}

static int symbol_table_build_add_symbol(struct symbol_table_build *b, uint64_t address,
					 uint32_t name)
{
	if (array_reserve(&b->symbols, &b->symbols_cap, b->n_symbols + 1, sizeof(*b->symbols)))
		return -ENOMEM;
	if (b->n_symbols && b->symbols[b->n_symbols - 1].address > address)
		b->sorted = false;
	b->symbols[b->n_symbols] = (struct symbol){address, name, (uint32_t)b->n_symbols};
	b->n_symbols++;
	return 0;
}

static bool ends_with(const char *s, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len > n && !memcmp(s + len - n, end, n);
}

static bool name_equals(const char *s, size_t len, const char *name)
{
	return len == strlen(name) && !memcmp(s, name, len);
}

/* Adds the symbol of "ADDRESS TYPE NAME", NUL-terminated. Returns 0, also if it skips the line, or
 * -ENOMEM. */
static int symbol_table_build_add_line(struct symbol_table_build *b, const char *line)
{
	uint32_t number = NO_NAME;
	uint64_t address;
	const char *name, *after = line;
	size_t len;
	char type;
	int r = 0;

	if (str_read_u64(&after, 16, &address) == -EINVAL || !address || after[0] != ' ' ||
	    !after[1] || after[2] != ' ')
		return 0;
	type = after[1];
	name = after + 3;
	len = strcspn(name, "\t ");
	if (!len || len > SYMBOL_TABLE_NAME_MAX || *name == '$' || str_starts(name, "__pfx_"))
		return 0;
	if (ends_with(name, len, ".cfi_jt"))
		len -= strlen(".cfi_jt");
	else if (ends_with(name, len, ".cfi"))
		len -= strlen(".cfi");
	if (b->n_symbols == SYMBOL_TABLE_MAX_SYMBOLS)
		return 0;
	if (strchr("tTwW", type) && !name_equals(name, len, "_etext") &&
	    !name_equals(name, len, "_einittext"))
		r = symbol_table_build_add_name(b, name, len, &number);
	return r ? r : symbol_table_build_add_symbol(b, address, number);
}

/* Appends to the current line; skips a line that is too long. */
static void append_to_line(struct symbol_table_build *b, const char *text, size_t len)
{
	if (len >= sizeof(b->line) - b->line_len) {
		b->skip_line = true;
		return;
	}
	memcpy(b->line + b->line_len, text, len);
	b->line_len += len;
}

static int end_line(struct symbol_table_build *b)
{
	int r = 0;

	b->line[b->line_len] = '\0';
	if (!b->skip_line)
		r = symbol_table_build_add_line(b, b->line);
	b->line_len = 0;
	b->skip_line = false;
	return r;
}

int symbol_table_build_feed(struct symbol_table_build *b, const char *text, size_t len)
{
	const char *end = text + len, *eol;
	int r = 0;

	for (; !r && text < end; text = eol + 1) {
		eol = memchr(text, '\n', (size_t)(end - text));
		append_to_line(b, text, (size_t)((eol ? eol : end) - text));
		if (!eol)
			break;
		r = end_line(b);
	}
	return r;
}

/* ---- sort ---- */

/* The first line of an address wins, so symbols of one address keep their order. */
static int compare_by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

/* ---- pack ---- */

/* Returns true if the previous symbol has the same address. */
static bool symbol_is_alias(const struct symbol_table_build *b, size_t i)
{
	return i && b->symbols[i].address == b->symbols[i - 1].address;
}

static int begin_block(struct symbol_table_build *b, uint64_t address)
{
	struct symbol_table *out = &b->out;

	if (array_reserve(&out->blocks, &b->blocks_cap, out->n_blocks + 1u, sizeof(*out->blocks)))
		return -ENOMEM;
	out->blocks[out->n_blocks++] = (struct symbol_table_block){address, (uint32_t)out->n_bytes};
	b->last_address = address;
	b->last_name = "";
	b->in_block = 0;
	return 0;
}

/* Appends the symbol to the last block, or begins one. Returns 0 or -ENOMEM. */
static int pack_symbol(struct symbol_table_build *b, const struct symbol *s)
{
	const char *name = s->name == NO_NAME ? "" : b->names + s->name;
	struct symbol_table *out = &b->out;
	size_t len = strlen(name), shared = 0;
	uint8_t *p;

	if ((!out->n_blocks || b->in_block == SYMBOL_TABLE_BLOCK) && begin_block(b, s->address))
		return -ENOMEM;
	if (out->n_bytes + len + HEAD_MAX_BYTES > UINT32_MAX ||
	    array_reserve(&out->bytes, &b->bytes_cap, out->n_bytes + len + HEAD_MAX_BYTES, 1))
		return -ENOMEM;
	p = pb_put_varint(out->bytes + out->n_bytes, s->address - b->last_address);
	p = pb_put_varint(p, len);
	if (len) {
		while (name[shared] && name[shared] == b->last_name[shared])
			shared++;
		p = pb_put_varint(p, shared);
		p = (uint8_t *)memcpy(p, name + shared, len - shared) + len - shared;
		b->last_name = name;
		out->n_functions++;
	}
	out->n_bytes = (size_t)(p - out->bytes);
	b->last_address = s->address;
	b->in_block++;
	return 0;
}

static void *shrink_array(void *p, size_t size)
{
	void *smaller = size ? realloc(p, size) : NULL;

	return smaller ? smaller : p;
}

static int symbol_table_build_pack(struct symbol_table_build *b)
{
	size_t stop = MIN(b->next + STEP_SYMBOLS, b->n_symbols);

	for (; b->next < stop; b->next++)
		if (!symbol_is_alias(b, b->next) && pack_symbol(b, &b->symbols[b->next]))
			return -ENOMEM;
	if (b->next < b->n_symbols)
		return 0;
	b->out.blocks = shrink_array(b->out.blocks, b->out.n_blocks * sizeof(*b->out.blocks));
	b->out.bytes = shrink_array(b->out.bytes, b->out.n_bytes);
	b->stage = DONE;
	return 0;
}

int symbol_table_build_step(struct symbol_table_build *b)
{
	int r = 0;

	switch (b->stage) {
	case READ:
		if (b->line_len)
			r = end_line(b);
		b->stage = b->sorted ? PACK : SORT;
		b->next = 0;
		break;
	case SORT:
		qsort(b->symbols, b->n_symbols, sizeof(*b->symbols), compare_by_address);
		b->stage = PACK;
		break;
	case PACK:
		r = symbol_table_build_pack(b);
		break;
	case DONE:
		return 0;
	}
	if (r)
		return r;
	return b->stage != DONE;
}

struct symbol_table symbol_table_build_finish(struct symbol_table_build *b)
{
	struct symbol_table out = b->out;

	b->out = (struct symbol_table){0};
	if (!out.n_functions)
		symbol_table_deinit(&out);
	symbol_table_build_free(b);
	return out;
}
