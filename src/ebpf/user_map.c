/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/user_map.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/err.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "base/text/str.h"
#include "client/counters/tracks.h"

#define IS_BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
#define DEPTH_MAX 8 /* limit of nested structs */
#define TAG "sonda:"
#define TAG_UNIT "sonda:unit="
#define TAG_GAUGE "sonda:gauge"

struct walk {
	const struct btf *btf;
	struct map_layout *layout;
	struct err_text *e;
};

static const char *btf_name_at(const struct btf *btf, uint32_t offset)
{
	const char *s = btf__name_by_offset(btf, offset);

	return s ? s : "";
}

static const struct btf_type *user_map_resolve_type(const struct btf *btf, uint32_t id,
						    uint32_t *ret_id)
{
	int r = btf__resolve_type(btf, id);

	*ret_id = r < 0 ? 0 : (uint32_t)r;
	return r < 0 ? NULL : btf__type_by_id(btf, (uint32_t)r);
}

/* ---- tags ---- */

static void parse_unit_tag(struct btf_field *f, const char *unit)
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

static int parse_tag(struct walk *w, struct btf_field *f, const char *tag)
{
	if (str_starts(tag, TAG_UNIT))
		parse_unit_tag(f, tag + strlen(TAG_UNIT));
	else if (!strcmp(tag, TAG_GAUGE))
		f->is_gauge = true;
	else if (str_starts(tag, TAG))
		return err_set(w->e, -EINVAL, "has the unknown tag \"%.80s\"", tag);
	return 0;
}

/* Applies the tags of a declaration to the field: of a variable (component -1), or of a member of a
 * struct. Returns 0, or -errno with the reason in w->e. */
static int parse_decl_tags(struct walk *w, struct btf_field *f, uint32_t type, int component)
{
	uint32_t n = btf__type_cnt(w->btf);

	for (uint32_t i = 1; i < n; i++) {
		const struct btf_type *t = btf__type_by_id(w->btf, i);
		int r;

		if (!btf_is_decl_tag(t) || t->type != type ||
		    btf_decl_tag(t)->component_idx != component)
			continue;
		r = parse_tag(w, f, btf_name_at(w->btf, t->name_off));
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- fields ---- */

static int add_layout_field(struct walk *w, const struct btf_field *f)
{
	if (w->layout->n == BTF_LAYOUT_FIELDS_MAX)
		return err_set(w->e, -EINVAL, "has more than %u fields", BTF_LAYOUT_FIELDS_MAX);
	w->layout->fields[w->layout->n++] = *f;
	return 0;
}

static int user_map_refuse_field(struct walk *w, const struct btf_field *f)
{
	return *f->name ? err_set(w->e, -EINVAL,
				  "has the field '%s', which is neither an integer nor a struct of "
				  "integers",
				  f->name)
			: err_set(w->e, -EINVAL, "is neither an integer nor a struct of integers");
}

static int user_map_add_text(struct walk *w, struct btf_field *f, const struct btf_type *t)
{
	const struct btf_array *a = btf_array(t);
	uint32_t id;
	const struct btf_type *element = user_map_resolve_type(w->btf, a->type, &id);

	if (!element || !btf_is_int(element) || element->size != 1 || !a->nelems)
		return user_map_refuse_field(w, f);
	f->is_text = true;
	f->size = a->nelems;
	return add_layout_field(w, f);
}

static int add_integer(struct walk *w, struct btf_field *f, const struct btf_type *t)
{
	if (t->size != 1 && t->size != 2 && t->size != 4 && t->size != 8)
		return user_map_refuse_field(w, f);
	f->size = t->size;
	f->is_signed = btf_is_int(t) ? btf_int_encoding(t) & BTF_INT_SIGNED : btf_kflag(t);
	return add_layout_field(w, f);
}

static int add_type(struct walk *w, const struct btf_field *of, uint32_t type, int depth);

static int add_member(struct walk *w, const struct btf_field *of, uint32_t id, uint32_t i,
		      int depth)
{
	const struct btf_type *t = btf__type_by_id(w->btf, id);
	const struct btf_member *m = &btf_members(t)[i];
	const char *name = btf_name_at(w->btf, m->name_off);
	struct btf_field f = *of;
	int r;

	snprintf(f.name, sizeof(f.name), "%.*s%s%.*s", BTF_FIELD_NAME_SIZE / 2, of->name,
		 *of->name && *name ? "." : "", BTF_FIELD_NAME_SIZE / 2 - 2, name);
	if (btf_member_bitfield_size(t, i))
		return err_set(w->e, -EINVAL, "has the bit field '%s'", f.name);
	f.offset = of->offset + btf_member_bit_offset(t, i) / 8;
	r = parse_decl_tags(w, &f, id, (int)i);
	return r < 0 ? r : add_type(w, &f, m->type, depth);
}

/* Adds the fields of a type. Recursive, up to DEPTH_MAX. */
static int add_type(struct walk *w, const struct btf_field *of, uint32_t type, int depth)
{
	struct btf_field f = *of;
	uint32_t id;
	const struct btf_type *t = user_map_resolve_type(w->btf, type, &id);
	int r = 0;

	if (!t || depth > DEPTH_MAX)
		return user_map_refuse_field(w, &f);
	if (btf_is_int(t) || btf_is_enum(t) || btf_is_enum64(t))
		return add_integer(w, &f, t);
	if (btf_is_array(t))
		return user_map_add_text(w, &f, t);
	if (!btf_is_struct(t))
		return user_map_refuse_field(w, &f);
	for (uint32_t i = 0; i < btf_vlen(t) && r == 0; i++)
		r = add_member(w, &f, id, i, depth + 1);
	return r;
}

/* Makes the layout of a type. map: name of the variable whose tags apply to all fields; may be
 * NULL. Returns 0, or -EINVAL and sets e to the end of a sentence: "has ..., which is ...". */
static int parse_layout(const struct btf *btf, uint32_t type, const char *map,
			struct map_layout *ret, struct err_text *e)
{
	struct walk w = {.btf = btf, .layout = ret, .e = e};
	struct btf_field whole = {.name = ""};
	int var = map ? btf__find_by_name_kind(btf, map, BTF_KIND_VAR) : -ENOENT;
	int r;

	ret->n = 0;
	if (!type)
		return err_set(e, -EINVAL, "has no BTF");
	r = var > 0 ? parse_decl_tags(&w, &whole, (uint32_t)var, -1) : 0;
	if (r == 0)
		r = add_type(&w, &whole, type, 0);
	return r == 0 && !ret->n ? err_set(e, -EINVAL, "has no fields") : r;
}

/* ---- values ---- */

/* Reads an integer at an address in a key or value. */
static int64_t layout_read_integer(const struct btf_field *f, const void *base)
{
	const char *p = (const char *)base + f->offset;
	uint64_t v = 0;
	unsigned unused = 64 - 8 * f->size;

	/* The first bytes of the integer are its lowest (little endian) or its highest. */
	memcpy((char *)&v + (IS_BIG_ENDIAN ? sizeof(v) - f->size : 0), p, f->size);
	return f->is_signed ? (int64_t)(v << unused) >> unused : (int64_t)v;
}

static void append_value(const struct btf_field *f, const void *key, struct strbuf *b)
{
	const char *text = (const char *)key + f->offset;
	int64_t v;

	if (f->is_text) {
		strbuf_add(b, text, strnlen(text, f->size));
		return;
	}
	v = layout_read_integer(f, key);
	if (f->is_signed)
		strbuf_printf(b, "%" PRId64, v);
	else
		strbuf_printf(b, "%" PRIu64, (uint64_t)v);
}

/* Formats a key: "bash", "12", "cpu 3, vector 7". */
static void layout_format_key(const struct map_layout *s, const void *key, struct strbuf *b)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct btf_field *f = &s->fields[i];

		if (i)
			strbuf_puts(b, ", ");
		if (*f->name && !f->is_text)
			strbuf_printf(b, "%s ", f->name);
		append_value(f, key, b);
	}
}

#define KEY_BYTES_MAX 64u /* KEY_MAX of engine/map.c */
#define VALUE_BYTES_MAX 4096u

struct user_map_element {
	unsigned char key[KEY_BYTES_MAX];
	UT_hash_handle hh;
	uint64_t seen; /* last pass that saw it */
	uint32_t group; /* TRACK_ROOT: none */
	uint32_t tracks[]; /* one for each field of the value */
};

static bool is_per_cpu_map(enum bpf_map_type t)
{
	return t == BPF_MAP_TYPE_PERCPU_ARRAY || t == BPF_MAP_TYPE_PERCPU_HASH ||
	       t == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

static bool is_array_map(enum bpf_map_type t)
{
	return t == BPF_MAP_TYPE_PERCPU_ARRAY || t == BPF_MAP_TYPE_ARRAY;
}

static bool user_map_is_known(enum bpf_map_type t)
{
	return is_per_cpu_map(t) || is_array_map(t) || t == BPF_MAP_TYPE_HASH ||
	       t == BPF_MAP_TYPE_LRU_HASH;
}

static int check_sizes(const struct bpf_map *map, struct err_text *e)
{
	if (!user_map_is_known(bpf_map__type(map)))
		return err_set(e, -EINVAL, "is neither an array map nor a hash map");
	if (bpf_map__key_size(map) > KEY_BYTES_MAX || bpf_map__value_size(map) > VALUE_BYTES_MAX)
		return err_set(e, -E2BIG,
			       "has keys larger than %u bytes or values larger than %u bytes",
			       KEY_BYTES_MAX, VALUE_BYTES_MAX);
	if (is_array_map(bpf_map__type(map)) && bpf_map__max_entries(map) > USER_MAP_ELEMENTS_MAX)
		return err_set(
			e, -E2BIG,
			"has %u elements; the limit is %u, because all are read in each period",
			bpf_map__max_entries(map), USER_MAP_ELEMENTS_MAX);
	return 0;
}

static int find_layouts(struct user_map *m, const struct bpf_map *map, const struct btf *btf,
			struct err_text *e)
{
	struct err_text why;
	int r = parse_layout(btf, bpf_map__btf_key_type_id(map), NULL, &m->key, &why);

	if (r < 0)
		return err_set(e, r, "its key %s", why.text);
	r = parse_layout(btf, bpf_map__btf_value_type_id(map), bpf_map__name(map), &m->value, &why);
	if (r < 0)
		return err_set(e, r, "its value %s", why.text);
	for (uint32_t i = 0; i < m->value.n; i++)
		if (m->value.fields[i].is_text)
			return err_set(
				e, -EINVAL,
				"its value contains text, which cannot be recorded as a counter");
	return 0;
}

static uint32_t add_group(struct tracks *t, uint32_t parent, const char *name)
{
	return tracks_add(
		t, &(struct track_spec){.kind = TRACK_GROUP, .parent = parent, .name = name});
}

int user_map_init(struct user_map *m, const struct bpf_map *map, const struct btf *btf,
		  struct tracks *tracks, uint32_t group, uint32_t n_cpus, struct err_text *e)
{
	enum bpf_map_type type = bpf_map__type(map);
	int r;

	*m = (struct user_map){
		.name = bpf_map__name(map) + strlen(USER_MAP_PREFIX),
		.tracks = tracks,
		.group = group,
		.n_cpus = is_per_cpu_map(type) ? n_cpus : 1,
		.is_array = is_array_map(type),
		.is_single = is_array_map(type) && bpf_map__max_entries(map) == 1,
	};
	r = check_sizes(map, e);
	if (r == 0)
		r = find_layouts(m, map, btf, e);
	if (r < 0)
		return r;
	m->value_stride = is_per_cpu_map(type) ? (bpf_map__value_size(map) + 7) / 8 * 8
					       : bpf_map__value_size(map);
	m->reader = (struct map_reader){.fd = bpf_map__fd(map),
					.key_size = bpf_map__key_size(map),
					.value_size = (size_t)m->value_stride * m->n_cpus};
	if (!m->is_single || m->value.n > 1 || *m->value.fields[0].name)
		m->group = add_group(tracks, group, m->name);
	return 0;
}

/* ---- elements ---- */

static void user_map_add_counter(struct user_map *m, struct user_map_element *x, uint32_t i,
				 const char *name)
{
	const struct btf_field *f = &m->value.fields[i];

	x->tracks[i] = tracks_add(
		m->tracks, &(struct track_spec){.kind = TRACK_COUNTER,
						.parent = x->group ? x->group : m->group,
						.name = name,
						.unit = f->unit,
						.unit_name = *f->unit_name ? f->unit_name : NULL,
						.total = !f->is_gauge});
}

static void add_tracks(struct user_map *m, struct user_map_element *x)
{
	bool is_struct = m->value.n > 1 || *m->value.fields[0].name;
	_cleanup_(strbuf_deinit) struct strbuf name = {0};

	layout_format_key(&m->key, x->key, &name);
	if (is_struct && !m->is_single)
		x->group = add_group(m->tracks, m->group, name.s ? name.s : "");
	for (uint32_t i = 0; i < m->value.n; i++) {
		if (is_struct)
			user_map_add_counter(m, x, i, m->value.fields[i].name);
		else
			user_map_add_counter(m, x, i,
					     m->is_single ? m->name
					     : name.s	  ? name.s
							  : "");
	}
}

static struct user_map_element *element_new(struct user_map *m, const void *key)
{
	struct user_map_element *x;

	if (m->n_elements == USER_MAP_KEYS_MAX)
		return NULL;
	x = calloc(1, sizeof(*x) + m->value.n * sizeof(x->tracks[0]));
	if (!x)
		return NULL;
	memcpy(x->key, key, m->reader.key_size);
	HASH_ADD(hh, m->elements, key, m->reader.key_size, x);
	if (!x->hh.tbl) {
		free(x);
		return NULL;
	}
	add_tracks(m, x);
	m->n_elements++;
	return x;
}

static void element_free(struct user_map *m, struct user_map_element *x)
{
	HASH_DEL(m->elements, x);
	m->n_elements--;
	free(x);
}

static int64_t user_map_sum_cpus(const struct user_map *m, const struct btf_field *f,
				 const void *values)
{
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < m->n_cpus; cpu++)
		sum += (uint64_t)layout_read_integer(f, (const char *)values +
								(size_t)cpu * m->value_stride);
	return (int64_t)sum;
}

static bool user_map_is_zero(const struct user_map *m, const void *values)
{
	for (uint32_t i = 0; i < m->value.n; i++)
		if (user_map_sum_cpus(m, &m->value.fields[i], values))
			return false;
	return true;
}

static void set_element_tracks(void *ctx, const void *key, const void *values)
{
	struct user_map *m = ctx;
	struct user_map_element *x;

	HASH_FIND(hh, m->elements, key, m->reader.key_size, x);
	if (!x && !m->is_single && user_map_is_zero(m, values))
		return;
	if (!x)
		x = element_new(m, key);
	if (!x) {
		m->n_left_out++;
		return;
	}
	x->seen = m->pass;
	for (uint32_t i = 0; i < m->value.n; i++)
		tracks_set(m->tracks, x->tracks[i],
			   user_map_sum_cpus(m, &m->value.fields[i], values));
}

/* Drops elements that were deleted from a hash. */
static void remove_deleted_elements(struct user_map *m)
{
	struct user_map_element *x, *next;

	HASH_ITER (hh, m->elements, x, next) {
		if (x->seen == m->pass)
			continue;
		for (uint32_t i = 0; i < m->value.n; i++)
			tracks_remove(m->tracks, x->tracks[i]);
		if (x->group)
			tracks_remove(m->tracks, x->group);
		element_free(m, x);
	}
}

int user_map_read(struct user_map *m)
{
	int r;

	m->pass++;
	m->n_left_out = 0;
	r = map_each(&m->reader, set_element_tracks, m);
	/* After an incomplete read it is unknown which elements were deleted. */
	if (r == 0 && !m->is_array)
		remove_deleted_elements(m);
	return r;
}

void user_map_deinit(struct user_map *m)
{
	struct user_map_element *x, *next;

	HASH_ITER (hh, m->elements, x, next)
		element_free(m, x);
	map_reader_deinit(&m->reader);
}
