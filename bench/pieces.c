/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: pieces MEGABYTES PROC_ROOT SCANS
 *
 * The way of a packet from a writer into a file, in one process and without sockets, for
 * bench/cost.sh, which counts the instructions of each piece_...():
 *
 *	piece_write    packets of 100 bytes, in 12 fields -> chunks of the shared memory: encoder, writer, arbiter
 *	piece_send     what the arbiter has kept until the end of a batch
 *	piece_commit   called by both: a CommitData request -> trace buffer, with the copy of each chunk
 *	piece_read     trace buffer -> packets, checked, with the service's fields
 *	piece_file     called by it: a packet -> the memory that is written
 *	piece_proc     a walk over the tasks of PROC_ROOT, SCANS times
 *
 * Prints the packets, and the bytes that were written into the file.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/system/shm.h"
#include "client/transport/arbiter.h"
#include "client/transport/writer.h"
#include "gen/fields.h"
#include "procfs/process/process_scan.h"
#include "service/buffer/trace_buffer.h"
#include "service/filter/packet_validate.h"
#include "service/output/out_file.h"
#include "wire/pb_dec.h"
#include "wire/smb.h"

#define PAGE_SIZE (32u << 10) /* as sonda-probes has them */
#define PAGES 64u
#define RING (4u << 20)
#define BATCH (256u << 10) /* committed before it is read */
#define FIELDS 10

#define PIECE __attribute__((noinline, noclone))

struct line {
	struct smb smb;
	struct arbiter *arbiter;
	struct writer *writer;
	struct trace_buffer *buffer;
	struct write_thread *file_writer;
	struct file_part part;
};

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "pieces: %s\n", what);
	exit(1);
}

/* ---- the producer ---- */

PIECE static size_t piece_write(struct line *l, uint64_t number)
{
	uint64_t before = writer_bytes(l->writer);
	struct pb_enc *e = writer_begin(l->writer);

	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, 1000000000000 + number);
	pb_enc_open(e, PB_TRACE_PACKET_FTRACE_EVENTS);
	for (unsigned i = 1; i <= FIELDS; i++)
		pb_enc_u64(e, i, number << 2 * i);
	pb_enc_str(e, FIELDS + 1, "a string of thirty characters.");
	pb_enc_close(e);
	writer_end(l->writer);
	return (size_t)(writer_bytes(l->writer) - before);
}

/* What has not left on its own. */
PIECE static void piece_send(struct line *l)
{
	arbiter_commit(l->arbiter);
}

/* ---- the service ---- */

static void move_chunk(struct line *l, uint32_t page, uint32_t index)
{
	const struct trace_buffer_writer writer = {
		.producer_id = 1, .writer_id = 1, .uid = 1000, .pid = 4711};
	struct smb_chunk_header header;
	struct smb_chunk chunk;

	must(smb_acquire_complete(&l->smb, page, index, &chunk), "no such chunk");
	header = smb_header_load(chunk.header);
	trace_buffer_commit(l->buffer, &writer, &header, chunk.payload, chunk.payload_size, true);
	smb_release_free(&l->smb, &chunk);
}

PIECE static int piece_commit(void *ctx, const void *request, size_t len)
{
	struct pb_dec d, moves;
	struct pb_field f, g;

	pb_dec_init(&d, request, len);
	while (pb_dec_next(&d, &f)) {
		uint32_t page = 0, index = 0;

		must(f.id == PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE,
		     "patches in a packet of one chunk");
		pb_dec_init(&moves, f.data, f.len);
		while (pb_dec_next(&moves, &g)) {
			if (g.id == PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_PAGE)
				page = (uint32_t)g.u64;
			else if (g.id == PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_CHUNK)
				index = (uint32_t)g.u64;
		}
		move_chunk(ctx, page, index);
	}
	return 0;
}

static void schedule(void *ctx, bool urgent)
{
	struct line *l = ctx;

	if (urgent)
		arbiter_commit(l->arbiter);
}

static int drain(void *ctx, int timeout_ms)
{
	(void)ctx, (void)timeout_ms;
	return 0;
}

static void ignore_added(void *ctx, uint16_t writer_id, uint16_t target_buffer)
{
	(void)ctx, (void)writer_id, (void)target_buffer;
}

static void ignore_removed(void *ctx, uint16_t writer_id)
{
	(void)ctx, (void)writer_id;
}

PIECE static void piece_file(struct line *l, const struct trace_packet *p, const uint8_t *trailer,
			     size_t len)
{
	struct packet_sink *sink = &l->part.out.sink;

	sink->begin(sink, p->size + len);
	for (size_t i = 0; i < p->n_slices; i++)
		sink->bytes(sink, p->slices[i].iov_base, p->slices[i].iov_len);
	sink->bytes(sink, trailer, len);
}

PIECE static void piece_read(struct line *l)
{
	uint8_t trailer[PACKET_MAX_TRAILER];
	struct trace_packet p;

	trace_buffer_begin_read(l->buffer);
	while (trace_buffer_next_packet(l->buffer, NULL, &p)) {
		must(packet_is_valid(p.slices, p.n_slices), "a packet that is no message");
		piece_file(l, &p, trailer, packet_put_trailer(trailer, &p, 2));
	}
}

/* ---- all of it ---- */

static const struct arbiter_ops ops = {.schedule = schedule,
				       .commit = piece_commit,
				       .drain = drain,
				       .writer_added = ignore_added,
				       .writer_removed = ignore_removed};

static void line_init(struct line *l)
{
	static const Pb__TraceConfig config = PB__TRACE_CONFIG__INIT;
	static const struct priority_boost no_boost = {PRIORITY_BOOST_NONE, 0};
	struct arbiter_options options = {.ops = &ops, .ctx = l};
	void *base;
	int fd;

	must(shm_create(PAGE_SIZE * PAGES, &fd, &base) == 0, "no memory");
	must(smb_init(&l->smb, base, PAGE_SIZE * PAGES, PAGE_SIZE) == 0, "shared memory");
	must(trace_buffer_new(RING, TRACE_BUFFER_RING, &l->buffer) == 0, "trace buffer");
	must(arbiter_new(&options, &l->arbiter) == 0, "arbiter");
	must(arbiter_attach(l->arbiter, fd, PAGE_SIZE) == 0, "arbiter");
	arbiter_patch_in_place(l->arbiter, true);
	l->writer = writer_new(l->arbiter, 1, WRITER_STALL);
	must(l->writer, "writer");
	must(write_thread_new(0, true, no_boost, &l->file_writer) == 0, "thread");
	must(file_part_init(&l->part, &config, 0, open("/dev/null", O_WRONLY | O_CLOEXEC),
			    l->file_writer, 0) == 0,
	     "output");
}

static uint64_t run_line(struct line *l, size_t total)
{
	size_t done = 0, batch = 0;
	struct file_result result;
	uint64_t n;

	for (n = 0; done < total; n++) {
		size_t len = piece_write(l, n);

		done += len;
		batch += len;
		if (batch < BATCH)
			continue;
		batch = 0;
		piece_send(l);
		piece_read(l);
		must(out_file_write(&l->part.out) == OUT_FILE_DONE, "output");
		must(write_thread_wait(l->file_writer, -1) == 0 &&
			     write_thread_next_result(l->file_writer, &result) == 1,
		     "output");
		out_file_handle_result(&l->part.out, &result);
	}
	must(trace_buffer_stats(l->buffer)->chunks_overwritten == 0 &&
		     writer_dropped(l->writer) == 0,
	     "something was lost");
	return n;
}

PIECE static void piece_proc(struct line *l, const char *root)
{
	struct process_packet packet = {.w = l->writer};
	struct process_scan scan = {0};
	struct proc_files files;
	struct process_tree tree = {
		.options = {.thread_names = true}, .files = &files, .packet = &packet};
	struct time_slice turn = {.now = clock_mono_ns, .end = UINT64_MAX};

	must(proc_files_init(&files, root) == 0 && process_scan_begin(&scan, &tree, false) == 0,
	     root);
	while (process_scan_run(&scan, &tree, &turn))
		;
	process_packet_end(&packet);
	process_scan_end(&scan);
	process_tree_deinit(&tree);
	proc_files_deinit(&files);
}

int main(int argc, char **argv)
{
	static struct line l;
	uint64_t packets;
	long scans;

	if (argc != 4) {
		fprintf(stderr, "usage: %s MEGABYTES PROC_ROOT SCANS\n", argv[0]);
		return 2;
	}
	line_init(&l);
	packets = run_line(&l, strtoul(argv[1], NULL, 10) << 20);
	scans = strtol(argv[3], NULL, 10);
	for (long i = 0; i < scans; i++)
		piece_proc(&l, argv[2]);
	printf("%llu %llu\n", (unsigned long long)packets, (unsigned long long)l.part.out.written);
	writer_free(l.writer);
	arbiter_free(l.arbiter);
	trace_buffer_free(l.buffer);
	return 0;
}
