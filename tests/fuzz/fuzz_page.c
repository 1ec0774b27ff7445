/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring page of any bytes and of any size up to 64 KiB, translated by the rows of recorded
 * kernels' events and of a made-up one with the rarer kinds of fields. Whatever comes in, what
 * comes out is a whole trace, and every record is within its bound.
 *
 * The first byte chooses how: bit 0 columns, bit 1 the older encoding of generic events, bit 2
 * chunks of 64 bytes, bit 3 threads are collected, bit 4 a 32-bit kernel's page, bit 5
 * a second listener with the other columns, bit 6 broken pages are kept, bit 7 system calls of
 * 32-bit programs are looked for (which a /proc has that is tests/data/calls).
 */
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "ftrace/events/page_encode.h"
#include "unit/../unit/ftrace/bundles.h"
#include "unit/../unit/ftrace/formats.h"
#include "unit/../unit/ftrace/page_maker.h"
#include "unit/../unit/ftrace/page_set.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MADE_ID 9

static const char made[] = FIELD("__data_loc char[] a", 8, 4, 0)
	FIELD("__rel_loc char b[]", 12, 4, 0) FIELD("__data_loc u64[] c", 16, 4, 0)
		FIELD("__rel_loc u8 d[]", 20, 4, 0) FIELD("unsigned char e[6]", 24, 6, 0)
			FIELD("s8 f", 30, 1, 1) FIELD("short g", 32, 2, 1)
				FIELD("dev_t h", 36, 4, 0) FIELD("void * i", 40, 8, 0)
					FIELD("const char * j", 48, 8, 0)
						FIELD("u32 k[]", 56, 0, 0);

static struct way {
	struct page_set set;
	struct page_encoder *encoder;
	struct event_table_options options;
} ways[4];
static struct writer *writers[2]; /* of the second listener: [1] */
static struct metadata_events collected;

#define MAX_PAGE 65536

static const struct ring_page_layout layouts[2] = {
	{.size = MAX_PAGE, .commit_offset = 8, .commit_size = 8, .data_offset = 16},
	{.size = MAX_PAGE, .commit_offset = 8, .commit_size = 4, .data_offset = 12},
};

/* Directories of tests/data: in the repository, or beside the program, where
 * tools/oss-fuzz/build.sh copies them. */
static char mix[PATH_MAX], more[2][PATH_MAX], calls[PATH_MAX];

static void find_data(void)
{
	char program[PATH_MAX] = "", *name = program;

	if (access("tests/data", X_OK) < 0) {
		assert(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
		name = strrchr(program, '/') + 1;
	}
	*name = '\0';
	snprintf(mix, sizeof(mix), "%.3000stests/data/ftrace/mix", program);
	snprintf(more[0], sizeof(more[0]), "%.3000stests/data/ftrace/sched", program);
	snprintf(more[1], sizeof(more[1]), "%.3000stests/data/ftrace/syscalls", program);
	snprintf(calls, sizeof(calls), "%.3000stests/data/calls", program);
}

static void load(struct way *way, const struct event_table_options *options)
{
	uint16_t id;

	way->options = *options;
	page_set_load(&way->set, mix, options);
	for (unsigned i = 0; i < ARRAY_SIZE(more); i++)
		page_set_load_events(&way->set, more[i], options);
	assert(event_table_add(&way->set.table, "test", "made",
			       format_text("made", MADE_ID, FORMAT_COMMON, made), options,
			       &id) == 0);
	assert(page_encoder_new(&way->set.table, &layouts[0], writers[0], &way->encoder) == 0);
}

static struct way *way_of(uint8_t how)
{
	return &ways[how & 3];
}

static void load_all(void)
{
	find_data();
	writers[0] = fake_writer_new(4096);
	writers[1] = fake_writer_new(100);
	assert(metadata_init(&collected) == 0);
	for (unsigned i = 0; i < ARRAY_SIZE(ways); i++)
		load(&ways[i], &(struct event_table_options){.compact = (i & 1) << (i >> 1),
							     .legacy_generic = i & 2});
}

static void check_events(const struct bundle_view *b)
{
	pb_for_each (f, &b->whole) {
		if (f.id != PB_FTRACE_EVENT_BUNDLE_EVENT)
			continue;
		for_each_valid_field (e, &f) {
			if (!e.data)
				continue;
			for_each_valid_field (m, &e)
				;
		}
	}
}

/* Each column has as many values as the others of its kind. */
static void check_columns(const struct bundle_view *b)
{
	static uint64_t values[COMPACT_MAX_EVENTS];
	static const uint8_t groups[2][6] = {{1, 2, 3, 4, 6, 6}, {7, 8, 9, 10, 11, 12}};

	for (unsigned g = 0; g < 2; g++)
		for (unsigned i = 1; i < 6; i++)
			assert(bundle_column(b, groups[g][i], values) ==
			       bundle_column(b, groups[g][0], values));
}

static void check(struct writer *w)
{
	bundles_read(w);
	for (unsigned i = 0; i < n_bundles; i++) {
		check_events(&bundles[i]);
		check_columns(&bundles[i]);
	}
	fake_writer_clear(w);
}

/* Each input finds the threads anew. */
static void set_up_calls(struct way *way)
{
	assert(compat_syscalls_new(calls, &way->options, &way->set.table, &way->encoder->calls) ==
	       0);
	assert(page_encoder_reserve(way->encoder) == 0);
}

static void set_up(struct way *way, struct writer *w, uint8_t how)
{
	struct page_encoder *t = way->encoder;

	if (how & 128)
		set_up_calls(way);
	t->layout = layouts[how >> 4 & 1];
	t->bundle.output = bundle_output_of_writer(w);
	t->ctx.tids = how & 8 ? &collected.tids : NULL;
	t->ctx.metadata = how & 8 ? &collected : NULL;
	t->broken_left = how & 64 ? 2 : 0;
}

static void translate(const uint8_t *data, size_t size, uint8_t how)
{
	struct way *const at[2] = {way_of(how), way_of(how ^ 1)};
	struct cpu_stream cpus[2] = {{.cpu = 1}, {.cpu = 1}};
	struct page_encode_target to[2] = {
		{.t = at[0]->encoder, .cpu = &cpus[0]},
		{.t = at[1]->encoder, .cpu = &cpus[1]},
	};
	unsigned n = how & 32 ? 2 : 1;
	uint8_t *page = malloc(size); /* its end is the page's end, to the byte */

	memcpy(page, data, size);
	for (unsigned i = 0; i < n; i++)
		set_up(at[i], writers[i], how);
	page_encode_for_targets(to, n, page, size);
	for (unsigned i = 0; i < n; i++) {
		page_encode_end(to[i].t, to[i].cpu);
		to[i].t->calls = compat_syscalls_free(to[i].t->calls);
	}
	free(page);
	assert(n == 1 || cpus[0].events == cpus[1].events); /* whatever the encoding */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct metadata_batch batch;

	if (!writers[0])
		load_all();
	if (size < 1 || size - 1 > MAX_PAGE)
		return 0;
	writers[0]->range = *data & 4 ? 64 : 32760;
	translate(data + 1, size - 1, *data);
	check(writers[0]);
	check(writers[1]);
	metadata_take_batch(&collected, &way_of(*data)->encoder->sync, UINT64_MAX, &batch);
	metadata_free_batch(&collected);
	return 0;
}
