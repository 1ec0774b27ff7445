/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <tracefs.h>

#include "ftrace/tracefs/instance.h"
#include "unit/fixture.h"
#include "unit/temp_dir.h"

/* A directory that stands in for tracefs, with one instance in it whose files are plain files. What
 * the kernel would do when they are written, it does not do. Names of files are relative to it. */
static char *fake_root;

static inline int fake_root_setup(void **state)
{
	int r = temp_dir_setup(state);

	fake_root = *state;
	return r;
}

static inline int fake_root_teardown(void **state)
{
	*state = fake_root;
	return temp_dir_teardown(state);
}

static inline void fake_root_new(void)
{
	void *state;

	assert_int_equal(fake_root_setup(&state), 0);
}

static inline void fake_root_remove(void)
{
	void *state;

	fake_root_teardown(&state);
}

/* What events/header_page says of pages of 4096 bytes. */
#define HEADER_PAGE                                                                                \
	"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"                                 \
	"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"                                \
	"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n"

/* A test that needs this directory and nothing else. */
#define DIR_TEST(name) TEST_WITH(name, fake_root_setup, fake_root_teardown)

/* The path of a file, in memory that the fourth call from now overwrites. */
static inline const char *fake_path(const char *name)
{
	static unsigned slot;

	return temp_dir_path((void *const *)&fake_root, slot++ % 4, name);
}

static inline void fake_mkdirs(const char *path)
{
	char copy[512];

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *p = copy + 1; *p; p++)
		if (*p == '/') {
			*p = '\0';
			mkdir(copy, 0755);
			*p = '/';
		}
}

/* Writes a file, and makes the directories above it. */
static inline void fake_file(const char *name, const void *data, size_t len)
{
	const char *path = fake_path(name);
	FILE *f;

	fake_mkdirs(path);
	f = fopen(path, "w");
	assert(f);
	assert(fwrite(data, 1, len, f) == len);
	fclose(f);
}

static inline void fake_text(const char *name, const char *text)
{
	fake_file(name, text, strlen(text));
}

/* The same for a name that is made by printf. */
static inline void fake_put(const char *text, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static inline void fake_put(const char *text, const char *fmt, ...)
{
	char name[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	fake_text(name, text);
}

/* The file's text, in memory that the next call overwrites; "" where there is none. */
static inline const char *fake_read(const char *name)
{
	static char text[4096];
	FILE *f = fopen(fake_path(name), "r");
	size_t n = 0;

	if (f) {
		n = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
	}
	text[n] = '\0';
	return text;
}

/* instances/x, which has to have a file already. */
static inline struct instance fake_instance(void)
{
	struct instance i = {.tracefs = tracefs_instance_alloc(fake_root, "x")};

	assert(i.tracefs);
	return i;
}

static inline void fake_instance_free(struct instance *i)
{
	tracefs_instance_free(i->tracefs);
	i->tracefs = NULL;
}
