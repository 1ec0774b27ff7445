/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/trace_readback.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/number_read.h"
#include "base/text/str.h"
#include "cli/trace/trace_file.h"
#include "client/transport/consumer.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"
#include "wire/pb_varint.h"

static void packet_join_deinit(struct packet_join *j)
{
	free(j->buf);
	*j = (struct packet_join){0};
}

/* Adds the next slice. ends: it is the last one of the packet. Returns 1 with the whole packet,
 * which is borrowed from data or j, 0 if more slices follow, -EFBIG or -ENOMEM. */
static int packet_join_slice(struct packet_join *j, const uint8_t *data, size_t len, bool ends,
			     const uint8_t **ret_packet, size_t *ret_len)
{
	if (ends && !j->len) {
		*ret_packet = data;
		*ret_len = len;
		return 1;
	}
	if (len > PACKET_JOIN_MAX - j->len)
		return -EFBIG;
	if (array_reserve(&j->buf, &j->cap, j->len + len, 1))
		return -ENOMEM;
	if (len)
		memcpy(j->buf + j->len, data, len);
	j->len += len;
	if (!ends)
		return 0;
	*ret_packet = j->buf;
	*ret_len = j->len;
	j->len = 0;
	return 1;
}

static void trace_readback_end(struct packet_read *r, int error)
{
	r->over = true;
	r->ops->on_end(r->ctx, error); /* the callback may free r */
}

static void trace_readback_on_slices(void *ctx, int error, const void *slices, size_t len,
				     bool last)
{
	struct packet_read *r = ctx;
	struct consumer_slice slice;
	const uint8_t *packet;
	size_t packet_len;
	struct pb_dec d;
	int n;

	if (r->over)
		return;
	if (error || last) {
		trace_readback_end(r, !error && packet_join_is_inside(&r->join) ? -EPROTO : error);
		return;
	}
	pb_dec_init(&d, slices, len);
	while ((n = consumer_next_slice(&d, &slice)) > 0) {
		r->ops->on_sign(r->ctx);
		n = packet_join_slice(&r->join, slice.data, slice.len, slice.ends, &packet,
				      &packet_len);
		if (n > 0)
			n = r->ops->on_packet(r->ctx, packet, packet_len);
		if (n < 0)
			break;
	}
	if (n < 0)
		trace_readback_end(r, n);
}

int packet_read_start(struct packet_read *r, struct consumer *consumer,
		      const struct packet_read_ops *ops, void *ctx)
{
	r->ops = ops;
	r->ctx = ctx;
	r->over = false;
	return consumer_read(consumer, trace_readback_on_slices, r);
}

void packet_read_deinit(struct packet_read *r)
{
	packet_join_deinit(&r->join);
}

#define READ_AHEAD (256u << 10) /* small enough that the data stays in the caches */
#define ROTATION_DIGITS 6 /* minimum, of the file number */
#define UUID_AMONG_PACKETS 256
#define MAX_RECORD_HEAD 11 /* a tag of one byte and a varint */

struct reading {
	int fd;
	off_t at; /* file offset of the end of buf */
	uint8_t *buf; /* owned */
	size_t begin, end, cap; /* buf[begin] to buf[end - 1] is not scanned yet */
	bool eof;
};

/* Reads until n bytes are available from r->begin on, or the file ends. Returns 0, -ENOMEM or
 * -errno. */
static int trace_readback_fill(struct reading *r, size_t n)
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

/* Scans one packet. Returns 1, 0 at the end of the file, -EBADMSG for an invalid or incomplete
 * packet, -EFBIG for one above the limit, -ENOMEM or -errno. */
static int scan_packet(struct reading *r, struct trace_scan *scan)
{
	const uint8_t *p, *end;
	int error = trace_readback_fill(r, MAX_RECORD_HEAD);
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
	error = trace_readback_fill(r, head + (size_t)size);
	if (error || r->end - r->begin < head + size)
		return error ? error : -EBADMSG;
	trace_scan_packet(scan, r->buf + r->begin + head, (size_t)size);
	r->begin += head + (size_t)size;
	return 1;
}

int trace_readback_scan(int fd, struct trace_scan *scan, uint64_t *ret_bytes)
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

void trace_readback_rescan(struct trace_file *f, struct trace_scan *scan)
{
	struct trace_scan all = *scan;
	uint64_t bytes;

	if (!trace_file_flush(f) || !trace_file_is_regular(f))
		return;
	*scan = (struct trace_scan){.contents = all.contents};
	trace_readback_scan(trace_file_fd(f), scan, &bytes); /* ends at the packet that is cut */
	scan->started_ns = all.started_ns;
	scan->all_started_ns = all.all_started_ns;
	scan->disabled_ns = all.disabled_ns;
	scan->has_stats = all.has_stats;
	scan->stats = all.stats;
	if (!scan->config.len) {
		strbuf_deinit(&scan->config);
		scan->config = all.config;
		all.config = (struct strbuf){0};
	}
	trace_scan_deinit(&all);
}

void trace_readback_peek(int fd, uint64_t max, struct trace_scan *scan)
{
	struct reading r = {.fd = fd};

	while (scan_packet(&r, scan) > 0 && (uint64_t)r.at < max)
		;
	free(r.buf);
}

/* ---- files of a rotation ---- */

/* Numbers of the files that belong to one output_path. */
struct row {
	const char *path; /* borrowed */
	char prefix[NAME_MAX + 1], suffix[NAME_MAX + 1]; /* before and after the number */
	unsigned *numbers; /* owned */
	size_t n, cap;
};

static int add_file_number(void *ctx, const char *name, unsigned char d_type)
{
	struct row *r = ctx;
	size_t before = strlen(r->prefix), digits;
	const char *end = name + before;
	uint64_t number;

	if (!str_starts(name, r->prefix))
		return 0;
	digits = strspn(name + before, "0123456789");
	if (digits < ROTATION_DIGITS || str_read_u64(&end, 10, &number) || strcmp(end, r->suffix) ||
	    number == 0 || number > UINT_MAX)
		return 0;
	if (array_reserve(&r->numbers, &r->cap, r->n + 1, sizeof(*r->numbers)))
		return -ENOMEM;
	r->numbers[r->n++] = (unsigned)number;
	return 0;
}

static int compare_file_numbers(const void *a, const void *b)
{
	const unsigned *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int list_rotation_files(struct row *r)
{
	char first[PATH_MAX], second[PATH_MAX];
	char *slash, *number = first;
	int error;

	if (fs_make_numbered_path(first, sizeof(first), r->path, 1, ROTATION_DIGITS) ||
	    fs_make_numbered_path(second, sizeof(second), r->path, 2, ROTATION_DIGITS))
		return -ENAMETOOLONG;
	slash = strrchr(first, '/');
	if (!slash)
		return -ENOENT;
	/* The two paths differ only in the last digit of the number. */
	while (*number == second[number - first])
		number++;
	number -= ROTATION_DIGITS - 1;
	snprintf(r->suffix, sizeof(r->suffix), "%s", number + ROTATION_DIGITS);
	snprintf(r->prefix, sizeof(r->prefix), "%.*s", (int)(number - slash - 1), slash + 1);
	*slash = '\0';
	error = fs_each(slash == first ? "/" : first, add_file_number, r);
	if (r->n > 1)
		qsort(r->numbers, r->n, sizeof(*r->numbers), compare_file_numbers);
	return error;
}

static int open_number(const struct row *r, size_t i)
{
	char path[PATH_MAX];

	if (fs_make_numbered_path(path, sizeof(path), r->path, r->numbers[i], ROTATION_DIGITS))
		return -1;
	return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

/* Reads the session's uuid from the first packets of file i. Returns false if they have none. */
static bool read_uuid_of_file(const struct row *row, size_t i, uint64_t *ret)
{
	_cleanup_(closep) int fd = open_number(row, i);
	struct reading r = {.fd = fd};
	struct trace_scan scan = {0};
	bool found;

	for (int packets = 0; fd >= 0 && !scan.has_uuid && packets < UUID_AMONG_PACKETS; packets++)
		if (scan_packet(&r, &scan) <= 0)
			break;
	free(r.buf);
	*ret = scan.uuid_lsb;
	found = scan.has_uuid;
	trace_scan_deinit(&scan);
	return found;
}

/* Returns the index of the file with the latest time of modification. */
static size_t find_last_written(const struct row *row)
{
	size_t last = row->n - 1;
	uint64_t newest = 0;

	for (size_t i = 0; i < row->n; i++) {
		_cleanup_(closep) int fd = open_number(row, i);
		struct stat st;
		uint64_t ns;

		if (fd < 0 || fstat(fd, &st))
			continue;
		ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
		if (ns < newest)
			continue;
		newest = ns;
		last = i;
	}
	return last;
}

/* Keeps only the files of the most recent session. Files of earlier sessions may have any numbers,
 * also between those of the session, because the service uses free numbers. */
static void keep_last_session(struct row *row)
{
	size_t last = find_last_written(row), n = 0;
	uint64_t uuid, other;
	bool has_uuid = read_uuid_of_file(row, last, &uuid);

	for (size_t i = 0; i < row->n; i++)
		if (i == last || (has_uuid && read_uuid_of_file(row, i, &other) && other == uuid))
			row->numbers[n++] = row->numbers[i];
	row->n = n;
}

int trace_readback_scan_files(const Pb__TraceConfig *config, struct trace_scan *scan,
			      uint64_t *ret_bytes, char ret_first[PATH_MAX])
{
	struct row row = {.path = config->output_path};
	uint64_t bytes, sum = 0;
	int error = list_rotation_files(&row);

	if (!error && !row.n)
		error = -ENOENT;
	if (error) {
		free(row.numbers);
		return error;
	}
	keep_last_session(&row);
	error = fs_make_numbered_path(ret_first, PATH_MAX, row.path, row.numbers[0],
				      ROTATION_DIGITS);
	for (size_t i = 0; i < row.n && !error; i++) {
		_cleanup_(closep) int fd = open_number(&row, i);

		error = fd < 0 ? -errno : trace_readback_scan(fd, scan, &bytes);
		sum += error ? 0 : bytes;
	}
	*ret_bytes = sum;
	free(row.numbers);
	return error;
}

void trace_readback_get_output_name(const Pb__TraceConfig *config, const char *first, char *buf,
				    size_t size)
{
	char number_1[PATH_MAX];

	if (!config->rotate || fs_make_numbered_path(number_1, sizeof(number_1),
						     config->output_path, 1, ROTATION_DIGITS))
		snprintf(buf, size, "%s", config->output_path);
	else
		snprintf(buf, size, "%s and the following files", *first ? first : number_1);
}
