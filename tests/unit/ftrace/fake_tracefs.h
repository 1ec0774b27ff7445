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
#include "unit/temp_dir.h"

/*
 * A folder that stands in for tracefs, with one instance in it whose files are plain files. What
 * the kernel would do when they are written, it does not do.
 */
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

/* Writes a file below root, and the folders above it. */
static inline void fake_file(const char *root, const char *name, const void *data, size_t len)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	fake_mkdirs(path);
	f = fopen(path, "w");
	assert(f);
	assert(fwrite(data, 1, len, f) == len);
	fclose(f);
}

static inline void fake_text(const char *root, const char *name, const char *text)
{
	fake_file(root, name, text, strlen(text));
}

/* The file's text, in memory that the next call overwrites; "" where there is none. */
static inline const char *fake_read(const char *root, const char *name)
{
	static char text[4096];
	char path[512];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	f = fopen(path, "r");
	if (f) {
		n = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
	}
	text[n] = '\0';
	return text;
}

/* root/instances/x, which has to have a file already. */
static inline struct instance fake_instance(const char *root)
{
	struct instance i = {.tracefs = tracefs_instance_alloc(root, "x")};

	assert(i.tracefs);
	return i;
}

static inline void fake_instance_free(struct instance *i)
{
	tracefs_instance_free(i->tracefs);
	i->tracefs = NULL;
}
