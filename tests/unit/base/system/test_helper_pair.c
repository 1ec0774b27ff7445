/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/helper_pair.h"
#include "base/system/sanitizer.h"
#include "unit/test.h"

#define FILE_OF_OPENER "/proc/self/exe"

struct opened {
	int writable, created; /* results of the opener: 0 or -errno */
};

static int try_open(const char *path, int flags)
{
	_cleanup_(closep) int fd = open(path, flags | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : 0;
}

/* Passes its own program file on for each request of one byte. */
static void open_files(int fd, int other, void *ctx)
{
	static const char *const calls[] = {NULL};
	char request;

	helper_confine_opener(NULL, 0, calls);
	while (helper_receive(fd, &(struct iovec){&request, 1}, 1, -1, NULL) == 1) {
		struct opened o = {.writable = try_open("/dev/null", O_WRONLY),
				   .created = try_open(ctx, O_RDONLY | O_CREAT)};
		_cleanup_(closep) int found = open(FILE_OF_OPENER, O_PATH | O_CLOEXEC);
		_cleanup_(closep) int file = helper_open_found(found, 0);

		if (helper_send(other, &o, sizeof(o), file, 0) < 0)
			return;
	}
}

struct parsed {
	struct opened by_opener;
	char magic[4];
};

static void parse_files(int fd, int other, void *ctx)
{
	struct parsed p;
	int file;

	while (helper_receive(other, &(struct iovec){&p.by_opener, sizeof(p.by_opener)}, 1, -1,
			      &file) == sizeof(p.by_opener)) {
		if (pread(file, p.magic, sizeof(p.magic), 0) != sizeof(p.magic))
			p.magic[0] = 0;
		closep(&file);
		if (helper_send(fd, &p, sizeof(p), -1, 0) < 0)
			return;
	}
}

TEST(an_opener_opens_to_read_and_a_parser_gets_the_file)
{
	static char created[] = "/tmp/helper_pair_must_not_exist";
	const struct helper_of_pair opener = {
		.name = "test-open", .run = open_files, .ctx = created};
	const struct helper_of_pair parser = {.name = "test-parse", .run = parse_files};
	struct helper_pair pair = HELPER_PAIR_NONE;
	struct parsed p;

	assert_false(helper_pair_is_alive(&pair));
	assert_false(helper_pair_request(&pair, "x", 1));
	assert_int_equal(helper_pair_start(&opener, &parser, &pair), 0);
	assert_true(helper_pair_is_alive(&pair));
	for (unsigned i = 0; i < 2; i++) {
		assert_true(helper_pair_request(&pair, "x", 1));
		assert_int_equal(helper_receive(pair.parser.fd, &(struct iovec){&p, sizeof(p)}, 1,
						60000, NULL),
				 sizeof(p));
		assert_memory_equal(p.magic, "\177ELF", 4);
		if (BUILT_WITH_SANITIZER)
			continue;
		assert_int_equal(p.by_opener.writable, -EPERM);
		assert_int_equal(p.by_opener.created, -EPERM);
	}
	if (BUILT_WITH_SANITIZER)
		unlink(created);
	helper_pair_close(&pair);
	assert_false(helper_pair_is_alive(&pair));
	assert_int_equal(waitpid(pair.opener.pid, NULL, 0), pair.opener.pid);
	assert_int_equal(waitpid(pair.parser.pid, NULL, 0), pair.parser.pid);
}
