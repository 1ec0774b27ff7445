/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#include "unit/service/rig.h"
#include "service/output/out_file.h"
#include "unit/temp_dir.h"
#include "unit/service/trace_file_helper.h"

static void put(struct file_part *p, size_t len)
{
	char *text = calloc(1, len);

	assert_non_null(text);
	file_part_sink(p)->begin(file_part_sink(p), len);
	file_part_sink(p)->bytes(file_part_sink(p), text, len);
	free(text);
}

/* Packets of 1000 zeros until there is no room: the file is never larger than it may be. */
static unsigned fill(void *const *state, const char *config_text)
{
	Pb__TraceConfig *c = peer_parse_config(config_text);
	const char *path = temp_dir_path(state, 0, "trace");
	struct file_part p;
	unsigned n = 0;

	assert_int_equal(file_part_init(&p, c, open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), 7), 0);
	assert_int_equal(p.number, 7);
	while (n < 100000 && file_part_has_room(&p, 1000, 10000)) {
		put(&p, 1000);
		n++;
	}
	file_part_end_group(&p);
	while (out_file_write(&p.out) == OUT_FILE_MORE)
		;
	assert_in_range(size_of_file(path), 8000, 10000);
	file_part_deinit(&p);
	pb__trace_config__free_unpacked(c, NULL);
	return n;
}

#define DIR_TEST(name) TEST_WITH(name, temp_dir_setup, temp_dir_teardown)

DIR_TEST(file_fills_up_to_its_size)
{
	assert_int_equal(fill(state, ""), 9);
}

DIR_TEST(compressed_file_holds_more_of_them)
{
	assert_true(fill(state, "compression { deflate {} }") > 100);
	assert_true(fill(state, "compression { zstd {} }") > 100);
}

/* What was gathered goes to where the part is now. */
DIR_TEST(part_may_be_moved)
{
	Pb__TraceConfig *c = peer_parse_config("compression { zstd {} }");
	const char *path = temp_dir_path(state, 0, "trace");
	struct file_part parts[2];

	assert_int_equal(file_part_init(&parts[1], c, open(path, O_RDWR | O_CREAT, 0600), 1), 0);
	put(&parts[1], 1000);
	parts[0] = parts[1];
	file_part_end_group(&parts[0]);
	assert_int_equal(parts[1].out.used, 0);
	assert_true(parts[0].out.used > 0);
	file_part_deinit(&parts[0]);
	pb__trace_config__free_unpacked(c, NULL);
}
