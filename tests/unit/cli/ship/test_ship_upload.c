/* SPDX-License-Identifier: Apache-2.0 */
/* Why the uploader does not start. tests/system/test_ship.sh has the uploads. */
#include "cli/ship/ship_upload.h"

#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "unit/temp_dir.h"
#include "unit/test.h"

TEST_STATE(a_target_that_cannot_be_written_is_reported, temp_dir_setup, temp_dir_teardown,
	   char *dir)
{
	const struct ship_options options = {.spool = dir, .bucket = "bucket", .prefix = "fleet/"};
	static const volatile sig_atomic_t stop;
	struct ship_uploader *u = NULL;
	struct err_text e = {""};
	struct rlimit before, none;
	struct stat file;
	char path[PATH_MAX];
	int r;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	none = before;
	none.rlim_cur = 5; /* a part of the text */
	setrlimit(RLIMIT_FSIZE, &none);
	r = ship_uploader_open(&options, &stop, &u, &e);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(r, -EFBIG);
	assert_non_null(strstr(e.text, "/upload/target: File too large"));
	snprintf(path, sizeof(path), "%s/upload/target", dir);
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_size, 0);
}
