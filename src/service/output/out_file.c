/* SPDX-License-Identifier: Apache-2.0 */
#include "service/output/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "service/ipc/limits.h"
#include "service/output/compressor.h"
#include "service/output/passed_file.h"
#include "service/output/trace_record.h"

#define BUF_BYTES (512u << 10) /* grows for packets that are larger */

/* ---- packets in ---- */

/* Returns the bytes of the file, including pending data. */
static uint64_t out_file_size(const struct out_file *o)
{
	return o->written + o->used;
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

	if (o->error)
		return;
	if (out_file_reserve(o, TRACE_RECORD_MAX_HEAD + size) < 0) {
		o->error = -ENOMEM;
		return;
	}
	o->used = (size_t)(trace_record_put_head(o->buf + o->used, size) - o->buf);
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

static int set_file_error(struct out_file *o, int error)
{
	o->error = error;
	o->used = 0;
	free(TAKE_PTR(o->buf));
	return error;
}

static int pass_buffer_to_writer(struct out_file *o)
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

int out_file_write(struct out_file *o)
{
	if (o->error)
		return set_file_error(o, o->error);
	if (o->used == 0)
		return OUT_FILE_DONE;
	return o->writing > 0 || pass_buffer_to_writer(o) < 0 ? OUT_FILE_WAIT : OUT_FILE_DONE;
}

void out_file_handle_result(struct out_file *o, struct file_result *r)
{
	if (r->error && !o->error)
		o->error = r->error;
	o->ranges -= r->kind == FILE_RANGE_SENT;
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

int out_file_write_and_sync(struct out_file *o)
{
	int r = o->error;

	if (r == 0 && o->used > 0) {
		r = write_thread_write(o->writer, o->id, o->fd, o->buf, o->cap, o->used);
		if (r < 0)
			return r;
		o->buf = NULL;
		o->used = 0;
	}
	return r < 0 ? r : out_file_sync(o);
}

int out_file_sync(const struct out_file *o)
{
	return write_thread_sync(o->writer, o->id, o->fd);
}

void out_file_truncate(struct out_file *o)
{
	write_thread_truncate(o->writer, o->fd);
	o->written = 0;
}

/* ---- copies ---- */

/* Makes the writer of the file send the range of all its data, pending data included, into a new
 * pipe. Returns 0 and the read end, which the caller then owns, or -errno. */
static int send_all_written_data(struct out_file *o, int *ret)
{
	int p[2], r = o->error;

	if (r == 0 && o->ranges >= MAX_FILE_COPIES)
		r = -EBUSY;
	/* The writer then may have two buffers. The next one waits until both are written. */
	if (r == 0 && o->used > 0)
		r = pass_buffer_to_writer(o);
	if (r < 0)
		return r;
	if (pipe2(p, O_CLOEXEC) < 0)
		return -errno;
	r = write_thread_send_range(o->writer, o->id, o->fd, p[1]);
	if (r < 0) {
		close(p[0]);
		close(p[1]);
		return r;
	}
	o->ranges++;
	*ret = p[0];
	return 0;
}

int out_file_copy(struct out_file *to, struct out_file *from)
{
	int range = -1, fd = fcntl(from->fd, F_DUPFD_CLOEXEC, 0), r;

	if (fd < 0)
		return -errno;
	r = send_all_written_data(from, &range);
	if (r == 0)
		r = write_thread_copy(to->writer, to->id, to->fd, fd, range);
	if (r < 0) {
		closep(&range);
		write_thread_close(to->writer, fd);
		return r;
	}
	to->writing++;
	return 0;
}

/* ---- life ---- */

int file_part_init(struct file_part *p, const Pb__TraceConfig *config, uint32_t number, int fd,
		   struct write_thread *writer, uint64_t id)
{
	struct statx st;
	int r;

	*p = (struct file_part){.number = number};
	p->out = (struct out_file){.fd = fd, .writer = writer, .id = id};
	p->out.sink.begin = out_file_sink_begin;
	p->out.sink.bytes = out_file_sink_bytes;
	p->out.is_pipe = passed_file_stat(fd, &st) == 0 && S_ISFIFO(st.stx_mode);
	r = compressor_new(config, &p->compressor);
	return r < 0 ? r : write_thread_add_file(writer, fd);
}

void file_part_deinit(struct file_part *p)
{
	struct out_file *o = &p->out;

	if (o->fd >= 0)
		write_thread_close(o->writer, TAKE_FD(o->fd));
	free(TAKE_PTR(o->buf));
	free(TAKE_PTR(o->spare));
	o->used = 0;
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
	compressor_end_group(p->compressor);
}

static bool part_has_room_uncompressed(const struct file_part *p, size_t size, uint64_t max)
{
	size_t most = p->compressor ? compressor_bound(p->compressor, size) : size;

	return out_file_size(&p->out) + trace_record_size(most) <= max;
}

bool file_part_make_room(struct file_part *p, size_t packet_size, uint64_t max)
{
	if (part_has_room_uncompressed(p, packet_size, max))
		return true;
	/* The size of a compressed group is known only after the group ends. */
	file_part_end_group(p);
	return part_has_room_uncompressed(p, packet_size, max);
}
