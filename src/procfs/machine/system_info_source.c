/* SPDX-License-Identifier: Apache-2.0 */
#include "base/event_loop/event_free.h"
#include "procfs/data_sources.h"

#include <stdbool.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <event2/event.h>

#include "base/text/span.h"
#include "gen/fields.h"
#include "wire/pb_enc.h"
#include "base/core/clock.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/core/mem.h"
#include "procfs/machine/cpu_info.h"
#include "base/event_loop/time_slice.h"
#include "wire/pb_mem.h"

/*
 * Writes the handlers of interrupts as one InterruptInfo message. A step serves one row of
 * /proc/interrupts; rows without a number are skipped. Format:
 * protos/trace/system_info/interrupt_info.proto.
 */

/*
 * A row of /proc/interrupts (kernel/irq/proc.c, show_interrupts):
 *
 *	 24:    1    0  IO-APIC   5-edge      ACPI:Ged
 *	 13:   88    7  GICv3     27 Level    arch_timer
 *	 48:    3    1  PCI-MSI-edge          nvme0q0, nvme0q1
 *	number  counts  chip      trigger     handlers
 *
 * The trigger is the first word that looks like one, with the name of a flow handler that may
 * follow it ("Level -fasteoi"); the rest is the list of handlers, with blanks. Without a trigger
 * the last word is used.
 */

static bool is_trigger(struct span word)
{
	return span_is(word, "Level") || span_is(word, "Edge") || span_ends(word, "-edge") ||
	       span_ends(word, "-level") || span_ends(word, "-fasteoi");
}

static struct span name_of(struct span row)
{
	struct span word, last = {row.p, 0}, rest;

	while (span_next_word(&row, &word)) {
		last = word;
		if (!is_trigger(word))
			continue;
		rest = row;
		while (span_next_word(&rest, &word) && word.p[0] == '-' && is_trigger(word))
			row = rest;
		return span_trim(row);
	}
	return last;
}

/* Parses the next row. Returns false at the end. */
static bool interrupt_info_step(struct span *text, struct pb_enc *e)
{
	struct span line, number, row;
	uint32_t irq;

	if (!span_next_line(text, &line))
		return false;
	if (!span_split(line, &number, &row) || !span_number(number, &irq))
		return true;
	row = name_of(row);
	pb_enc_open(e, PB_INTERRUPT_INFO_IRQ_MAPPING);
	pb_enc_u64(e, PB_INTERRUPT_INFO_INTERRUPT_MAPPING_IRQ_ID, irq);
	pb_enc_bytes(e, PB_INTERRUPT_INFO_INTERRUPT_MAPPING_NAME, row.p, row.len);
	pb_enc_close(e);
	return true;
}

/*
 * The files of large machines take long to make and to read, so all is done in turns; the start is
 * answered at the end of the last one:
 *
 *	read cpuinfo ---> a processor a step ---> packet ---> read interrupts ---> a row a step ---> packet
 *
 * The messages are made in memory of their own: a packet may not stay open between two turns.
 */

/* Of 8192 processors with 2 kB each, and of 2000 interrupts with 11 bytes a processor. */
#define FILE_MAX (32u << 20)
#define READ_SIZE 16384

enum phase { READ_CPUS, CPUS, READ_INTERRUPTS, INTERRUPTS, DONE };

struct system_info {
	struct ds_handle *h; /* borrowed, as are the roots */
	const char *proc_root;
	const char *sys_root;
	struct writer *writer; /* owned */
	struct event *next_slice; /* owned */
	enum phase phase;
	int fd; /* owned; of the file that is read, or -1 */
	struct strbuf text; /* of it */
	struct cpu_info cpus; /* borrows from text */
	struct span rows; /* likewise: those that were not looked at yet */
	struct pb_mem message;
	bool irq_names;
	bool told; /* what is wrong with that file */
};

/* ---- a file, piece by piece ---- */

static void cannot_read(struct system_info *s, const char *name, int r)
{
	if (!s->told)
		log_warn("linux.system_info: %s/%s: %s", s->proc_root, name, fs_reason(-r));
	s->told = true;
	closep(&s->fd);
	s->fd = -1;
}

static void begin_file(struct system_info *s, const char *name)
{
	char path[512];

	strbuf_clear(&s->text);
	s->told = false;
	if (fs_join(path, sizeof(path), s->proc_root, name) == 0)
		s->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (s->fd < 0)
		cannot_read(s, name, -errno);
}

/* False: the file is over, or what could be read of it. */
static bool read_piece(struct system_info *s, const char *name)
{
	char *to = s->fd >= 0 ? strbuf_reserve(&s->text, READ_SIZE) : NULL;
	ssize_t n;

	if (s->fd < 0)
		return false;
	n = to ? read(s->fd, to, READ_SIZE) : -1;
	if (to && n < 0 && errno == EINTR)
		return true;
	if (n < 0 || s->text.len + (size_t)n > FILE_MAX) {
		cannot_read(s, name, n < 0 ? -errno : -EFBIG);
		return false;
	}
	s->text.len += (size_t)n;
	if (n > 0)
		return true;
	close(s->fd);
	s->fd = -1;
	return false;
}

/* ---- packets ---- */

static void write_message(struct system_info *s, uint32_t field)
{
	struct pb_enc *e;

	if (s->message.failed)
		log_warn("linux.system_info: %s", strerror(ENOMEM));
	if (s->message.failed || pb_mem_len(&s->message) == 0)
		return;
	e = writer_begin(s->writer);
	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, clock_boot_ns());
	pb_enc_bytes(e, field, s->message.buf, pb_mem_len(&s->message));
	writer_end(s->writer);
	pb_mem_reset(&s->message);
}

/* Nothing in it that is known. */
static void found_nothing(struct system_info *s, const char *name)
{
	cannot_read(s, name, s->text.len > 0 ? -EBADMSG : -ENODATA);
}

static void end_cpus(struct system_info *s)
{
	if (s->cpus.found == 0)
		found_nothing(s, "cpuinfo");
	write_message(s, PB_TRACE_PACKET_CPU_INFO);
	if (s->cpus.unreadable)
		log_warn("linux.system_info: %llu CPU files could not be read: %s",
			 (unsigned long long)s->cpus.unreadable, strerror(-s->cpus.error));
	s->phase = s->irq_names ? READ_INTERRUPTS : DONE;
	if (s->irq_names)
		begin_file(s, "interrupts");
}

/* ---- turns ---- */

static void step(struct system_info *s)
{
	switch (s->phase) {
	case READ_CPUS:
		if (read_piece(s, "cpuinfo"))
			return;
		cpu_info_begin(&s->cpus, s->text.s, s->text.len, s->sys_root);
		s->phase = CPUS;
		return;
	case CPUS:
		if (!cpu_info_step(&s->cpus, &s->message.enc))
			end_cpus(s);
		return;
	case READ_INTERRUPTS:
		if (read_piece(s, "interrupts"))
			return;
		s->rows = (struct span){s->text.s, s->text.len};
		s->phase = INTERRUPTS;
		return;
	case INTERRUPTS:
		if (interrupt_info_step(&s->rows, &s->message.enc))
			return;
		if (pb_mem_len(&s->message) == 0)
			found_nothing(s, "interrupts");
		write_message(s, PB_TRACE_PACKET_INTERRUPT_INFO);
		s->phase = DONE;
		return;
	case DONE:
		return;
	}
}

static void run_slice(struct system_info *s)
{
	static const struct timeval at_once;
	struct time_slice slice = time_slice_start(clock_mono_ns);

	do
		step(s);
	while (s->phase != DONE && !time_slice_over(&slice));
	if (s->phase != DONE) {
		evtimer_add(s->next_slice, &at_once);
		return;
	}
	strbuf_deinit(&s->text);
	ds_started(s->h);
}

static void on_slice(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd;
	(void)what;
	run_slice(ctx);
}

/* ---- the data source ---- */

static void system_info_destroy(void *instance)
{
	struct system_info *s = instance;

	if (!s)
		return;
	event_freep(&s->next_slice);
	closep(&s->fd);
	strbuf_deinit(&s->text);
	if (s->message.buf)
		pb_mem_deinit(&s->message);
	writer_free(s->writer);
	free(s);
}

static void destroyp(struct system_info **s)
{
	system_info_destroy(*s);
}

static int system_info_create(struct ds_handle *h, const struct ds_env *env,
			      const Pb__DataSourceConfig *config, void **ret_instance)
{
	const Pb__SystemInfoConfig *c = config->system_info_config;
	_cleanup_(destroyp) struct system_info *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->h = h;
	s->proc_root = env->proc_root;
	s->sys_root = env->sys_root;
	s->irq_names = c && c->irq_names;
	s->fd = -1;
	s->next_slice = evtimer_new(env->loop, on_slice, s);
	s->writer = ds_writer_new(h);
	if (!s->next_slice || !s->writer || pb_mem_init(&s->message) < 0)
		return -ENOMEM;
	*ret_instance = TAKE_PTR(s);
	return 0;
}

static void system_info_start(void *instance)
{
	struct system_info *s = instance;

	begin_file(s, "cpuinfo");
	run_slice(s);
}

static void system_info_flush(void *instance, uint64_t flush_id)
{
	struct system_info *s = instance;

	writer_flush(s->writer);
	ds_flushed(s->h, flush_id);
}

static void system_info_stop(void *instance)
{
	struct system_info *s = instance;

	event_del(s->next_slice);
	writer_flush(s->writer);
	ds_stopped(s->h);
}

const struct data_source system_info_data_source = {
	.name = "linux.system_info",
	.capabilities = 1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_SYS_NICE,
	.create = system_info_create,
	.start = system_info_start,
	.flush = system_info_flush,
	.stop = system_info_stop,
	.destroy = system_info_destroy,
};
