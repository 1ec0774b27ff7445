/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/arg_writer.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/text/number_read.h"

void arg_writer_init(struct arg_writer *w, struct store *s, struct arg_builder *out)
{
	*w = (struct arg_writer){.store = s, .out = out};
}

void arg_writer_deinit(struct arg_writer *w)
{
	strbuf_deinit(&w->key);
	strbuf_deinit(&w->flat);
}

static struct arg_mark make_key_mark(const struct arg_writer *w)
{
	return (struct arg_mark){.key = w->key.len, .flat = w->flat.len};
}

static void arg_writer_add_part(struct strbuf *b, const char *s, size_t len, bool clean)
{
	if (b->len)
		strbuf_putc(b, '.');
	for (size_t i = 0; i < len; i++)
		strbuf_putc(b, clean && strchr(".[]", s[i]) && s[i] ? '_' : s[i]);
}

struct arg_mark arg_writer_enter(struct arg_writer *w, const void *name, size_t len, bool clean)
{
	struct arg_mark mark = make_key_mark(w);

	arg_writer_add_part(&w->key, name, len, clean);
	arg_writer_add_part(&w->flat, name, len, clean);
	return mark;
}

struct arg_mark arg_writer_enter_index(struct arg_writer *w, unsigned index)
{
	struct arg_mark mark = make_key_mark(w);

	strbuf_printf(&w->key, "[%u]", index);
	return mark;
}

/* Returns the index that follows the array's name in a key, plus 1. 0: the key is not an
 * element. */
static unsigned index_after_element(const struct arg_writer *w, uint32_t key)
{
	const struct strings *s = &w->store->strings;
	const char *text = strings_get(s, key);

	if (s->of[key].len <= w->key.len || text[w->key.len] != '[' ||
	    memcmp(text, w->key.s, w->key.len) != 0)
		return 0;
	return (unsigned)str_leading_u64(text + w->key.len + 1, 10) + 1;
}

static bool key_begins_with_path(const struct arg_writer *w, uint32_t key, size_t len)
{
	const struct strings *s = &w->store->strings;

	return s->of[key].len >= len && !memcmp(strings_get(s, key), w->key.s, len);
}

/* Inside an element of an array, only the arguments of this element are searched. They are the last
 * ones, as the element is new. */
unsigned arg_writer_next_index(const struct arg_writer *w)
{
	const char *bracket = memrchr(w->key.s, ']', w->key.len);
	size_t element = bracket ? (size_t)(bracket - w->key.s) + 1 : 0;
	const struct stored_arg *args = w->out->args;
	unsigned end = 0;

	if (w->out->n >= ARG_SET_MAX)
		return 0; /* no argument is added any more */
	for (size_t i = w->out->n;
	     i-- > 0 && (!element || key_begins_with_path(w, args[i].key, element));)
		end = MAX(end, index_after_element(w, args[i].key));
	for (size_t i = 0; !element && w->earlier && i < w->earlier->n; i++)
		end = MAX(end, index_after_element(w, w->earlier->args[i].key));
	return end;
}

static void arg_writer_truncate(struct strbuf *b, size_t len)
{
	if (b->len <= len)
		return;
	b->len = len;
	b->s[len] = '\0';
}

void arg_writer_end_key(struct arg_writer *w, struct arg_mark mark)
{
	arg_writer_truncate(&w->key, mark.key);
	arg_writer_truncate(&w->flat, mark.flat);
}

static void arg_writer_add(struct arg_writer *w, enum arg_type type, int64_t v)
{
	struct strings *s = &w->store->strings;

	arg_builder_add(w->store, w->out,
			&(struct stored_arg){.key = strings_intern_buf(s, &w->key),
					     .flat_key = strings_intern_buf(s, &w->flat),
					     .type = type,
					     .value = v});
}

void arg_writer_int(struct arg_writer *w, enum arg_type type, int64_t v)
{
	arg_writer_add(w, type, v);
}

void arg_writer_real(struct arg_writer *w, double v)
{
	int64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	arg_writer_add(w, ARG_REAL, bits);
}

void arg_writer_text(struct arg_writer *w, const void *s, size_t len)
{
	arg_writer_add(w, ARG_STRING, strings_intern(&w->store->strings, s, len));
}

void arg_writer_buf(struct arg_writer *w, const struct strbuf *b)
{
	arg_writer_add(w, ARG_STRING, strings_intern_buf(&w->store->strings, b));
}
