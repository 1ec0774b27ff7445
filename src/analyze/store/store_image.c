/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/store/store_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void write_array(struct image_writer *w, const void *array, size_t n, size_t element)
{
	uint64_t count = n;

	image_write(w, &count, sizeof(count));
	image_write(w, array, n * element);
}

/* Returns an array of *ret_n elements, which the caller frees; NULL if there are none, or after an
 * error. */
static void *read_array(struct image_reader *r, struct budget *budget, size_t element,
			size_t *ret_n)
{
	size_t n = image_read_count(r, element);
	void *array = n ? budget_alloc(budget, n * element) : NULL;

	*ret_n = array ? n : 0;
	if (array)
		image_read(r, array, n * element);
	return array;
}

/* ---- strings: their hashes have a key of this process, so that they are interned again ---- */

static void write_strings(const struct strings *t, struct image_writer *w)
{
	uint64_t n = t->n;

	image_write(w, &n, sizeof(n));
	for (size_t i = 0; i < t->n; i++) {
		uint32_t len = t->of[i].len;

		image_write(w, &len, sizeof(len));
		image_write(w, t->of[i].s, len);
	}
}

static void read_strings(struct strings *t, struct image_reader *r)
{
	size_t n = image_read_count(r, sizeof(uint32_t));

	for (size_t i = 0; i < n && !r->failed && !t->budget->error; i++) {
		uint32_t len;

		image_read(r, &len, sizeof(len));
		r->failed |= len > r->left;
		if (r->failed)
			return;
		/* Each string of an image is another one. */
		r->failed = strings_intern(t, r->at, len) != i;
		r->at += len;
		r->left -= len;
	}
}

/* ---- descriptions of events ---- */

static void write_generic_events(const struct generic_event *g, struct image_writer *w)
{
	image_write(w, &g->name, sizeof(g->name));
	image_write(w, &g->self_named, sizeof(g->self_named));
	write_array(w, g->fields, g->n_fields, sizeof(*g->fields));
	write_array(w, g->values, g->n_values, sizeof(*g->values));
}

static void read_generic_events(struct generic_event *g, struct budget *b, struct image_reader *r)
{
	uint8_t self_named;

	image_read(r, &g->name, sizeof(g->name));
	image_read(r, &self_named, sizeof(self_named));
	g->self_named = self_named != 0;
	g->fields = read_array(r, b, sizeof(*g->fields), &g->n_fields);
	g->values = read_array(r, b, sizeof(*g->values), &g->n_values);
	g->cap_fields = g->n_fields;
	g->cap_values = g->n_values;
}

/* ---- the store ---- */

bool store_can_be_image(const struct store *s)
{
	return s->n_bytes && s->bytes[0].mapped && !s->budget.error;
}

/* ---- compressed packets: where they are, not what they contain ---- */

struct packed_image {
	uint64_t at, packed_len, len;
	uint32_t field, crc;
};

static void write_packed(const struct store *s, struct image_writer *w)
{
	uint64_t n = s->n_bytes - 1;

	image_write(w, &n, sizeof(n));
	for (size_t i = 1; i < s->n_bytes; i++) {
		const struct trace_bytes *b = &s->bytes[i];
		struct packed_image packed = {.at = b->packed_at,
					      .packed_len = b->packed_len,
					      .len = b->len,
					      .field = b->packed_field,
					      .crc = (uint32_t)crc32_z(0, b->data, b->len)};

		image_write(w, &packed, sizeof(packed));
	}
}

/* The budget has room for the contents of all of them, as it had when they were imported. */
static void read_packed(struct store *s, struct image_reader *r)
{
	size_t n = image_read_count(r, sizeof(struct packed_image)), trace_len = s->bytes[0].len;

	for (size_t i = 0; i < n && !r->failed && !s->budget.error; i++) {
		struct packed_image packed;

		image_read(r, &packed, sizeof(packed));
		r->failed |= packed.at > trace_len || packed.packed_len > trace_len - packed.at;
		if (!r->failed)
			store_keep_bytes(s, (struct trace_bytes){.len = packed.len,
								 .packed_field = packed.field,
								 .packed_at = packed.at,
								 .packed_len = packed.packed_len,
								 .crc = packed.crc});
	}
}

static size_t count_recorded_threads(const struct store *s)
{
	return s->recorded ? s->tables[TABLE_THREAD].rows : 0;
}

void store_write_image(const struct store *s, struct image_writer *w)
{
	uint64_t n_generic = s->n_generic;

	image_write(w, &s->start_ts, sizeof(s->start_ts));
	image_write(w, &s->end_ts, sizeof(s->end_ts));
	image_write(w, &s->n_arg_sets, sizeof(s->n_arg_sets));
	image_write(w, &s->has_sleep_timers, sizeof(s->has_sleep_timers));
	write_strings(&s->strings, w);
	write_array(w, s->states, s->n_states, sizeof(*s->states));
	write_array(w, s->further, s->n_further, sizeof(*s->further));
	write_array(w, s->recorded, count_recorded_threads(s), sizeof(*s->recorded));
	image_write(w, &n_generic, sizeof(n_generic));
	for (size_t i = 0; i < s->n_generic; i++)
		write_generic_events(&s->generic[i], w);
	for (size_t i = 0; i < TABLES; i++)
		table_write_image(&s->tables[i], w);
	write_packed(s, w);
}

int store_read_image(struct store *s, struct image_reader *r)
{
	struct budget *b = &s->budget;
	uint8_t has_sleep_timers;
	size_t n_recorded, n_generic;
	int e = 0;

	image_read(r, &s->start_ts, sizeof(s->start_ts));
	image_read(r, &s->end_ts, sizeof(s->end_ts));
	image_read(r, &s->n_arg_sets, sizeof(s->n_arg_sets));
	image_read(r, &has_sleep_timers, sizeof(has_sleep_timers));
	s->has_sleep_timers = has_sleep_timers != 0;
	read_strings(&s->strings, r);
	free(s->states);
	s->states = read_array(r, b, sizeof(*s->states), &s->n_states);
	s->cap_states = s->n_states;
	s->further = read_array(r, b, sizeof(*s->further), &s->n_further);
	s->recorded = read_array(r, b, sizeof(*s->recorded), &n_recorded);
	n_generic = image_read_count(r, 1);
	if (n_generic)
		s->generic = budget_alloc(b, n_generic * sizeof(*s->generic));
	s->n_generic = s->cap_generic = s->generic ? n_generic : 0;
	for (size_t i = 0; i < s->n_generic && !r->failed; i++)
		read_generic_events(&s->generic[i], b, r);
	for (size_t i = 0; i < TABLES && e == 0 && !r->failed; i++)
		e = table_read_image(&s->tables[i], r);
	if (e == 0)
		read_packed(s, r);
	if (b->error)
		return b->error;
	return e || r->failed || r->left || n_recorded != count_recorded_threads(s) ? -EBADMSG : 0;
}
