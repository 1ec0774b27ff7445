// SPDX-License-Identifier: Apache-2.0
#include "cli/written_trace.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "cli/packet_join.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"
#include "wire/pb_varint.h"

#define READ_AHEAD (256u << 10) /* what is looked at next is still in the caches */
#define MAX_RECORD_HEAD 11 /* a tag of one byte and a varint */

struct reading {
	int fd;
	off_t at; /* of the file, behind what is in buf */
	uint8_t *buf; /* owned */
	size_t begin, end, cap; /* what is not looked at yet */
	bool eof;
};

/* Makes n bytes be there from begin on, or all that are left. */
static int fill(struct reading *r, size_t n)
{
	ssize_t got;

	if (r->end - r->begin >= n || r->eof)
		return 0;
	if (r->begin > 0)
		memmove(r->buf, r->buf + r->begin, r->end - r->begin);
	r->end -= r->begin;
	r->begin = 0;
	if (array_reserve(&r->buf, &r->cap, n + READ_AHEAD, 1))
		return -ENOMEM;
	while (r->end < n) {
		got = pread(r->fd, r->buf + r->end, r->cap - r->end, r->at);
		if (got < 0)
			return -errno;
		if (got == 0) {
			r->eof = true;
			break;
		}
		r->end += (size_t)got;
		r->at += got;
	}
	return 0;
}

/* 1: there was one; 0: there is none more. */
static int scan_packet(struct reading *r, struct trace_scan *scan)
{
	const uint8_t *p, *end;
	int error = fill(r, MAX_RECORD_HEAD);
	uint64_t size;
	size_t head;

	if (error || r->begin == r->end)
		return error;
	p = r->buf + r->begin;
	end = r->buf + r->end;
	if (*p != pb_tag(PB_TRACE_PACKET, PB_WIRE_BYTES))
		return -EBADMSG;
	p = pb_get_varint(p + 1, end, &size);
	if (!p)
		return -EBADMSG;
	if (size > PACKET_JOIN_MAX)
		return -EFBIG;
	head = (size_t)(p - r->buf) - r->begin;
	error = fill(r, head + (size_t)size);
	if (error || r->end - r->begin < head + size)
		return error ? error : -EBADMSG;
	trace_scan_packet(scan, r->buf + r->begin + head, (size_t)size);
	r->begin += head + (size_t)size;
	return 1;
}

int written_trace_scan(int fd, struct trace_scan *scan, uint64_t *ret_bytes)
{
	struct reading r = {.fd = fd};
	struct stat st;
	int error;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ESPIPE;
	do
		error = scan_packet(&r, scan);
	while (error > 0);
	free(r.buf);
	*ret_bytes = (uint64_t)r.at - (r.end - r.begin);
	return error;
}

void written_trace_name(const Pb__TraceConfig *config, char *buf, size_t size)
{
	char first[PATH_MAX];

	if (!config->rotate || fs_numbered(first, sizeof(first), config->output_path, 1, 6))
		snprintf(buf, size, "%s", config->output_path);
	else
		snprintf(buf, size, "files from %s on", first);
}
