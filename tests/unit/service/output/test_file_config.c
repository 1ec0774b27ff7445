/* SPDX-License-Identifier: Apache-2.0 */

#include "service/output/file_writer.h"
#include "unit/service/rig.h"
#include "unit/test.h"

static Pb__TraceConfig *config; /* of the text given last */

static const Pb__TraceConfig *of(const char *text)
{
	if (config)
		pb__trace_config__free_unpacked(config, NULL);
	config = peer_parse_config(text);
	return config;
}

TEST(path_must_make_sense)
{
	char text[8192];
	struct err_text e;

	assert_int_equal(file_writer_check_config(of(""), &e), 0);
	assert_int_equal(file_writer_check_config(of("write_into_file: true"), &e), 0);
	assert_int_equal(
		file_writer_check_config(of("write_into_file: true output_path: '/x/y'"), &e), 0);
	assert_int_equal(file_writer_check_config(of("output_path: '/x/y'"), &e), -EINVAL);
	assert_non_null(strstr(e.text, "output_path requires write_into_file"));
	assert_int_equal(
		file_writer_check_config(of("write_into_file: true output_path: 'x/y'"), &e),
		-EINVAL);
	assert_non_null(strstr(e.text, "slash"));
	snprintf(text, sizeof(text), "write_into_file: true output_path: '/%04200d'", 0);
	assert_int_equal(file_writer_check_config(of(text), &e), -EINVAL);
}

TEST(rotation_must_make_sense)
{
	static const struct {
		const char *rotate, *more, *error;
	} bad[] = {
		{"period_ms: 2000", "", "requires write_into_file"},
		{"period_ms: 2000", "write_into_file: true", "requires write_into_file"},
		{"", "write_into_file: true output_path: '/x'", "or both"},
		{"keep: 3", "write_into_file: true output_path: '/x'", "or both"},
		{"period_ms: 999", "write_into_file: true output_path: '/x'",
		 "period_ms must be at least"},
		{"max_file_size_bytes: 65535", "write_into_file: true output_path: '/x'",
		 "max_file_size_bytes must be at least"},
		{"period_ms: 2000 keep: 10001", "write_into_file: true output_path: '/x'", "keep"},
		{"period_ms: 2000",
		 "write_into_file: true output_path: '/x' max_file_size_bytes: 100000",
		 "both inside and outside rotate"},
	};
	struct err_text e;
	char text[512];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(text, sizeof(text), "rotate { %s } %s", bad[i].rotate, bad[i].more);
		assert_int_equal(file_writer_check_config(of(text), &e), -EINVAL);
		assert_non_null(strstr(e.text, bad[i].error));
	}
	assert_int_equal(
		file_writer_check_config(of("write_into_file: true output_path: '/x' rotate { "
					    "max_file_size_bytes: 65536 period_ms: 1000 keep: 1 }"),
					 &e),
		0);
}

TEST(flushes_follow_the_mode)
{
	static const struct {
		const char *text;
		uint32_t period_ms;
	} modes[] = {
		/* without a file only flush_period_ms counts */
		{"flush_period_ms: 700 write_flush_mode: WRITE_FLUSH_ENABLED", 700},
		{"write_into_file: true flush_period_ms: 700", 5000},
		{"write_into_file: true file_write_period_ms: 5000", 5000},
		{"write_into_file: true file_write_period_ms: 5001 flush_period_ms: 700", 0},
		{"write_into_file: true file_write_period_ms: 9000 "
		 "write_flush_mode: WRITE_FLUSH_AUTO",
		 0},
		{"write_into_file: true file_write_period_ms: 200 "
		 "write_flush_mode: WRITE_FLUSH_ENABLED",
		 0},
		{"write_into_file: true file_write_period_ms: 9000 flush_period_ms: 700 "
		 "write_flush_mode: WRITE_FLUSH_DISABLED",
		 700},
		{"write_into_file: true write_flush_mode: WRITE_FLUSH_DISABLED", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		assert_int_equal(file_writer_flush_period_ms(of(modes[i].text)),
				 modes[i].period_ms);
}

static int free_config(void **state)
{
	of("");
	pb__trace_config__free_unpacked(config, NULL);
	return 0;
}
TEST_GROUP(NULL, free_config)
