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
#include "symbols/symbol_table.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/fnv.h"
#include "base/core/lower_bound.h"
#include "base/core/mem.h"
#include "base/core/open_table.h"
#include "base/text/number_read.h"
#include "base/text/str.h"
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

/* Joins the words from p to end in name, without a NUL. Returns the length. */
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

/*
 *	read     line -> words, numbered in order of first use -> symbol {address, name}
 *	sort     symbols by address, unless they are
 *	count    occurrences of each word in the names
 *	number   words by use, so that frequent words get small numbers
 *	pack     symbols -> blocks (symbol_table.h)
 *
 * Until they are packed, names are kept in one array of word numbers; the last word of a name is
 * marked. Each step processes about STEP_SYMBOLS symbols, but the sort and the ranking are one step
 * each.
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
#define MAX_NAME_WORDS (SYMBOL_TABLE_NAME_MAX + 1)

struct symbol {
	uint64_t address;
	uint32_t name; /* index in names */
	uint32_t line; /* number of the symbol in the text */
};

#define FIRST_SLOTS 4096

/* All words, and an open-addressing table of them, at most half full. */
struct words {
	char *text; /* owned */
	size_t text_len;
	size_t text_cap;
	uint32_t *at; /* owned: n + 1 offsets in text */
	size_t at_cap;
	uint32_t n;
	uint32_t *slots; /* owned: number + 1; 0: free */
	uint32_t n_slots;
};

enum stage { READ, SORT, COUNT, RANK, PACK, DONE };

struct symbol_table_build {
	enum stage stage;
	char line[LINE_MAX_BYTES]; /* start of an incomplete line */
	size_t line_len;
	bool skip_line; /* the current line is too long */
	struct words words;
	uint32_t *names; /* owned: word numbers; the last word of a name has LAST_WORD */
	size_t n_names;
	size_t names_cap;
	struct symbol *symbols; /* owned */
	size_t n_symbols;
	size_t symbols_cap;
	bool sorted; /* the symbols so far are sorted */
	size_t next; /* next symbol of the stage */
	uint32_t *counts; /* counts by word; later the number of the word */
	struct symbol_table out;
	size_t blocks_cap;
	size_t bytes_cap;
	uint64_t last_address; /* used by PACK */
	uint32_t in_block;
};

#define LAST_WORD (1u << 31)
_Static_assert(SYMBOL_TABLE_MAX_WORDS < LAST_WORD, "the mark fits");

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
	free(b->words.text);
	free(b->words.at);
	free(b->words.slots);
	free(b->names);
	free(b->symbols);
	free(b->counts);
	symbol_table_deinit(&b->out);
	free(b);
	return NULL;
}

/* ---- words ---- */

static uint32_t symbol_table_build_hash(const char *s, size_t len)
{
	uint64_t h = fnv1a(FNV1A_START, s, len);

	return (uint32_t)(h ^ h >> 32);
}

static bool word_is_equal(const struct words *w, uint32_t word, const char *s, size_t len)
{
	return w->at[word + 1] - w->at[word] == len && !memcmp(w->text + w->at[word], s, len);
}

static uint32_t *find_slot(const struct words *w, const char *s, size_t len)
{
	return &w->slots[OPEN_TABLE_FIND(w->n_slots, symbol_table_build_hash(s, len), at,
					 !w->slots[at] ||
						 word_is_equal(w, w->slots[at] - 1, s, len))];
}

static uint32_t hash_word(const struct words *w, uint32_t word)
{
	return symbol_table_build_hash(w->text + w->at[word], w->at[word + 1] - w->at[word]);
}

static int symbol_table_build_add_word(struct words *w, const char *s, size_t len, uint32_t *slot)
{
	if (w->n + 1 == SYMBOL_TABLE_MAX_WORDS || w->text_len + len > UINT32_MAX ||
	    array_reserve(&w->text, &w->text_cap, w->text_len + len, 1) ||
	    array_reserve(&w->at, &w->at_cap, w->n + 2, sizeof(*w->at)))
		return -ENOMEM;
	memcpy(w->text + w->text_len, s, len);
	w->at[w->n++] = (uint32_t)w->text_len;
	w->text_len += len;
	w->at[w->n] = (uint32_t)w->text_len;
	*slot = w->n;
	return 0;
}

/* Sets *ret to the number of the word, which is added if it is new. Returns 0 or -ENOMEM. */
static int intern_word(struct words *w, const char *s, size_t len, uint32_t *ret)
{
	uint32_t *slot;
	int r = 0;

	if (w->n >= w->n_slots / 2 && !OPEN_TABLE_GROW(w->slots, w->n_slots, FIRST_SLOTS, word,
						       !*word, hash_word(w, *word - 1)))
		return -ENOMEM;
	slot = find_slot(w, s, len);
	if (!*slot)
		r = symbol_table_build_add_word(w, s, len, slot);
	if (!r)
		*ret = *slot - 1;
	return r;
}

/* ---- lines ---- */

static size_t word_len(const char *s, size_t len)
{
	size_t n = 1;

	while (n < len && s[n] != '_' && s[n] != '.')
		n++;
	return n;
}

static int symbol_table_build_add_name(struct symbol_table_build *b, const char *name, size_t len,
				       uint32_t *ret)
{
	uint32_t word = 0;
	size_t n;
	int r;

	if (array_reserve(&b->names, &b->names_cap, b->n_names + MAX_NAME_WORDS, sizeof(*b->names)))
		return -ENOMEM;
	*ret = (uint32_t)b->n_names;
	for (; len; name += n, len -= n) {
		n = word_len(name, len);
		r = intern_word(&b->words, name, n, &word);
		if (r)
			return r;
		b->names[b->n_names++] = word;
	}
	b->names[b->n_names - 1] |= LAST_WORD;
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

/* ---- count and number ---- */

/* Returns true if the previous symbol has the same address. */
static bool symbol_is_alias(const struct symbol_table_build *b, size_t i)
{
	return i && b->symbols[i].address == b->symbols[i - 1].address;
}

/* Does one step of counting how often names use each word. Returns 0 or -ENOMEM. */
static int count_words(struct symbol_table_build *b)
{
	size_t stop = MIN(b->next + STEP_SYMBOLS, b->n_symbols);

	if (!b->counts)
		b->counts = calloc((size_t)b->words.n + 1, sizeof(*b->counts));
	if (!b->counts)
		return -ENOMEM;
	for (; b->next < stop; b->next++) {
		uint32_t at = b->symbols[b->next].name;

		if (at == NO_NAME || symbol_is_alias(b, b->next))
			continue;
		do
			b->counts[b->names[at] & ~LAST_WORD]++;
		while (!(b->names[at++] & LAST_WORD));
	}
	if (b->next == b->n_symbols)
		b->stage = RANK;
	return 0;
}

struct ranked {
	uint32_t count;
	uint32_t word;
};

static int compare_word_counts(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return (x->count < y->count) - (x->count > y->count);
}

/* Copies the words in order of their use; counts[word] becomes the new number. */
static int number_words_by_use(struct symbol_table_build *b)
{
	struct words *w = &b->words;
	_cleanup_(freep) struct ranked *ranked = calloc((size_t)w->n + 1, sizeof(*ranked));
	uint32_t used = 0;

	b->out.words = malloc(w->text_len + 1);
	b->out.word_at = calloc((size_t)w->n + 1, sizeof(*b->out.word_at));
	if (!ranked || !b->out.words || !b->out.word_at)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->n; i++)
		ranked[i] = (struct ranked){b->counts[i], i};
	qsort(ranked, w->n, sizeof(*ranked), compare_word_counts);
	for (uint32_t i = 0; i < w->n; i++) {
		uint32_t word = ranked[i].word, len = w->at[word + 1] - w->at[word];

		memcpy(b->out.words + used, w->text + w->at[word], len);
		b->out.word_at[i] = used;
		used += len;
		b->counts[word] = i;
	}
	b->out.word_at[w->n] = used;
	b->out.n_words = w->n;
	b->next = 0;
	b->stage = PACK;
	return 0;
}

/* ---- pack ---- */

static int begin_block(struct symbol_table_build *b, uint64_t address)
{
	struct symbol_table *out = &b->out;

	if (array_reserve(&out->blocks, &b->blocks_cap, out->n_blocks + 1u, sizeof(*out->blocks)))
		return -ENOMEM;
	out->blocks[out->n_blocks++] = (struct symbol_table_block){address, (uint32_t)out->n_bytes};
	b->last_address = address;
	b->in_block = 0;
	return 0;
}

static size_t pack_symbol_name(const struct symbol_table_build *b, uint32_t at, uint8_t *to)
{
	uint8_t *p = to;

	if (at == NO_NAME)
		return 0;
	do
		p = symbol_table_put_word(p, b->counts[b->names[at] & ~LAST_WORD]);
	while (!(b->names[at++] & LAST_WORD));
	return (size_t)(p - to);
}

static int pack_symbol(struct symbol_table_build *b, const struct symbol *s)
{
	uint8_t name[4 * MAX_NAME_WORDS], *p;
	struct symbol_table *out = &b->out;
	size_t len = pack_symbol_name(b, s->name, name);

	if ((!out->n_blocks || b->in_block == SYMBOL_TABLE_BLOCK) && begin_block(b, s->address))
		return -ENOMEM;
	if (out->n_bytes + len + 20 > UINT32_MAX ||
	    array_reserve(&out->bytes, &b->bytes_cap, out->n_bytes + len + 20, 1))
		return -ENOMEM;
	p = pb_put_varint(out->bytes + out->n_bytes, s->address - b->last_address);
	p = pb_put_varint(p, len);
	memcpy(p, name, len);
	out->n_bytes = (size_t)(p + len - out->bytes);
	out->n_functions += s->name != NO_NAME;
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
		b->stage = b->sorted ? COUNT : SORT;
		b->next = 0;
		break;
	case SORT:
		qsort(b->symbols, b->n_symbols, sizeof(*b->symbols), compare_by_address);
		b->stage = COUNT;
		break;
	case COUNT:
		r = count_words(b);
		break;
	case RANK:
		r = number_words_by_use(b);
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
