/* SPDX-License-Identifier: Apache-2.0 */
#include "service/output/file_rotation.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "service/output/file_helper.h"

#define MAX_TRIES 10000 /* numbers of existing files in a row */

int file_rotation_init(struct file_rotation *r, const Pb__TraceConfig *config, uid_t user)
{
	const Pb__TraceConfig__Rotate *c = config->rotate;

	*r = (struct file_rotation){.max_bytes = UINT64_MAX, .user = user};
	if (!c)
		return 0;
	if (c->max_file_size_bytes)
		r->max_bytes = c->max_file_size_bytes;
	r->period_ms = c->period_ms;
	r->keep = c->keep;
	r->path = strdup(config->output_path);
	r->kept = calloc(r->keep + 1, sizeof(*r->kept));
	return r->path && r->kept ? 0 : -ENOMEM;
}

void file_rotation_deinit(struct file_rotation *r)
{
	free(TAKE_PTR(r->path));
	free(TAKE_PTR(r->kept));
	free(TAKE_PTR(r->files));
}

static int make_path(const struct file_rotation *r, uint32_t number, char *buf, size_t size)
{
	return fs_make_numbered_path(buf, size, r->path, number, 6);
}

static void file_rotation_remove_file(const struct file_rotation *r, uint32_t number,
				      const struct output_file *file)
{
	char path[PATH_MAX];

	if (make_path(r, number, path, sizeof(path)) == 0)
		file_helper_remove(path, r->user, file);
}

/* Adds the newest file to the list of existing files, and removes the oldest one if there are more
 * than `keep`. */
static void add_kept_file(struct file_rotation *r)
{
	if (r->keep == 0)
		return;
	r->kept[r->n_kept++] = (struct kept_file){r->last, r->newest};
	if (r->n_kept <= r->keep)
		return;
	file_rotation_remove_file(r, r->kept[0].number, &r->kept[0].file);
	memmove(&r->kept[0], &r->kept[1], --r->n_kept * sizeof(r->kept[0]));
}

int file_rotation_create_next(struct file_rotation *r, struct err_text *e, int *ret_fd)
{
	int error = -EEXIST;
	char path[PATH_MAX];

	for (unsigned tries = 0; error == -EEXIST && tries < MAX_TRIES; tries++) {
		r->last++;
		error = make_path(r, r->last, path, sizeof(path));
		if (error < 0)
			return err_set(e, error, "output_path %.300s is too long", r->path);
		error = file_helper_create(path, r->user, e, ret_fd);
	}
	if (error < 0)
		return error;
	r->newest = output_file_of(*ret_fd);
	add_kept_file(r);
	return 0;
}

void file_rotation_remove_newest(struct file_rotation *r)
{
	file_rotation_remove_file(r, r->last, &r->newest);
}

/* ---- the file of a sequence ---- */

uint32_t file_rotation_get_sequence_file(const struct file_rotation *r, uint32_t sequence)
{
	return sequence < r->n_files ? r->files[sequence] : 0;
}

void file_rotation_set_sequence_file(struct file_rotation *r, uint32_t sequence, uint32_t number)
{
	size_t before = r->n_files;

	if (sequence >= before) {
		if (array_reserve(&r->files, &r->n_files, (size_t)sequence + 1, sizeof(*r->files)) <
		    0)
			return;
		memset(r->files + before, 0, (r->n_files - before) * sizeof(*r->files));
	}
	r->files[sequence] = number;
}
