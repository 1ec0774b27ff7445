// SPDX-License-Identifier: Apache-2.0
#include "unit/test.h"
#include "base/system/fs.h"
#include "cli/record/record_config.h"
#include "cli/record/record_config_file.h"

static int load(const char *content, size_t len, bool is_text, struct strbuf *errors,
		Pb__TraceConfig **ret)
{
	char path[] = "/tmp/test-config-XXXXXX";
	int fd = mkstemp(path), r;

	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, content, len), 0);
	close(fd);
	r = record_config_file_read(path, is_text, errors, ret);
	unlink(path);
	return r;
}

TEST(test_text_and_binary_files_are_told_apart)
{
	static const char text[] = "buffers { size_kb: 64 }\nduration_ms: 7\n";
	struct strbuf errors = {0};
	Pb__TraceConfig *first, *second;
	uint8_t *bytes;
	size_t len;

	assert_int_equal(load(text, strlen(text), false, &errors, &first), 0);
	assert_int_equal(first->duration_ms, 7);
	assert_int_equal(record_config_pack(first, &bytes, &len), 0);
	assert_int_equal(load((char *)bytes, len, false, &errors, &second), 0);
	assert_int_equal(second->buffers[0]->size_kb, 64);
	assert_null(errors.s);
	pb__trace_config__free_unpacked(first, NULL);
	pb__trace_config__free_unpacked(second, NULL);
	free(bytes);
}

/* A field of a later version: the service may know it. */
TEST(test_unknown_fields_of_a_binary_config_are_kept)
{
	static const char bytes[] = "\x0a\x02\x08\x40\xc2\x3e\x03xyz"; /* field 1000 */
	struct strbuf errors = {0};
	Pb__TraceConfig *config;
	uint8_t *packed;
	size_t len;

	assert_int_equal(load(bytes, sizeof(bytes) - 1, false, &errors, &config), 0);
	assert_int_equal(record_config_pack(config, &packed, &len), 0);
	assert_int_equal(len, sizeof(bytes) - 1);
	assert_memory_equal(packed, bytes, len);
	free(packed);
	pb__trace_config__free_unpacked(config, NULL);
}

TEST(test_a_mistake_in_text_is_shown_where_it_is)
{
	static const char text[] = "buffers { size_kb: 64 }\nbufers { }\n";
	struct strbuf errors = {0};
	Pb__TraceConfig *config;

	assert_int_equal(load(text, strlen(text), false, &errors, &config), -EINVAL);
	assert_non_null(strstr(errors.s, ":2:1: error: "));
	assert_non_null(strstr(errors.s, "buffers"));
	strbuf_deinit(&errors);
}

TEST(test_files_that_cannot_be_read)
{
	struct strbuf errors = {0}, big = {0};
	Pb__TraceConfig *config;

	assert_int_equal(record_config_file_read("/nonexistent/c.cfg", false, &errors, &config),
			 -ENOENT);
	assert_string_equal(errors.s, "cannot read the config /nonexistent/c.cfg: No such file or "
				      "directory; see configs/ for examples\n");
	strbuf_clear(&errors);
	assert_int_equal(record_config_file_read("/tmp", false, &errors, &config), -EISDIR);
	strbuf_clear(&errors);
	for (int i = 0; i <= (int)RECORD_CONFIG_FILE_MAX / 16; i++)
		strbuf_puts(&big, "# 16 bytes here\n");
	assert_int_equal(load(big.s, big.len, true, &errors, &config), -EFBIG);
	assert_non_null(strstr(errors.s, "too large"));
	strbuf_deinit(&big);
	strbuf_deinit(&errors);
}

/* What asks the command line for more than a recording must not be ignored. */
TEST(test_fields_for_another_command_line_are_refused_by_name)
{
	static const char *const fields[][2] = {
		{"activate_triggers: 'x'", "activate_triggers"},
		{"incident_report_config { }", "incident_report_config"},
		{"android_report_config { }", "android_report_config"},
	};
	struct strbuf errors = {0};
	Pb__TraceConfig *config;
	char text[256];

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		snprintf(text, sizeof(text), "buffers { size_kb: 64 } %s", fields[i][0]);
		assert_int_equal(load(text, strlen(text), false, &errors, &config), -EINVAL);
		assert_non_null(strstr(errors.s, fields[i][1]));
		strbuf_clear(&errors);
	}
	strbuf_deinit(&errors);
}
