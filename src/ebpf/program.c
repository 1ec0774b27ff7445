/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "base/mem.h"
#include "ebpf/counter.h"
#include "ebpf/object.h"
#include "ebpf/program_file.h"
#include "ebpf/program_map.h"
#include "ebpf/trouble.h"

#define OWNER 0 /* root */

struct program {
	char name[PROGRAM_NAME_CHARS + 1];
	struct strbuf bytes;
	struct ebpf_rung rung;
	struct ebpf_family family;
};

/* A run of it. */
struct state {
	uint32_t group;
	uint32_t n_maps;
	struct program_map maps[PROGRAM_MAPS_MAX];
	uint32_t left_out_track;
	bool told_left_out;
};

static const struct ebpf_need no_needs[] = {NEED_END};

/* ---- its run ---- */

static void add_map(struct ebpf_run *r, struct state *s, const struct bpf_map *map)
{
	const char *name = bpf_map__name(map);
	struct err_text e;

	if (s->n_maps == PROGRAM_MAPS_MAX) {
		ebpf_trouble_add(r->trouble, r->family->name, "%s is left out: there are %u before",
				 name, PROGRAM_MAPS_MAX);
		return;
	}
	if (program_map_init(&s->maps[s->n_maps], map, ebpf_object_btf(r->object), r->tracks,
			     s->group, r->n_cpus, &e) == 0) {
		s->n_maps++;
		return;
	}
	program_map_deinit(&s->maps[s->n_maps]);
	ebpf_trouble_add(r->trouble, r->family->name, "%s is left out: %s", name, e.text);
}

static int begin(struct ebpf_run *r)
{
	struct state *s = r->state = calloc(1, sizeof(*s));
	const struct bpf_map *map = NULL;

	if (!s)
		return -ENOMEM;
	s->group = tracks_add(r->tracks, &(struct track_spec){.kind = TRACK_GROUP,
							      .parent = r->group,
							      .name = r->family->name});
	while ((map = ebpf_object_next_map(r->object, map)))
		if (str_starts(bpf_map__name(map), PROGRAM_MAP_PREFIX))
			add_map(r, s, map);
	if (s->n_maps)
		return 0;
	return err_set(&r->why, -ENOENT, "%s.bpf.o has no map \"%s...\" that can be used",
		       r->family->name, PROGRAM_MAP_PREFIX);
}

static void tell_left_out(struct ebpf_run *r, struct state *s, const struct program_map *m)
{
	if (!m->n_left_out || s->told_left_out)
		return;
	s->told_left_out = true;
	ebpf_trouble_add(r->trouble, r->family->name,
			 "%s%s has more than %u elements; \"elements left out\" says how many have "
			 "no tracks",
			 PROGRAM_MAP_PREFIX, m->name, PROGRAM_KEYS_MAX);
	s->left_out_track = tracks_add(
		r->tracks, &(struct track_spec){
				   .kind = TRACK_COUNTER,
				   .parent = s->group,
				   .name = "elements left out",
				   .description = "elements of maps that have no tracks: too many",
				   .unit = TRACK_UNIT_COUNT});
}

static int read_maps(struct ebpf_run *r)
{
	struct state *s = r->state;
	uint64_t left_out = 0;
	int worst = 0;

	for (uint32_t i = 0; i < s->n_maps; i++) {
		int e = program_map_read(&s->maps[i]);

		worst = worst ? worst : e;
		left_out += s->maps[i].n_left_out;
		tell_left_out(r, s, &s->maps[i]);
	}
	if (s->told_left_out)
		tracks_set(r->tracks, s->left_out_track, (int64_t)left_out);
	return worst;
}

static void hide(struct ebpf_run *r)
{
	struct state *s = r->state;

	tracks_remove(r->tracks, s->group);
}

static void end(struct ebpf_run *r)
{
	struct state *s = r->state;

	if (!s)
		return;
	for (uint32_t i = 0; i < s->n_maps; i++)
		program_map_deinit(&s->maps[i]);
	free(s);
	r->state = NULL;
}

/* ---- the family ---- */

int program_new(const char *folder, const char *name, struct program **ret, struct err_text *e)
{
	struct program *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return err_set(e, -ENOMEM, "no memory");
	r = program_file_read(folder, name, OWNER, &p->bytes, e);
	if (r < 0) {
		program_free(p);
		return r;
	}
	snprintf(p->name, sizeof(p->name), "%s", name);
	p->rung = (struct ebpf_rung){
		.name = "own",
		.image = {.name = p->name,
			  .is_foreign = true,
			  .begin = (const unsigned char *)p->bytes.s,
			  .end = (const unsigned char *)p->bytes.s + p->bytes.len},
		.needs = no_needs,
	};
	p->family = (struct ebpf_family){
		.name = p->name,
		.rungs = &p->rung,
		.n_rungs = 1,
		.begin = begin,
		.read = read_maps,
		.hide = hide,
		.end = end,
	};
	*ret = p;
	return 0;
}

void program_free(struct program *p)
{
	if (!p)
		return;
	strbuf_deinit(&p->bytes);
	free(p);
}

const struct ebpf_family *program_family(const struct program *p)
{
	return &p->family;
}
