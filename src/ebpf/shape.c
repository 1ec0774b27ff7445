/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/shape.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <bpf/btf.h>

#include "base/core/mem.h"

#define IS_BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
#define DEPTH_MAX 8 /* structs in structs */
#define TAG "sonda:"
#define TAG_UNIT "sonda:unit="
#define TAG_GAUGE "sonda:gauge"

struct walk {
	const struct btf *btf;
	struct shape *shape;
	struct err_text *e;
};

static const char *name_at(const struct btf *btf, uint32_t offset)
{
	const char *s = btf__name_by_offset(btf, offset);

	return s ? s : "";
}

static const struct btf_type *resolve(const struct btf *btf, uint32_t id, uint32_t *ret_id)
{
	int r = btf__resolve_type(btf, id);

	*ret_id = r < 0 ? 0 : (uint32_t)r;
	return r < 0 ? NULL : btf__type_by_id(btf, (uint32_t)r);
}

/* ---- tags ---- */

static void take_unit(struct shape_field *f, const char *unit)
{
	static const struct {
		const char *name;
		enum track_unit unit;
	} known[] = {
		{"ns", TRACK_UNIT_NS}, {"bytes", TRACK_UNIT_BYTES}, {"count", TRACK_UNIT_COUNT}};

	f->unit = TRACK_UNIT_NONE;
	f->unit_name[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(unit, known[i].name)) {
			f->unit = known[i].unit;
			return;
		}
	snprintf(f->unit_name, sizeof(f->unit_name), "%.*s", (int)sizeof(f->unit_name) - 1, unit);
	str_make_plain(f->unit_name, strlen(f->unit_name), "");
}

static int take_tag(struct walk *w, struct shape_field *f, const char *tag)
{
	if (str_starts(tag, TAG_UNIT))
		take_unit(f, tag + strlen(TAG_UNIT));
	else if (!strcmp(tag, TAG_GAUGE))
		f->is_gauge = true;
	else if (str_starts(tag, TAG))
		return err_set(w->e, -EINVAL, "has the tag \"%.80s\", which nobody knows", tag);
	return 0;
}

/* Those of a declaration: a variable (component -1), or a member of a struct. */
static int take_tags(struct walk *w, struct shape_field *f, uint32_t type, int component)
{
	uint32_t n = btf__type_cnt(w->btf);

	for (uint32_t i = 1; i < n; i++) {
		const struct btf_type *t = btf__type_by_id(w->btf, i);
		int r;

		if (!btf_is_decl_tag(t) || t->type != type ||
		    btf_decl_tag(t)->component_idx != component)
			continue;
		r = take_tag(w, f, name_at(w->btf, t->name_off));
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- fields ---- */

static int add_leaf(struct walk *w, const struct shape_field *f)
{
	if (w->shape->n == SHAPE_FIELDS_MAX)
		return err_set(w->e, -EINVAL, "has more than %u fields", SHAPE_FIELDS_MAX);
	w->shape->fields[w->shape->n++] = *f;
	return 0;
}

static int refuse(struct walk *w, const struct shape_field *f)
{
	return err_set(w->e, -EINVAL, "has %s%s, which is no integer, nor a struct of integers",
		       *f->name ? "the field " : "a type", f->name);
}

static int add_text(struct walk *w, struct shape_field *f, const struct btf_type *t)
{
	const struct btf_array *a = btf_array(t);
	uint32_t id;
	const struct btf_type *element = resolve(w->btf, a->type, &id);

	if (!element || !btf_is_int(element) || element->size != 1 || !a->nelems)
		return refuse(w, f);
	f->is_text = true;
	f->size = a->nelems;
	return add_leaf(w, f);
}

static int add_integer(struct walk *w, struct shape_field *f, const struct btf_type *t)
{
	if (t->size != 1 && t->size != 2 && t->size != 4 && t->size != 8)
		return refuse(w, f);
	f->size = t->size;
	f->is_signed = btf_is_int(t) ? btf_int_encoding(t) & BTF_INT_SIGNED : btf_kflag(t);
	return add_leaf(w, f);
}

static int add_type(struct walk *w, const struct shape_field *of, uint32_t type, int depth);

static int add_member(struct walk *w, const struct shape_field *of, uint32_t id, uint32_t i,
		      int depth)
{
	const struct btf_type *t = btf__type_by_id(w->btf, id);
	const struct btf_member *m = &btf_members(t)[i];
	const char *name = name_at(w->btf, m->name_off);
	struct shape_field f = *of;
	int r;

	snprintf(f.name, sizeof(f.name), "%.*s%s%.*s", SHAPE_NAME_CHARS / 2, of->name,
		 *of->name && *name ? "." : "", SHAPE_NAME_CHARS / 2 - 2, name);
	if (btf_member_bitfield_size(t, i))
		return err_set(w->e, -EINVAL, "has the bit field %s", f.name);
	f.offset = of->offset + btf_member_bit_offset(t, i) / 8;
	r = take_tags(w, &f, id, (int)i);
	return r < 0 ? r : add_type(w, &f, m->type, depth);
}

/* Recursion: not deeper than DEPTH_MAX. */
static int add_type(struct walk *w, const struct shape_field *of, uint32_t type, int depth)
{
	struct shape_field f = *of;
	uint32_t id;
	const struct btf_type *t = resolve(w->btf, type, &id);
	int r = 0;

	if (!t || depth > DEPTH_MAX)
		return refuse(w, &f);
	if (btf_is_int(t) || btf_is_enum(t) || btf_is_enum64(t))
		return add_integer(w, &f, t);
	if (btf_is_array(t))
		return add_text(w, &f, t);
	if (!btf_is_struct(t))
		return refuse(w, &f);
	for (uint32_t i = 0; i < btf_vlen(t) && r == 0; i++)
		r = add_member(w, &f, id, i, depth + 1);
	return r;
}

int shape_of(const struct btf *btf, uint32_t type, const char *map, struct shape *ret,
	     struct err_text *e)
{
	struct walk w = {.btf = btf, .shape = ret, .e = e};
	struct shape_field whole = {.name = ""};
	int var = map ? btf__find_by_name_kind(btf, map, BTF_KIND_VAR) : -ENOENT;
	int r;

	ret->n = 0;
	if (!type)
		return err_set(e, -EINVAL, "has no BTF");
	r = var > 0 ? take_tags(&w, &whole, (uint32_t)var, -1) : 0;
	if (r == 0)
		r = add_type(&w, &whole, type, 0);
	return r == 0 && !ret->n ? err_set(e, -EINVAL, "has no fields") : r;
}

/* ---- values ---- */

int64_t shape_value(const struct shape_field *f, const void *base)
{
	const char *p = (const char *)base + f->offset;
	uint64_t v = 0;
	unsigned unused = 64 - 8 * f->size;

	/* The number's first bytes are its lowest ones, or its highest. */
	memcpy((char *)&v + (IS_BIG_ENDIAN ? sizeof(v) - f->size : 0), p, f->size);
	return f->is_signed ? (int64_t)(v << unused) >> unused : (int64_t)v;
}

static void add_value(const struct shape_field *f, const void *key, struct strbuf *b)
{
	const char *text = (const char *)key + f->offset;
	int64_t v;

	if (f->is_text) {
		strbuf_add(b, text, strnlen(text, f->size));
		return;
	}
	v = shape_value(f, key);
	if (f->is_signed)
		strbuf_printf(b, "%" PRId64, v);
	else
		strbuf_printf(b, "%" PRIu64, (uint64_t)v);
}

void shape_text(const struct shape *s, const void *key, struct strbuf *b)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct shape_field *f = &s->fields[i];

		if (i)
			strbuf_puts(b, ", ");
		if (*f->name && !f->is_text)
			strbuf_printf(b, "%s ", f->name);
		add_value(f, key, b);
	}
}
