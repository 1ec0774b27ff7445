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
 * The layout of a key or value of a map, from its BTF: an integer, or a struct of integers (and
 * nested structs), and texts (arrays of char) in keys.
 *
 * Declaration tags add what C has no type for, at a field, or at the map for all fields:
 *
 *	"sonda:unit=ns"   also bytes, count, or any word
 *	"sonda:gauge"     goes up and down; without it a value only grows
 */

#define BTF_LAYOUT_FIELDS_MAX 32u
#define BTF_FIELD_NAME_SIZE 64

struct btf_field {
	char name[BTF_FIELD_NAME_SIZE]; /* "" if the key or value is not a struct; else "a.b" */
	uint32_t offset, size; /* bytes; 1, 2, 4 or 8 for an integer */
	bool is_signed, is_text;
	/* from tags */
	bool is_gauge;
	enum track_unit unit;
	char unit_name[24]; /* a unit that is not an enum track_unit */
};

struct map_layout {
	struct btf_field fields[BTF_LAYOUT_FIELDS_MAX];
	uint32_t n;
};

struct bpf_map;
struct btf;

/*
 * A map "sonda_counter_NAME" of a user program as counter tracks, in the group of the program:
 *
 *	NAME                            the map has one element, its value is an integer
 *	NAME > FIELD                    ... is a struct
 *	NAME > KEY, NAME > KEY > FIELD  it has more, or is a hash
 *
 * Values of a per-CPU map are added up over CPUs. An element gets tracks with its first value other
 * than 0; an element of a hash keeps them until it is deleted.
 */

#define USER_MAP_PREFIX "sonda_counter_"
#define USER_MAP_KEYS_MAX 256u /* limit of elements with tracks in one map */
#define USER_MAP_ELEMENTS_MAX 65536u /* limit of an array: each period reads all elements */

struct user_map {
	const char *name; /* without the prefix; borrowed from the object, as is the descriptor */
	struct map_reader reader;
	struct map_layout key, value;
	uint32_t value_stride; /* bytes of the value of one CPU */
	uint32_t n_cpus; /* values of one element */
	bool is_array, is_single;
	uint32_t group; /* parent of the tracks of elements */
	struct user_map_element *elements; /* owned */
	uint32_t n_elements;
	uint64_t pass;
	/* Elements without tracks at the last read, because of the limit. */
	uint32_t n_left_out;
	struct tracks *tracks; /* borrowed */
};

/* Finds the layout of a map of a loaded object, and adds its group. Returns 0, or -errno and sets
 * e. Call deinit in either case. */
int user_map_init(struct user_map *m, const struct bpf_map *map, const struct btf *btf,
		  struct tracks *tracks, uint32_t group, uint32_t n_cpus, struct err_text *e);
/* Sets the tracks of all elements. Returns 0 or -errno. */
int user_map_read(struct user_map *m);
/* Frees the map; the tracks stay. */
void user_map_deinit(struct user_map *m);
