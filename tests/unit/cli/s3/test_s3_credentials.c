/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/s3/s3_credentials.h"

#include "unit/temp_dir.h"
#include "unit/test.h"

TEST(values_of_a_section)
{
	static const char text[] = "aws_access_key_id = outside\r\n"
				   "# [default]\n"
				   "[ default ]\r\n"
				   "; aws_access_key_id = comment\n"
				   "aws_access_key_id=first = 1\r\n"
				   "aws_secret_access_key =\n"
				   "[profile other]\n"
				   "region = there\n";
	char value[16];

	assert_true(s3_ini_find(text, "default", "aws_access_key_id", value, sizeof(value)));
	assert_string_equal(value, "first = 1");
	assert_false(s3_ini_find(text, "default", "aws_secret_access_key", value, sizeof(value)));
	assert_false(s3_ini_find(text, "default", "region", value, sizeof(value)));
	assert_true(s3_ini_find(text, "profile other", "region", value, sizeof(value)));
	assert_false(s3_ini_find(text, "profile other", "region", value, 5));
	assert_false(s3_ini_find("", "default", "region", value, sizeof(value)));
}

static void write_keys(const char *path, const char *id)
{
	FILE *f = fopen(path, "w");

	fprintf(f, "[default]\naws_access_key_id=%s\naws_secret_access_key=s\n", id);
	fclose(f);
	assert_int_equal(chmod(path, 0600), 0);
}

TEST_WITH(a_changed_file_is_read_again, temp_dir_setup, temp_dir_teardown)
{
	const struct timespec later[2] = {{.tv_sec = 2000000000}, {.tv_sec = 2000000000}};
	const char *path = temp_dir_path(state, 0, "keys");
	struct s3_credentials c;
	struct err_text e = {""};

	write_keys(path, "one");
	assert_int_equal(s3_credentials_load(path, NULL, &c, &e), 0);
	assert_string_equal(c.access_key, "one");
	assert_int_equal(s3_credentials_refresh(&c, &e), 0);
	write_keys(path, "two");
	assert_int_equal(utimensat(AT_FDCWD, path, later, 0), 0);
	assert_int_equal(s3_credentials_refresh(&c, &e), 1);
	assert_string_equal(c.access_key, "two");
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(s3_credentials_load(path, NULL, &c, &e), -EPERM);
	assert_non_null(strstr(e.text, "chmod 600"));
}

TEST(the_environment_is_used_and_then_emptied)
{
	struct s3_credentials c;
	struct err_text e = {""};

	unsetenv("CREDENTIALS_DIRECTORY");
	setenv("AWS_ACCESS_KEY_ID", "id", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
	setenv("AWS_SESSION_TOKEN", "token", 1);
	assert_int_equal(s3_credentials_load(NULL, NULL, &c, &e), 0);
	assert_string_equal(c.secret_key, "secret");
	assert_string_equal(c.token, "token");
	assert_null(getenv("AWS_SECRET_ACCESS_KEY"));
	assert_null(getenv("AWS_SESSION_TOKEN"));
	setenv("AWS_SECRET_ACCESS_KEY", "two words", 1);
	assert_int_equal(s3_credentials_load(NULL, NULL, &c, &e), -EINVAL);
}
