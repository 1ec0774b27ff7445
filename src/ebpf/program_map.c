/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/program_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>
#include <uthash.h>

#include "base/core/mem.h"

#define KEY_BYTES_MAX 64u /* those of map.h */
#define VALUE_BYTES_MAX 4096u

struct program_element {
	unsigned char key[KEY_BYTES_MAX];
	UT_hash_handle hh;
	uint64_t seen; /* the pass that saw it */
	uint32_t group; /* TRACK_ROOT: it has none of its own */
	uint32_t tracks[]; /* one a field of the value */
};

static bool is_per_cpu(enum bpf_map_type t)
{
	return t == BPF_MAP_TYPE_PERCPU_ARRAY || t == BPF_MAP_TYPE_PERCPU_HASH ||
	       t == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

static bool is_array(enum bpf_map_type t)
{
	return t == BPF_MAP_TYPE_PERCPU_ARRAY || t == BPF_MAP_TYPE_ARRAY;
}

static bool is_known(enum bpf_map_type t)
{
	return is_per_cpu(t) || is_array(t) || t == BPF_MAP_TYPE_HASH || t == BPF_MAP_TYPE_LRU_HASH;
}

static int check_sizes(const struct bpf_map *map, struct err_text *e)
{
	if (!is_known(bpf_map__type(map)))
		return err_set(e, -EINVAL, "is neither an array nor a hash");
	if (bpf_map__key_size(map) > KEY_BYTES_MAX || bpf_map__value_size(map) > VALUE_BYTES_MAX)
		return err_set(e, -E2BIG,
			       "has keys of more than %u bytes, or values of more than %u",
			       KEY_BYTES_MAX, VALUE_BYTES_MAX);
	if (is_array(bpf_map__type(map)) && bpf_map__max_entries(map) > PROGRAM_ELEMENTS_MAX)
		return err_set(e, -E2BIG,
			       "has %u elements, and may have %u, as all are read in each "
			       "period",
			       bpf_map__max_entries(map), PROGRAM_ELEMENTS_MAX);
	return 0;
}

static int find_shapes(struct program_map *m, const struct bpf_map *map, const struct btf *btf,
		       struct err_text *e)
{
	struct err_text why;
	int r = shape_of(btf, bpf_map__btf_key_type_id(map), NULL, &m->key, &why);

	if (r < 0)
		return err_set(e, r, "its key %s", why.text);
	r = shape_of(btf, bpf_map__btf_value_type_id(map), bpf_map__name(map), &m->value, &why);
	if (r < 0)
		return err_set(e, r, "its value %s", why.text);
	for (uint32_t i = 0; i < m->value.n; i++)
		if (m->value.fields[i].is_text)
			return err_set(e, -EINVAL, "its value has a text, which is no counter");
	return 0;
}

static uint32_t add_group(struct tracks *t, uint32_t parent, const char *name)
{
	return tracks_add(
		t, &(struct track_spec){.kind = TRACK_GROUP, .parent = parent, .name = name});
}

int program_map_init(struct program_map *m, const struct bpf_map *map, const struct btf *btf,
		     struct tracks *tracks, uint32_t group, uint32_t n_cpus, struct err_text *e)
{
	enum bpf_map_type type = bpf_map__type(map);
	int r;

	*m = (struct program_map){
		.name = bpf_map__name(map) + strlen(PROGRAM_MAP_PREFIX),
		.tracks = tracks,
		.group = group,
		.n_cpus = is_per_cpu(type) ? n_cpus : 1,
		.is_array = is_array(type),
		.is_single = is_array(type) && bpf_map__max_entries(map) == 1,
	};
	r = check_sizes(map, e);
	if (r == 0)
		r = find_shapes(m, map, btf, e);
	if (r < 0)
		return r;
	m->value_stride = is_per_cpu(type) ? (bpf_map__value_size(map) + 7) / 8 * 8
					   : bpf_map__value_size(map);
	m->reader = (struct map_reader){.fd = bpf_map__fd(map),
					.key_size = bpf_map__key_size(map),
					.value_size = (size_t)m->value_stride * m->n_cpus};
	if (!m->is_single || m->value.n > 1 || *m->value.fields[0].name)
		m->group = add_group(tracks, group, m->name);
	return 0;
}

/* ---- elements ---- */

static void add_counter(struct program_map *m, struct program_element *x, uint32_t i,
			const char *name)
{
	const struct shape_field *f = &m->value.fields[i];

	x->tracks[i] = tracks_add(
		m->tracks, &(struct track_spec){.kind = TRACK_COUNTER,
						.parent = x->group ? x->group : m->group,
						.name = name,
						.unit = f->unit,
						.unit_name = *f->unit_name ? f->unit_name : NULL,
						.total = !f->is_gauge});
}

static void add_tracks(struct program_map *m, struct program_element *x)
{
	bool is_struct = m->value.n > 1 || *m->value.fields[0].name;
	_cleanup_(strbuf_deinit) struct strbuf name = {0};

	shape_text(&m->key, x->key, &name);
	if (is_struct && !m->is_single)
		x->group = add_group(m->tracks, m->group, name.s ? name.s : "");
	for (uint32_t i = 0; i < m->value.n; i++) {
		if (is_struct)
			add_counter(m, x, i, m->value.fields[i].name);
		else
			add_counter(m, x, i, m->is_single ? m->name : name.s ? name.s : "");
	}
}

static struct program_element *element_new(struct program_map *m, const void *key)
{
	struct program_element *x;

	if (m->n_elements == PROGRAM_KEYS_MAX)
		return NULL;
	x = calloc(1, sizeof(*x) + m->value.n * sizeof(x->tracks[0]));
	if (!x)
		return NULL;
	memcpy(x->key, key, m->reader.key_size);
	add_tracks(m, x);
	HASH_ADD(hh, m->elements, key, m->reader.key_size, x);
	m->n_elements++;
	return x;
}

static void element_free(struct program_map *m, struct program_element *x)
{
	HASH_DEL(m->elements, x);
	m->n_elements--;
	free(x);
}

static int64_t sum_of(const struct program_map *m, const struct shape_field *f, const void *values)
{
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < m->n_cpus; cpu++)
		sum += (uint64_t)shape_value(f,
					     (const char *)values + (size_t)cpu * m->value_stride);
	return (int64_t)sum;
}

static bool is_zero(const struct program_map *m, const void *values)
{
	for (uint32_t i = 0; i < m->value.n; i++)
		if (sum_of(m, &m->value.fields[i], values))
			return false;
	return true;
}

static void set_element(void *ctx, const void *key, const void *values)
{
	struct program_map *m = ctx;
	struct program_element *x;

	HASH_FIND(hh, m->elements, key, m->reader.key_size, x);
	if (!x && !m->is_single && is_zero(m, values))
		return;
	if (!x)
		x = element_new(m, key);
	if (!x) {
		m->n_left_out++;
		return;
	}
	x->seen = m->pass;
	for (uint32_t i = 0; i < m->value.n; i++)
		tracks_set(m->tracks, x->tracks[i], sum_of(m, &m->value.fields[i], values));
}

/* What was deleted from a hash. */
static void remove_gone(struct program_map *m)
{
	struct program_element *x, *next;

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

int program_map_read(struct program_map *m)
{
	int r;

	m->pass++;
	m->n_left_out = 0;
	r = map_each(&m->reader, set_element, m);
	/* After half a read nobody knows who is gone. */
	if (r == 0 && !m->is_array)
		remove_gone(m);
	return r;
}

void program_map_deinit(struct program_map *m)
{
	struct program_element *x, *next;

	HASH_ITER (hh, m->elements, x, next)
		element_free(m, x);
	map_reader_deinit(&m->reader);
}
