/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/newest_trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/log.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"

#define MAX_FILES 256
#define HEAD_BYTES 65536

struct file {
	struct timespec written;
	char name[NAME_MAX + 1];
};

struct files {
	struct file *list; /* owned; sorted, the newest first */
	size_t n;
};

static bool is_newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* Keeps the newest files of all that are added. */
static void newest_trace_add(struct files *f, const char *name, const struct timespec *written)
{
	size_t at = f->n;

	while (at > 0 && is_newer(written, &f->list[at - 1].written))
		at--;
	if (at == MAX_FILES)
		return;
	f->n = MIN(f->n + 1, MAX_FILES);
	memmove(&f->list[at + 1], &f->list[at], (f->n - 1 - at) * sizeof(*f->list));
	f->list[at].written = *written;
	strncpy(f->list[at].name, name, NAME_MAX);
	f->list[at].name[NAME_MAX] = '\0';
}

static int read_folder(struct files *f)
{
	DIR *d = opendir(".");
	struct dirent *entry;
	struct stat st;

	if (!d)
		return -errno;
	while ((entry = readdir(d)))
		if (fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode) && st.st_size > 0)
			newest_trace_add(f, entry->d_name, &st.st_mtim);
	closedir(d);
	return 0;
}

/* Returns true if the data begins with a packet that has one of these fields, as the first packet
 * of a trace has. The end of the packet may be past len. */
static bool begins_with_packet(const uint8_t *data, size_t len)
{
	struct pb_field f;
	struct pb_dec d;
	uint64_t size;
	const uint8_t *p;

	if (len < 2 || data[0] != (PB_TRACE_PACKET << 3 | 2))
		return false;
	p = pb_get_varint(data + 1, data + len, &size);
	if (!p || size < 2)
		return false;
	pb_dec_init(&d, p, MIN(size, (size_t)(data + len - p)));
	while (pb_dec_next(&d, &f))
		if (f.id == PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID ||
		    f.id == PB_TRACE_PACKET_TRUSTED_UID || f.id == PB_TRACE_PACKET_CLOCK_SNAPSHOT ||
		    f.id == PB_TRACE_PACKET_COMPRESSED_PACKETS)
			return true;
	return false;
}

static bool is_trace(const char *name, uint8_t *head)
{
	_cleanup_(closep) int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, head, HEAD_BYTES);

	return n > 0 && begins_with_packet(head, (size_t)n);
}

static int newest_trace_find(char ret_name[static NAME_MAX + 1])
{
	struct files files = {.list = calloc(MAX_FILES, sizeof(*files.list))};
	uint8_t *head = malloc(HEAD_BYTES);
	int r = files.list && head ? read_folder(&files) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < files.n; i++)
		if (is_trace(files.list[i].name, head)) {
			strcpy(ret_name, files.list[i].name);
			goto out;
		}
	if (r == 0)
		r = -ENOENT;
out:
	free(files.list);
	free(head);
	return r;
}

int newest_trace_choose(const char *verb, char ret_name[static NAME_MAX + 1])
{
	int r = newest_trace_find(ret_name);

	if (r < 0)
		log_error("%s: no trace in this folder%s%s; name a file", verb,
			  r == -ENOENT ? "" : ": ", r == -ENOENT ? "" : strerror(-r));
	else
		log_info("%s: %s is the newest trace here", verb, ret_name);
	return r;
}
