/* SPDX-License-Identifier: Apache-2.0 */
#include "service/output/file_ends.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "service/ipc/limits.h"
#include "wire/pb_dec.h"

#define NO_WRITE (-1)

/* A writer thread of the service stores it, and the child loads it. */
struct file_end {
	volatile dev_t dev;
	volatile ino_t ino; /* 0: the entry is free */
	volatile off_t begin; /* of the write in progress, or NO_WRITE */
};

enum { ENTRIES = MAX_WRITE_THREADS * MAX_FILE_PARTS };

static struct file_end not_shared[ENTRIES], *ends = not_shared;

int file_ends_share(void)
{
	void *map;

	if (ends != not_shared)
		return 0;
	map = mmap(NULL, sizeof(not_shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		   0);
	if (map == MAP_FAILED)
		return -errno;
	ends = map;
	return 0;
}

/* ---- a writer thread ---- */

static struct file_end *entry(unsigned place, unsigned part)
{
	return &ends[place * MAX_FILE_PARTS + part];
}

void file_ends_open(unsigned place, unsigned part, int fd)
{
	struct output_file file = output_file_of(fd);
	struct file_end *f = entry(place, part);

	f->begin = NO_WRITE;
	f->dev = file.dev;
	f->ino = file.ino;
}

void file_ends_begin(unsigned place, unsigned part, off_t at)
{
	entry(place, part)->begin = at < 0 ? NO_WRITE : at;
}

void file_ends_end(unsigned place, unsigned part)
{
	entry(place, part)->begin = NO_WRITE;
}

struct output_file file_ends_close(unsigned place, unsigned part)
{
	struct file_end *f = entry(place, part);
	struct output_file file = {.dev = f->dev, .ino = f->ino};

	f->ino = 0;
	return file;
}

size_t file_ends_whole(const uint8_t *records, size_t len)
{
	const uint8_t *p = records, *end = records + len, *body;
	uint64_t size;

	while (p < end) {
		body = pb_get_varint(p + 1, end, &size);
		if (!body || size > (uint64_t)(end - body))
			break;
		p = body + size;
	}
	return (size_t)(p - records);
}

/* ---- the child ---- */

static struct kept_file {
	int fd; /* owned; 0: the entry is free */
	struct output_file file;
} kept[ENTRIES];

static const struct file_end *file_ends_find(const struct output_file *file)
{
	for (size_t i = 0; i < ENTRIES; i++)
		if (ends[i].ino == file->ino && ends[i].dev == file->dev && file->ino != 0)
			return &ends[i];
	return NULL;
}

void file_ends_keep(int fd)
{
	for (size_t i = 0; i < ENTRIES; i++) {
		if (kept[i].fd > 0)
			continue;
		kept[i].fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		kept[i].file = output_file_of(fd);
		return;
	}
}

void file_ends_forget(const struct output_file *file)
{
	for (size_t i = 0; i < ENTRIES; i++)
		if (kept[i].fd > 0 && kept[i].file.ino == file->ino &&
		    kept[i].file.dev == file->dev)
			close(TAKE_FD(kept[i].fd));
}

void file_ends_cut(void)
{
	for (size_t i = 0; i < ENTRIES; i++) {
		const struct file_end *f = kept[i].fd > 0 ? file_ends_find(&kept[i].file) : NULL;

		if (f && f->begin != NO_WRITE)
			(void)!ftruncate(kept[i].fd, f->begin);
	}
}
