/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/text/str.h"
#include "client/counters/tracks.h"
#include "ebpf/engine/map.h"

/*
 * What a map's key or value is made of, by its BTF: one integer, or a struct of integers (structs in
 * it, too), and texts (arrays of char) where they make sense: in keys.
 *
 * What C has no type for is said by declaration tags, at the field, or at the map for all fields:
 *
 *	"sonda:unit=ns"   also bytes, count, or any word
 *	"sonda:gauge"     goes up and down; without it a value only grows
 */

#define BTF_LAYOUT_FIELDS_MAX 32u
#define SHAPE_NAME_CHARS 64

struct btf_field {
	char name[SHAPE_NAME_CHARS]; /* "" where the whole is an integer or a text; else "a.b" */
	uint32_t offset, size; /* bytes; of an integer 1, 2, 4 or 8 */
	bool is_signed, is_text;
	/* by tags */
	bool is_gauge;
	enum track_unit unit;
	char unit_name[24]; /* of one that is no track_unit */
};

struct btf_layout {
	struct btf_field fields[BTF_LAYOUT_FIELDS_MAX];
	uint32_t n;
};

struct bpf_map;
struct btf;

/*
 * A map "sonda_counter_NAME" of somebody's own program as counter tracks, under the program's group:
 *
 *	NAME                            the map has one element, its value is an integer
 *	NAME > FIELD                    ... is a struct
 *	NAME > KEY, NAME > KEY > FIELD  it has more, or is a hash
 *
 * Of a per-CPU map values are added up over CPUs. An element has its tracks from the first value
 * that is not 0 on, and one of a hash until it is deleted.
 */

#define PROGRAM_MAP_PREFIX "sonda_counter_"
#define PROGRAM_KEYS_MAX 256u /* elements of a map that have tracks at a time */
#define PROGRAM_ELEMENTS_MAX 65536u /* of an array: all are read in each period */

struct user_map {
	const char *name; /* without the prefix; borrowed from the object, as is the descriptor */
	struct map_reader reader;
	struct btf_layout key, value;
	uint32_t value_stride; /* bytes of a CPU's value */
	uint32_t n_cpus; /* values of an element */
	bool is_array, is_single;
	uint32_t group; /* the track that elements stand under */
	struct program_element *elements; /* owned */
	uint32_t n_elements;
	uint64_t pass;
	/* Elements that found no room for tracks; at the last read. */
	uint32_t n_left_out;
	struct tracks *tracks; /* borrowed */
};

/* Of a loaded object; 0 or -errno, with a sentence. deinit in either case. */
int user_map_init(struct user_map *m, const struct bpf_map *map, const struct btf *btf,
		  struct tracks *tracks, uint32_t group, uint32_t n_cpus, struct err_text *e);
/* Sets the tracks of all elements: 0 or -errno. */
int user_map_read(struct user_map *m);
/* Leaves the tracks. */
void user_map_deinit(struct user_map *m);
