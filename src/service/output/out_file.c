/* SPDX-License-Identifier: Apache-2.0 */
#include "service/output/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"
#include "wire/pb_varint.h"
#include "service/output/compressor.h"
#include "service/ipc/limits.h"
#include "service/output/passed_file.h"

#define BUF_BYTES (512u << 10) /* grows for packets that are larger */
#define MAX_RECORD_HEAD 11 /* a tag of one byte and a varint */

/* ---- packets in ---- */

/* Returns the bytes that a packet of packet_size bytes takes in the file. */
static size_t out_file_record_size(size_t packet_size)
{
	return 1 + pb_varint_len(packet_size) + packet_size;
}

/* Returns the bytes of the file, including pending data. */
static uint64_t out_file_size(const struct out_file *o)
{
	return o->written + (o->used - o->sent);
}

static int out_file_reserve(struct out_file *o, size_t len)
{
	if (!o->buf)
		o->cap = 0;
	return array_reserve(&o->buf, &o->cap, MAX(o->used + len, BUF_BYTES), 1);
}

static void out_file_sink_begin(struct packet_sink *sink, size_t size)
{
	struct out_file *o = container_of(sink, struct out_file, sink);
	uint8_t *p;

	if (o->error)
		return;
	if (o->fd < 0 || out_file_reserve(o, MAX_RECORD_HEAD + size) < 0) {
		o->error = o->fd < 0 ? -EBADF : -ENOMEM;
		return;
	}
	p = o->buf + o->used;
	p = pb_put_varint(p, pb_tag(PB_TRACE_PACKET, PB_WIRE_BYTES));
	p = pb_put_varint(p, size);
	o->used = (size_t)(p - o->buf);
}

static void out_file_sink_bytes(struct packet_sink *sink, const void *data, size_t len)
{
	struct out_file *o = container_of(sink, struct out_file, sink);

	if (o->error || len == 0)
		return;
	memcpy(o->buf + o->used, data, len);
	o->used += len;
}

/* ---- bytes out ---- */

static int file_failed(struct out_file *o, int error)
{
	o->error = error;
	o->used = o->sent = 0;
	free(TAKE_PTR(o->buf));
	return error;
}

/* ---- through a writer ---- */

static int give_buffer(struct out_file *o)
{
	int r = write_thread_write(o->writer, o->id, o->fd, o->buf, o->cap, o->used);

	if (r < 0)
		return r;
	o->written += o->used;
	o->writing++;
	o->used = 0;
	o->buf = TAKE_PTR(o->spare);
	o->cap = o->spare_cap;
	return 0;
}

static int hand_over(struct out_file *o)
{
	if (o->used == 0)
		return OUT_FILE_DONE;
	return o->writing > 0 || give_buffer(o) < 0 ? OUT_FILE_WAIT : OUT_FILE_DONE;
}

void out_file_take_result(struct out_file *o, struct file_result *r)
{
	if (r->error && !o->error)
		o->error = r->error;
	o->marks -= r->kind == FILE_MARKED;
	o->writing -= r->kind == FILE_WRITTEN || r->kind == FILE_COPIED;
	if (r->kind == FILE_COPIED)
		o->written += r->kept;
	if (r->kind != FILE_WRITTEN)
		return;
	o->written -= r->len - r->kept;
	/* A buffer that grew for a large packet is freed. */
	if (!o->spare && r->cap <= BUF_BYTES) {
		o->spare = TAKE_PTR(r->buf);
		o->spare_cap = r->cap;
	}
	free(TAKE_PTR(r->buf));
}

int out_file_write_rest(struct out_file *o)
{
	int r;

	if (o->writer && o->used > 0 && !o->error) {
		r = write_thread_write(o->writer, o->id, o->fd, o->buf, o->cap, o->used);
		if (r < 0)
			return r;
		o->buf = NULL;
		o->used = 0;
	}
	while ((r = out_file_write(o)) == OUT_FILE_MORE)
		;
	return r == OUT_FILE_DONE ? out_file_sync(o) : r;
}

void out_file_take_back(struct out_file *o)
{
	if (o->writer)
		write_thread_take_back(o->writer, o->fd);
	o->written = 0;
}

/* ---- copies ---- */

/* Makes a mark after all data of the file. Returns 0 and its read end, or -errno. */
static int new_mark(struct out_file *o, int *ret)
{
	int p[2], r = o->error;

	if (r == 0 && o->marks >= MAX_FILE_MARKS)
		r = -EBUSY;
	/* The writer then may have two buffers. The next one waits until both are written. */
	if (r == 0 && o->used > 0)
		r = give_buffer(o);
	if (r < 0)
		return r;
	if (pipe2(p, O_CLOEXEC) < 0)
		return -errno;
	r = write_thread_mark(o->writer, o->id, o->fd, p[1]);
	if (r < 0) {
		close(p[0]);
		close(p[1]);
		return r;
	}
	o->marks++;
	*ret = p[0];
	return 0;
}

int out_file_copy(struct out_file *to, struct out_file *from)
{
	int mark = -1, fd = fcntl(from->fd, F_DUPFD_CLOEXEC, 0), r;

	if (fd < 0)
		return -errno;
	r = new_mark(from, &mark);
	if (r == 0)
		r = write_thread_copy(to->writer, to->id, to->fd, fd, mark);
	if (r < 0) {
		closep(&mark);
		write_thread_close(to->writer, fd);
		return r;
	}
	to->writing++;
	return 0;
}

/* ---- without a writer ---- */

int out_file_write(struct out_file *o)
{
	ssize_t n;

	if (o->error)
		return file_failed(o, o->error);
	if (o->writer)
		return hand_over(o);
	if (o->sent < o->used) {
		n = write(o->fd, o->buf + o->sent, MIN(o->used - o->sent, OUT_FILE_PIECE));
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return errno == EINTR ? OUT_FILE_MORE : OUT_FILE_WAIT;
		if (n <= 0)
			return file_failed(o, n < 0 ? -errno : -EIO);
		o->sent += (size_t)n;
		o->written += (size_t)n;
	}
	if (o->sent < o->used)
		return OUT_FILE_MORE;
	o->used = o->sent = 0;
	/* A buffer that grew for a large packet is freed. */
	if (o->cap > BUF_BYTES)
		free(TAKE_PTR(o->buf));
	return OUT_FILE_DONE;
}

int out_file_sync(const struct out_file *o)
{
	if (o->writer)
		return write_thread_sync(o->writer, o->id, o->fd);
	if (fdatasync(o->fd) == 0 || errno == EINVAL || errno == EROFS)
		return 0;
	return -errno;
}

/* ---- life ---- */

/* Takes the descriptor, which must be open for writing. */
static void out_file_init(struct out_file *o, int fd)
{
	struct statx st;

	*o = (struct out_file){
		.fd = fd, .sink = {.begin = out_file_sink_begin, .bytes = out_file_sink_bytes}};
	o->is_pipe = passed_file_stat(fd, &st) == 0 && S_ISFIFO(st.stx_mode);
}

int out_file_set_writer(struct out_file *o, struct write_thread *writer, uint64_t id)
{
	o->writer = writer;
	o->id = id;
	return write_thread_open(writer, o->fd);
}

/* Drops pending data. May be called twice, and on zeroed memory with fd -1. */
static void out_file_deinit(struct out_file *o)
{
	if (o->writer && o->fd >= 0)
		write_thread_close(o->writer, o->fd);
	else
		closep(&o->fd);
	o->fd = -1;
	o->writer = NULL;
	free(TAKE_PTR(o->buf));
	free(TAKE_PTR(o->spare));
	o->used = o->sent = 0;
}

int file_part_init(struct file_part *p, const Pb__TraceConfig *config, int fd, uint32_t number)
{
	*p = (struct file_part){.number = number};
	out_file_init(&p->out, fd);
	return compressor_new(config, &p->compressor);
}

void file_part_deinit(struct file_part *p)
{
	out_file_deinit(&p->out);
	compressor_free(TAKE_PTR(p->compressor));
}

struct packet_sink *file_part_sink(struct file_part *p)
{
	return p->compressor ? compressor_sink(p->compressor, &p->out.sink) : &p->out.sink;
}

void file_part_end_group(struct file_part *p)
{
	if (!p->compressor)
		return;
	(void)file_part_sink(p); /* p may have moved since the last packet */
	compressor_end(p->compressor);
}

static bool surely_has_room(const struct file_part *p, size_t size, uint64_t max)
{
	size_t most = p->compressor ? compressor_bound(p->compressor, size) : size;

	return out_file_size(&p->out) + out_file_record_size(most) <= max;
}

bool file_part_has_room(struct file_part *p, size_t packet_size, uint64_t max)
{
	if (surely_has_room(p, packet_size, max))
		return true;
	/* The collected group may compress to much less, which is known only afterwards. */
	file_part_end_group(p);
	return surely_has_room(p, packet_size, max);
}
