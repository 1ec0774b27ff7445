/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/parquet/parquet_column.h"

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/parquet/parquet_encode.h"
#include "base/core/mem.h"
#include "base/core/siphash.h"

#define TEXT_SLOTS_MIN 256u
#define STATISTIC_MAX 64 /* bytes of a text that is a least or greatest value; longer: none */

/* ---- texts ---- */

/* Returns the first 8 bytes as a number in their order; a shorter text has zeros at its end. */
static uint64_t start_of_text(const char *s, size_t len)
{
	uint64_t v = 0;

	if (len >= sizeof(v))
		memcpy(&v, s, sizeof(v));
	else
		for (size_t i = 0; i < len; i++)
			((char *)&v)[i] = s[i];
	return be64toh(v);
}

static bool text_is_equal(const struct parquet_column *c, uint32_t number, const char *s,
			  const struct parquet_text *like)
{
	const struct parquet_text *t = &c->texts[number];

	return t->start == like->start && t->len == like->len &&
	       (t->len <= sizeof(t->start) || !memcmp(c->bytes.s + t->at, s, t->len));
}

static uint32_t hash_text_to_slot(const struct parquet_column *c, const char *s, size_t len)
{
	return (uint32_t)siphash_keyed(s, len) & (c->n_slots - 1);
}

/* Makes room for one more text. Returns 0 or -ENOMEM. */
static int reserve_text(struct parquet_column *c)
{
	uint32_t *slots, n = MAX(2 * c->n_slots, TEXT_SLOTS_MIN), at;

	if (array_reserve(&c->texts, &c->cap_texts, c->n_texts + 1, sizeof(*c->texts)))
		return -ENOMEM;
	if (2 * (c->n_texts + 1) <= c->n_slots)
		return 0;
	slots = calloc(n, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(c->slots);
	c->slots = slots;
	c->n_slots = n;
	for (uint32_t i = 0; i < c->n_texts; i++) {
		at = hash_text_to_slot(c, c->bytes.s + c->texts[i].at, c->texts[i].len);
		while (slots[at])
			at = (at + 1) & (n - 1);
		slots[at] = i + 1;
	}
	return 0;
}

/* Copies a text to c->clean, with '?' in place of each byte that is not UTF-8. Returns false if
 * there is no such byte, or if out of memory. */
static bool clean_text(struct parquet_column *c, const char *s, size_t len)
{
	bool is_clean = true;
	size_t n;

	for (size_t at = 0; at < len; at += MAX(n, 1u)) {
		n = (uint8_t)s[at] < 0x80 ? 1 : str_utf8_len(s + at, len - at);
		if (n)
			continue;
		if (is_clean) {
			strbuf_clear(&c->clean);
			strbuf_add(&c->clean, s, len);
			is_clean = false;
		}
		if (!c->clean.failed)
			c->clean.s[at] = '?';
	}
	c->failed |= c->clean.failed;
	return !is_clean && !c->failed;
}

uint32_t parquet_column_number_text(struct parquet_column *c, const char *s, size_t len)
{
	uint32_t *guess = &c->guesses[((uintptr_t)s * UINT64_C(0x9e3779b97f4a7c15) >> 32) %
				      PARQUET_TEXT_GUESSES],
		 i;
	struct parquet_text like = {.start = start_of_text(s, len), .len = (uint32_t)len};

	if (*guess < c->n_texts && text_is_equal(c, *guess, s, &like))
		return *guess;
	if (c->failed || c->bytes.len + len > UINT32_MAX || reserve_text(c) < 0) {
		c->failed = true;
		return 0;
	}
	i = hash_text_to_slot(c, s, len);
	for (; c->slots[i]; i = (i + 1) & (c->n_slots - 1))
		if (text_is_equal(c, c->slots[i] - 1, s, &like))
			return *guess = c->slots[i] - 1;
	if (clean_text(c, s, len))
		return parquet_column_number_text(c, c->clean.s, len);
	like.at = (uint32_t)c->bytes.len;
	c->texts[c->n_texts] = like;
	strbuf_add(&c->bytes, s, len);
	if (c->bytes.failed) {
		c->failed = true;
		return 0;
	}
	c->slots[i] = (uint32_t)++c->n_texts;
	return *guess = (uint32_t)c->n_texts - 1;
}

/* ---- values ---- */

bool parquet_column_reserve(struct parquet_column *c)
{
	if (!c->cells.values) {
		c->cells.values = malloc(PARQUET_GROUP_ROWS * sizeof(*c->cells.values));
		c->cells.is_set = malloc(PARQUET_GROUP_ROWS);
		c->failed |= !c->cells.values || !c->cells.is_set;
	}
	return !c->failed;
}

void parquet_column_put_plain(const struct parquet_column *c, uint64_t value, bool with_length,
			      struct strbuf *to)
{
	uint64_t le = htole64(value);

	if (c->def.kind == PARQUET_TEXT) {
		const struct parquet_text *t = &c->texts[value];

		if (with_length)
			parquet_put_u32(to, t->len);
		strbuf_add(to, c->bytes.s + t->at, t->len);
	} else {
		strbuf_add(to, &le, sizeof(le));
	}
}

static double real_of_bits(uint64_t bits)
{
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* Texts are compared by their bytes. */
static int parquet_column_compare(const struct parquet_column *c, uint64_t a, uint64_t b)
{
	const struct parquet_text *x, *y;
	int r;

	if (c->def.kind == PARQUET_INTEGER)
		return ((int64_t)a > (int64_t)b) - ((int64_t)a < (int64_t)b);
	if (c->def.kind == PARQUET_REAL)
		return (real_of_bits(a) > real_of_bits(b)) - (real_of_bits(a) < real_of_bits(b));
	x = &c->texts[a];
	y = &c->texts[b];
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	r = memcmp(c->bytes.s + x->at, c->bytes.s + y->at, MIN(x->len, y->len));
	return r ? r : (x->len > y->len) - (x->len < y->len);
}

static bool is_nan(const struct parquet_column *c, uint64_t value)
{
	return c->def.kind == PARQUET_REAL && isnan(real_of_bits(value));
}

struct parquet_range parquet_column_find_range(const struct parquet_column *c,
					       const uint64_t *values, size_t n)
{
	struct parquet_range r = {.is_valid = n > 0};

	if (n)
		r.lo = r.hi = values[0];
	if (c->def.kind == PARQUET_INTEGER) {
		for (size_t i = 0; i < n; i++) {
			r.lo = (uint64_t)MIN((int64_t)values[i], (int64_t)r.lo);
			r.hi = (uint64_t)MAX((int64_t)values[i], (int64_t)r.hi);
		}
		return r;
	}
	for (size_t i = 0; i < n; i++) {
		if (i && values[i] == values[i - 1])
			continue;
		r.is_valid &= !is_nan(c, values[i]);
		if (parquet_column_compare(c, values[i], r.lo) < 0)
			r.lo = values[i];
		if (parquet_column_compare(c, values[i], r.hi) > 0)
			r.hi = values[i];
	}
	return r;
}

void parquet_column_join_range(const struct parquet_column *c, struct parquet_range *r,
			       const struct parquet_range *by)
{
	r->is_valid &= by->is_valid;
	if (parquet_column_compare(c, by->lo, r->lo) < 0)
		r->lo = by->lo;
	if (parquet_column_compare(c, by->hi, r->hi) > 0)
		r->hi = by->hi;
}

bool parquet_column_put_range(const struct parquet_column *c, struct parquet_range r,
			      struct strbuf *least, struct strbuf *most)
{
	if (!r.is_valid)
		return false;
	if (c->def.kind == PARQUET_TEXT &&
	    (c->texts[r.lo].len > STATISTIC_MAX || c->texts[r.hi].len > STATISTIC_MAX))
		return false;
	if (c->def.kind == PARQUET_REAL && real_of_bits(r.lo) == 0)
		r.lo = UINT64_C(1) << 63;
	if (c->def.kind == PARQUET_REAL && real_of_bits(r.hi) == 0)
		r.hi = 0;
	parquet_column_put_plain(c, r.lo, false, least);
	parquet_column_put_plain(c, r.hi, false, most);
	return true;
}

void parquet_column_put_texts(const struct parquet_column *c, const uint64_t *numbers, size_t n,
			      bool with_length, struct strbuf *to)
{
	size_t bytes = 0;
	char *out;

	for (size_t i = 0; i < n; i++)
		bytes += c->texts[numbers[i]].len;
	bytes += with_length ? n * sizeof(uint32_t) : 0;
	out = strbuf_reserve(to, bytes);
	if (!out)
		return;
	for (size_t i = 0; i < n; i++) {
		const struct parquet_text *t = &c->texts[numbers[i]];
		uint32_t le = htole32(t->len);

		if (with_length)
			out = mempcpy(out, &le, sizeof(le));
		out = mempcpy(out, c->bytes.s + t->at, t->len);
	}
	to->len += bytes;
}

void parquet_column_clear(struct parquet_column *c)
{
	c->cells.n = 0;
	c->n_texts = 0;
	strbuf_clear(&c->bytes);
	if (c->slots)
		memset(c->slots, 0, c->n_slots * sizeof(*c->slots));
}

void parquet_column_deinit(struct parquet_column *c)
{
	free(c->cells.values);
	free(c->cells.is_set);
	free(c->texts);
	free(c->slots);
	strbuf_deinit(&c->bytes);
	strbuf_deinit(&c->clean);
}
