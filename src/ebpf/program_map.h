/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "client/counters/tracks.h"
#include "ebpf/engine/map.h"
#include "ebpf/shape.h"

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

struct program_map {
	const char *name; /* without the prefix; borrowed from the object, as is the descriptor */
	struct map_reader reader;
	struct shape key, value;
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
int program_map_init(struct program_map *m, const struct bpf_map *map, const struct btf *btf,
		     struct tracks *tracks, uint32_t group, uint32_t n_cpus, struct err_text *e);
/* Sets the tracks of all elements: 0 or -errno. */
int program_map_read(struct program_map *m);
/* Leaves the tracks. */
void program_map_deinit(struct program_map *m);
