/* SPDX-License-Identifier: Apache-2.0 */
#include "gen/fields.h"
#include "stacks/frames/stacks.h"
#include "unit/test.h"
#include "wire/pb_dec.h"

struct rig {
	struct mapped_files files;
	struct stacks stacks;
	uint8_t bytes[65536];
	struct pb_enc e;
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	if (!r || mapped_files_init(&r->files) < 0)
		return -1;
	stacks_init(&r->stacks, &r->files, false);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	stacks_deinit(&r->stacks);
	mapped_files_deinit(&r->files);
	free(r);
	return 0;
}

static struct process_mapping mapping(struct rig *r, uint64_t start, const char *path)
{
	const struct file_mapping m = {.inode = 7, .path_len = (uint32_t)strlen(path)};

	return (struct process_mapping){start, start + 0x10000, 0x2000,
					mapped_files_add(&r->files, &m, path), 0};
}

static void no_refill(struct pb_enc *e)
{
	fail_msg("the message is longer than its room");
}

/* Writes the stack and counts the entries of that table of InternedData; *ret has the last one. */
static unsigned written(struct rig *r, int stack, uint32_t table, struct pb_field *ret)
{
	struct pb_field f;
	struct pb_dec d;
	unsigned n = 0;

	pb_enc_init(&r->e, r->bytes, r->bytes + sizeof(r->bytes), no_refill);
	stacks_write_interned(&r->stacks, (uint32_t)stack, &r->e);
	pb_dec_init(&d, r->bytes, (size_t)(r->e.cur - r->bytes));
	while (pb_dec_next(&d, &f))
		if (f.id == table) {
			*ret = f;
			n++;
		}
	assert_true(pb_dec_ok(&d));
	return n;
}

static uint64_t number_of(const struct pb_field *message, uint32_t field)
{
	struct pb_field f;
	struct pb_dec d;
	uint64_t v = 0;

	pb_dec_init(&d, message->data, message->len);
	while (pb_dec_next(&d, &f))
		if (f.id == field)
			v = f.u64;
	return v;
}

TEST_STATE(equal_things_have_one_number, setup, teardown, struct rig *r)
{
	const struct process_mapping a = mapping(r, 0x400000, "/a"), b = mapping(r, 0x800000, "/b");
	const uint32_t frames[] = {
		(uint32_t)stacks_add_user_frame(&r->stacks, &a, 0x400010),
		(uint32_t)stacks_add_user_frame(&r->stacks, &b, 0x800010),
		(uint32_t)stacks_add_kernel_frame(&r->stacks, "schedule", 8),
	};
	int stack = stacks_add_stack(&r->stacks, frames, 3);

	assert_int_equal(stacks_add_user_frame(&r->stacks, &a, 0x400010), frames[0]);
	assert_int_not_equal(stacks_add_user_frame(&r->stacks, &a, 0x400011), frames[0]);
	assert_int_not_equal(frames[0], frames[1]);
	assert_int_equal(stacks_add_kernel_frame(&r->stacks, "schedule", 8), frames[2]);
	assert_int_not_equal(stacks_add_kernel_frame(&r->stacks, "sched", 5), frames[2]);
	assert_int_equal(stacks_add_stack(&r->stacks, frames, 3), stack);
	assert_int_not_equal(stacks_add_stack(&r->stacks, frames, 2), stack);
}

TEST_STATE(tables_grow_and_keep_their_numbers, setup, teardown, struct rig *r)
{
	const struct process_mapping a = mapping(r, 0x400000, "/a");
	int frames[5000], stacks[5000];

	for (uint32_t i = 0; i < 5000; i++) {
		uint32_t frame;

		frames[i] = stacks_add_user_frame(&r->stacks, &a, 0x400000 + i);
		frame = (uint32_t)frames[i];
		stacks[i] = stacks_add_stack(&r->stacks, &frame, 1);
	}
	for (uint32_t i = 0; i < 5000; i++) {
		uint32_t frame = (uint32_t)frames[i];

		assert_int_equal(stacks_add_user_frame(&r->stacks, &a, 0x400000 + i), frames[i]);
		assert_int_equal(stacks_add_stack(&r->stacks, &frame, 1), stacks[i]);
	}
}

TEST_STATE(a_stack_is_written_once_until_the_state_is_cleared, setup, teardown, struct rig *r)
{
	const struct process_mapping a = mapping(r, 0x400000, "/a");
	uint32_t frame = (uint32_t)stacks_add_user_frame(&r->stacks, &a, 0x401234);
	int stack = stacks_add_stack(&r->stacks, &frame, 1);
	struct pb_field f;

	assert_int_equal(written(r, stack, PB_INTERNED_DATA_MAPPINGS, &f), 1);
	assert_int_equal(number_of(&f, PB_MAPPING_START), 0x400000);
	assert_int_equal(number_of(&f, PB_MAPPING_EXACT_OFFSET), 0x2000);
	assert_int_equal(written(r, stack, PB_INTERNED_DATA_FRAMES, &f), 0);
	stacks_clear_written(&r->stacks);
	assert_int_equal(written(r, stack, PB_INTERNED_DATA_FRAMES, &f), 1);
	assert_int_equal(number_of(&f, PB_FRAME_REL_PC), 0x3234);
	stacks_clear_written(&r->stacks);
	assert_int_equal(written(r, stack, PB_INTERNED_DATA_MAPPING_PATHS, &f), 1);
	stacks_clear_written(&r->stacks);
	assert_int_equal(written(r, stack, PB_INTERNED_DATA_CALLSTACKS, &f), 1);
}

TEST_STATE(other_users_see_no_address, setup, teardown, struct rig *r)
{
	const struct process_mapping here = mapping(r, 0x400000, "/a"),
				     there = mapping(r, 0x7f0000400000, "/a");
	uint32_t frame;
	struct pb_field f;
	int stack;

	r->stacks.hides_addresses = true;
	frame = (uint32_t)stacks_add_user_frame(&r->stacks, &here, 0x401234);
	assert_int_equal(stacks_add_user_frame(&r->stacks, &there, 0x7f0000401234), frame);
	stack = stacks_add_stack(&r->stacks, &frame, 1);
	assert_int_equal(written(r, stack, PB_INTERNED_DATA_MAPPINGS, &f), 1);
	assert_int_equal(number_of(&f, PB_MAPPING_START), 0);
	assert_int_equal(number_of(&f, PB_MAPPING_END), 0x10000);
	stacks_clear_written(&r->stacks);
	assert_int_equal(written(r, stack, PB_INTERNED_DATA_FRAMES, &f), 1);
	assert_int_equal(number_of(&f, PB_FRAME_REL_PC), 0x3234);
}

TEST_STATE(a_kernel_frame_has_a_name_and_no_address, setup, teardown, struct rig *r)
{
	uint32_t frame = (uint32_t)stacks_add_kernel_frame(&r->stacks, "schedule", 8);
	int stack = stacks_add_stack(&r->stacks, &frame, 1);
	struct pb_field f;

	assert_int_equal(written(r, stack, PB_INTERNED_DATA_FRAMES, &f), 1);
	assert_int_equal(number_of(&f, PB_FRAME_REL_PC), 0);
	stacks_clear_written(&r->stacks);
	assert_int_equal(written(r, stack, PB_INTERNED_DATA_FUNCTION_NAMES, &f), 1);
}

TEST_STATE(names_are_bounded_until_a_reset, setup, teardown, struct rig *r)
{
	static char name[65536];
	uint32_t n = 0;

	memset(name, 'x', sizeof(name));
	for (; !stacks_is_full(&r->stacks); n++) {
		memcpy(name, &n, sizeof(n));
		assert_true(stacks_add_name(&r->stacks, name, sizeof(name)) > 0);
	}
	assert_int_equal(n, STACKS_NAMES_MAX / sizeof(name));
	assert_int_equal(stacks_add_name(&r->stacks, "one more", 8), -ENOMEM);
	stacks_reset(&r->stacks);
	assert_false(stacks_is_full(&r->stacks));
	assert_true(stacks_add_name(&r->stacks, "one more", 8) > 0);
}

TEST_STATE(compiled_code_has_frames_of_its_process_and_of_its_names, setup, teardown, struct rig *r)
{
	const struct process_mapping m = mapping(r, 0x400000, "//anon");
	int first = stacks_add_jit_frame(&r->stacks, &m, 0x400010, 1, 1, 0), second;
	uint32_t frame;
	struct pb_field f;

	/* The same address of another process may be another function. */
	assert_int_not_equal(stacks_add_jit_frame(&r->stacks, &m, 0x400010, 2, 1, 0), first);
	assert_int_equal(stacks_add_jit_frame(&r->stacks, &m, 0x400010, 1, 1, 0), first);
	/* It had no name; now there are further ones. */
	second = stacks_add_jit_frame(&r->stacks, &m, 0x400010, 1, 2, 0);
	assert_int_not_equal(second, first);
	r->stacks.frames[second].name = (uint32_t)stacks_add_name(&r->stacks, "f", 1);
	assert_int_equal(stacks_add_jit_frame(&r->stacks, &m, 0x400010, 1, 3, 0), second);
	/* The memory was used again. */
	assert_int_not_equal(stacks_add_jit_frame(&r->stacks, &m, 0x400010, 1, 3, 3), second);

	frame = (uint32_t)second;
	assert_int_equal(
		written(r, stacks_add_stack(&r->stacks, &frame, 1), PB_INTERNED_DATA_FRAMES, &f),
		1);
	assert_int_equal(number_of(&f, PB_FRAME_KIND), 4);
	frame = (uint32_t)first;
	assert_int_equal(
		written(r, stacks_add_stack(&r->stacks, &frame, 1), PB_INTERNED_DATA_FRAMES, &f),
		1);
	assert_int_equal(number_of(&f, PB_FRAME_KIND), 0);
}

/* Each sequence gets what it does not have, whatever the other one has. */
TEST_STATE(two_sequences_have_interned_data_of_their_own, setup, teardown, struct rig *r)
{
	const struct process_mapping m = mapping(r, 0x400000, "/usr/bin/app");
	uint32_t frame = (uint32_t)stacks_add_user_frame(&r->stacks, &m, 0x400010);
	int stack = stacks_add_stack(&r->stacks, &frame, 1);
	struct pb_field f;

	assert_int_equal(written(r, stack, PB_INTERNED_DATA_MAPPINGS, &f), 1);
	assert_int_equal(written(r, stack, PB_INTERNED_DATA_MAPPINGS, &f), 0);
	r->stacks.sequence = 1;
	assert_false(stacks_has_written(&r->stacks, (uint32_t)stack));
	assert_int_equal(written(r, stack, PB_INTERNED_DATA_MAPPINGS, &f), 1);
	assert_true(stacks_has_written(&r->stacks, (uint32_t)stack));
	stacks_clear_written(&r->stacks);
	assert_int_equal(written(r, stack, PB_INTERNED_DATA_MAPPING_PATHS, &f), 1);
	r->stacks.sequence = 0;
	assert_true(stacks_has_written(&r->stacks, (uint32_t)stack));
	assert_int_equal(written(r, stack, PB_INTERNED_DATA_CALLSTACKS, &f), 0);
}
