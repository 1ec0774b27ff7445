/* SPDX-License-Identifier: Apache-2.0 */
/* The iid of a stack, frame, mapping or name in a packet is its number here + 1. */
#include "stacks/frames/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/open_table.h"
#include "base/core/siphash.h"
#include "gen/fields.h"

#define SLOTS_FIRST 256
#define KIND_JIT 4 /* Frame.Kind */

void stacks_init(struct stacks *s, struct mapped_files *files, bool hides_addresses)
{
	*s = (struct stacks){
		.files = files, .hides_addresses = hides_addresses, .generations = {1, 1}};
}

static void free_tables(struct stacks *s)
{
	free(s->mappings);
	free(s->frames);
	free(s->names);
	free(s->stacks);
	free(s->ids);
	free(s->bytes);
	free(s->by_mapping.slots);
	free(s->by_frame.slots);
	free(s->by_name.slots);
	free(s->by_stack.slots);
}

void stacks_deinit(struct stacks *s)
{
	free_tables(s);
	*s = (struct stacks){0};
}

void stacks_reset(struct stacks *s)
{
	free_tables(s);
	*s = (struct stacks){.files = s->files,
			     .hides_addresses = s->hides_addresses,
			     .sequence = s->sequence,
			     .generations = {s->generations[0] + 1, s->generations[1] + 1}};
}

void stacks_clear_written(struct stacks *s)
{
	s->generations[s->sequence]++;
}

bool stacks_is_full(const struct stacks *s)
{
	return s->n_mappings >= STACKS_TABLE_MAX || s->n_frames >= STACKS_TABLE_MAX ||
	       s->n_names >= STACKS_TABLE_MAX || s->n_stacks >= STACKS_TABLE_MAX ||
	       s->n_ids >= STACKS_IDS_MAX || s->n_bytes >= STACKS_NAMES_MAX;
}

/* ---- tables ---- */

static uint64_t hash_mapping(const struct stack_mapping *m)
{
	const uint64_t key[] = {m->start, m->end, m->offset, m->file};

	return siphash_keyed(key, sizeof(key));
}

static uint64_t hash_frame(const struct stack_frame *f)
{
	const uint64_t key[] = {f->mapping, f->offset, f->jit};

	return siphash_keyed(key, sizeof(key));
}

/* Makes room for item n + 1, so that at most half of the slots of `index` are used. The result is
 * false if memory runs out. */
#define RESERVE(index, n, slot, hash)                                                              \
	(((n) + 1) * 2 <= (index).n_slots ||                                                       \
	 OPEN_TABLE_GROW((index).slots, (index).n_slots, SLOTS_FIRST, slot, *slot == 0, hash))

/* Returns the number of the mapping, which is added if it is new, or -ENOMEM. */
static int stacks_add_mapping(struct stacks *s, const struct stack_mapping *m)
{
	size_t slot;

	if (!RESERVE(s->by_mapping, s->n_mappings, i, hash_mapping(&s->mappings[*i - 1])) ||
	    array_reserve(&s->mappings, &s->cap_mappings, s->n_mappings + 1, sizeof(*s->mappings)) <
		    0)
		return -ENOMEM;
	slot = OPEN_TABLE_FIND(s->by_mapping.n_slots, hash_mapping(m), at, ({
				       uint32_t i_ = s->by_mapping.slots[at];
				       const struct stack_mapping *o =
					       i_ ? &s->mappings[i_ - 1] : NULL;

				       !o || (o->file == m->file && o->start == m->start &&
					      o->end == m->end && o->offset == m->offset);
			       }));
	if (!s->by_mapping.slots[slot]) {
		s->mappings[s->n_mappings++] = *m;
		s->by_mapping.slots[slot] = (uint32_t)s->n_mappings;
	}
	return (int)s->by_mapping.slots[slot] - 1;
}

/* Adds a frame, unless it exists. moved: a frame of compiled code is added again if its version is
 * older, or if it had no name in an older version. Returns its number or -errno. */
static int add_frame(struct stacks *s, int mapping, struct stack_frame f, uint32_t moved)
{
	size_t slot;
	uint32_t *number;

	if (mapping < 0)
		return mapping;
	f.mapping = (uint32_t)mapping;
	if (!RESERVE(s->by_frame, s->n_frames, i, hash_frame(&s->frames[*i - 1])) ||
	    array_reserve(&s->frames, &s->cap_frames, s->n_frames + 1, sizeof(*s->frames)) < 0)
		return -ENOMEM;
	slot = OPEN_TABLE_FIND(s->by_frame.n_slots, hash_frame(&f), at, ({
				       uint32_t i_ = s->by_frame.slots[at];
				       const struct stack_frame *o = i_ ? &s->frames[i_ - 1] : NULL;

				       !o || (o->mapping == f.mapping && o->offset == f.offset &&
					      o->jit == f.jit);
			       }));
	number = &s->by_frame.slots[slot];
	if (*number && f.jit) {
		const struct stack_frame *old = &s->frames[*number - 1];

		if (old->version < moved || (!old->name && old->version < f.version))
			*number = 0;
	}
	if (!*number) {
		s->frames[s->n_frames++] = f;
		*number = (uint32_t)s->n_frames;
	}
	return (int)*number - 1;
}

int stacks_add_name(struct stacks *s, const char *name, size_t len)
{
	size_t slot;

	if (s->n_bytes >= STACKS_NAMES_MAX ||
	    !RESERVE(s->by_name, s->n_names, i,
		     siphash_keyed(s->bytes + s->names[*i - 1].at, s->names[*i - 1].len)) ||
	    array_reserve(&s->names, &s->cap_names, s->n_names + 2, sizeof(*s->names)) < 0 ||
	    array_reserve(&s->bytes, &s->cap_bytes, s->n_bytes + len + 1, 1) < 0)
		return -ENOMEM;
	if (s->n_names == 0)
		s->names[s->n_names++] = (struct stack_name){0};
	slot = OPEN_TABLE_FIND(s->by_name.n_slots, siphash_keyed(name, len), at, ({
				       uint32_t i_ = s->by_name.slots[at];
				       const struct stack_name *o = i_ ? &s->names[i_ - 1] : NULL;

				       !o || (o->len == len &&
					      memcmp(s->bytes + o->at, name, len) == 0);
			       }));
	if (!s->by_name.slots[slot]) {
		memcpy(s->bytes + s->n_bytes, name, len);
		s->names[s->n_names++] =
			(struct stack_name){.at = (uint32_t)s->n_bytes, .len = (uint32_t)len};
		s->n_bytes += len;
		s->by_name.slots[slot] = (uint32_t)s->n_names;
	}
	return (int)s->by_name.slots[slot] - 1;
}

/* ---- frames and stacks ---- */

static int add_process_mapping(struct stacks *s, const struct process_mapping *m)
{
	struct stack_mapping mapping = {
		.start = m->start, .end = m->end, .offset = m->offset, .file = m->file};

	if (s->hides_addresses) {
		mapping.end -= mapping.start;
		mapping.start = 0;
	}
	return stacks_add_mapping(s, &mapping);
}

int stacks_add_user_frame(struct stacks *s, const struct process_mapping *m, uint64_t address)
{
	return add_frame(s, add_process_mapping(s, m),
			 (struct stack_frame){.offset = address - m->start + m->offset}, 0);
}

int stacks_add_data_frame(struct stacks *s, const struct process_mapping *m, uint64_t address)
{
	return add_frame(
		s, add_process_mapping(s, m),
		(struct stack_frame){.offset = address - m->start + m->offset, .is_data = true}, 0);
}

int stacks_add_jit_frame(struct stacks *s, const struct process_mapping *m, uint64_t address,
			 uint32_t jit, uint32_t version, uint32_t moved)
{
	return add_frame(s, add_process_mapping(s, m),
			 (struct stack_frame){.offset = address - m->start + m->offset,
					      .address = address,
					      .jit = jit,
					      .version = version},
			 moved);
}

int stacks_add_unknown_frame(struct stacks *s)
{
	return add_frame(
		s, stacks_add_mapping(s, &(struct stack_mapping){.file = MAPPED_FILE_UNKNOWN}),
		(struct stack_frame){0}, 0);
}

/* Adds a frame of the kernel. Its offset is the number of its name, so that each function has one
 * frame. The offset is not written. */
int stacks_add_kernel_frame(struct stacks *s, const char *name, size_t len)
{
	int known = len ? stacks_add_name(s, name, len) : 0;
	int frame =
		known < 0
			? known
			: add_frame(s,
				    stacks_add_mapping(
					    s, &(struct stack_mapping){.file = MAPPED_FILE_KERNEL}),
				    (struct stack_frame){.offset = (uint64_t)known}, 0);

	if (frame >= 0)
		s->frames[frame].name = (uint32_t)known;
	return frame;
}

int stacks_add_stack(struct stacks *s, const uint32_t *frames, uint32_t n)
{
	size_t slot;

	if (!RESERVE(s->by_stack, s->n_stacks, i,
		     siphash_keyed(s->ids + s->stacks[*i - 1].first,
				   s->stacks[*i - 1].n * sizeof(*s->ids))) ||
	    array_reserve(&s->stacks, &s->cap_stacks, s->n_stacks + 1, sizeof(*s->stacks)) < 0 ||
	    array_reserve(&s->ids, &s->cap_ids, s->n_ids + n, sizeof(*s->ids)) < 0)
		return -ENOMEM;
	slot = OPEN_TABLE_FIND(s->by_stack.n_slots, siphash_keyed(frames, n * sizeof(*frames)), at,
			       ({
				       uint32_t i_ = s->by_stack.slots[at];
				       const struct stack *o = i_ ? &s->stacks[i_ - 1] : NULL;

				       !o || (o->n == n && memcmp(s->ids + o->first, frames,
								  n * sizeof(*frames)) == 0);
			       }));
	if (!s->by_stack.slots[slot]) {
		memcpy(s->ids + s->n_ids, frames, n * sizeof(*frames));
		s->stacks[s->n_stacks++] = (struct stack){.first = (uint32_t)s->n_ids, .n = n};
		s->n_ids += n;
		s->by_stack.slots[slot] = (uint32_t)s->n_stacks;
	}
	return (int)s->by_stack.slots[slot] - 1;
}

/* ---- packets ---- */

/* Marks something as written to the sequence. Returns false if it was. */
static bool mark_written(const struct stacks *s, uint32_t written[static STACKS_SEQUENCES])
{
	bool is_new = written[s->sequence] != stacks_generation(s);

	written[s->sequence] = stacks_generation(s);
	return is_new;
}

static void write_string(struct pb_enc *e, uint32_t field, uint64_t iid, const void *s, size_t len)
{
	pb_enc_open(e, field);
	pb_enc_u64(e, PB_INTERNED_STRING_IID, iid);
	pb_enc_bytes(e, PB_INTERNED_STRING_STR, s, len);
	pb_enc_close(e);
}

static void write_mapping(struct stacks *s, uint32_t number, struct pb_enc *e)
{
	struct stack_mapping *m = &s->mappings[number];
	struct mapped_file *f = &s->files->items[m->file];
	bool has_build_id = f->elf && f->elf->n_build_id;
	uint64_t bias = mapped_file_load_bias(f, m->offset);

	if (!mark_written(s, m->written))
		return;
	if (mark_written(s, f->path_written))
		write_string(e, PB_INTERNED_DATA_MAPPING_PATHS, m->file + 1, f->path,
			     strlen(f->path));
	if (has_build_id && mark_written(s, f->build_id_written))
		write_string(e, PB_INTERNED_DATA_BUILD_IDS, m->file + 1, f->elf->build_id,
			     f->elf->n_build_id);
	pb_enc_open(e, PB_INTERNED_DATA_MAPPINGS);
	pb_enc_u64(e, PB_MAPPING_IID, number + 1);
	if (has_build_id)
		pb_enc_u64(e, PB_MAPPING_BUILD_ID, m->file + 1);
	pb_enc_u64(e, PB_MAPPING_EXACT_OFFSET, m->offset);
	pb_enc_u64(e, PB_MAPPING_START, m->start);
	pb_enc_u64(e, PB_MAPPING_END, m->end);
	if (bias)
		pb_enc_u64(e, PB_MAPPING_LOAD_BIAS, bias);
	pb_enc_u64(e, PB_MAPPING_PATH_STRING_IDS, m->file + 1);
	pb_enc_close(e);
}

static void write_frame(struct stacks *s, uint32_t number, struct pb_enc *e)
{
	struct stack_frame *f = &s->frames[number];
	const struct stack_mapping *m = &s->mappings[f->mapping];
	struct stack_name *name = f->name ? &s->names[f->name] : NULL;
	bool is_kernel = m->file == MAPPED_FILE_KERNEL;

	if (!mark_written(s, f->written))
		return;
	write_mapping(s, f->mapping, e);
	if (name && mark_written(s, name->written))
		write_string(e, PB_INTERNED_DATA_FUNCTION_NAMES, f->name + 1, s->bytes + name->at,
			     name->len);
	pb_enc_open(e, PB_INTERNED_DATA_FRAMES);
	pb_enc_u64(e, PB_FRAME_IID, number + 1);
	if (name)
		pb_enc_u64(e, PB_FRAME_FUNCTION_NAME_ID, f->name + 1);
	pb_enc_u64(e, PB_FRAME_MAPPING_ID, f->mapping + 1);
	pb_enc_u64(e, PB_FRAME_REL_PC,
		   is_kernel ? 0
			     : f->offset +
				       mapped_file_load_bias(&s->files->items[m->file], m->offset));
	if (f->jit && name)
		pb_enc_u64(e, PB_FRAME_KIND, KIND_JIT);
	pb_enc_close(e);
}

void stacks_write_interned(struct stacks *s, uint32_t number, struct pb_enc *e)
{
	struct stack *stack = &s->stacks[number];

	if (!mark_written(s, stack->written))
		return;
	for (uint32_t i = 0; i < stack->n; i++)
		write_frame(s, s->ids[stack->first + i], e);
	pb_enc_open(e, PB_INTERNED_DATA_CALLSTACKS);
	pb_enc_u64(e, PB_CALLSTACK_IID, number + 1);
	for (uint32_t i = 0; i < stack->n; i++)
		pb_enc_u64(e, PB_CALLSTACK_FRAME_IDS, s->ids[stack->first + i] + 1);
	pb_enc_close(e);
}
