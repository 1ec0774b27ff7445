/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/number_read.h"
#include "procfs/data_sources.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/coroutine.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/span.h"
#include "base/text/str.h"
#include "gen/fields.h"
#include "procfs/machine/cpu_info.h"
#include "wire/pb_enc.h"

/* ---- /proc/interrupts, as one InterruptInfo message (interrupt_info.proto) ---- */

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

static bool is_interrupt_trigger(struct span word)
{
	return span_is(word, "Level") || span_is(word, "Edge") || span_ends(word, "-edge") ||
	       span_ends(word, "-level") || span_ends(word, "-fasteoi");
}

/* Returns the name in a row: what follows the trigger, or without a trigger the last word. */
static struct span find_interrupt_name(struct span row)
{
	struct span word, last = {row.p, 0}, rest;

	while (span_next_word(&row, &word)) {
		last = word;
		if (!is_interrupt_trigger(word))
			continue;
		rest = row;
		while (span_next_word(&rest, &word) && word.p[0] == '-' &&
		       is_interrupt_trigger(word))
			row = rest;
		return span_trim(row);
	}
	return last;
}

/* Writes the interrupt of the next row, unless the row has no number. Returns false at the end. */
static bool write_next_interrupt(struct span *text, struct pb_enc *e)
{
	struct span line, number, row;
	uint32_t irq;

	if (!span_next_line(text, &line))
		return false;
	if (!span_split(line, &number, &row) || !span_number(number, &irq))
		return true;
	row = find_interrupt_name(row);
	pb_enc_open(e, PB_INTERRUPT_INFO_IRQ_MAPPING);
	pb_enc_u64(e, PB_INTERRUPT_INFO_INTERRUPT_MAPPING_IRQ_ID, irq);
	pb_enc_bytes(e, PB_INTERRUPT_INFO_INTERRUPT_MAPPING_NAME, row.p, row.len);
	pb_enc_close(e);
	return true;
}

/*
 * linux.system_info reads and writes everything once, at the start. The files of large machines
 * take long to generate and to parse, so a coroutine does the work, and its end confirms the start:
 *
 *	read cpuinfo ---> parse ---> packet ---> read interrupts ---> parse ---> packet
 *
 * Messages are encoded in their own memory, because no packet may stay open while the coroutine
 * yields.
 */

/* Enough for 8192 processors with 2 kB each in cpuinfo, and for 2000 interrupts on 1500 processors,
 * with 11 bytes for each pair. */
#define FILE_MAX (32u << 20)
#define READ_SIZE 16384

struct system_info {
	struct ds_handle *h; /* borrowed */
	struct event_base *loop; /* borrowed, as the roots */
	const char *proc_root;
	const char *sys_root;
	struct writer *writer; /* owned */
	struct coroutine *work; /* NULL: not started, or complete */
	struct strbuf text; /* of the current file */
	struct pb_mem message;
	bool irq_names;
	bool logged; /* an error of the current file */
};

/* ---- in the coroutine; functions return 0, or -ECANCELED to end it ---- */

static void log_file_error(struct system_info *s, const char *name, int error)
{
	if (!s->logged)
		log_warn("linux.system_info: %s/%s: %s", s->proc_root, name, fs_error_text(-error));
	s->logged = true;
}

/* Reads the file into s->text. A read error is logged; s->text then has what was read before the
 * error. */
static int system_info_source_read_file(struct system_info *s, const char *name)
{
	_cleanup_(closep) int fd = -1;
	char path[512];
	int r = 0;

	strbuf_clear(&s->text);
	s->logged = false;
	if (fs_join(path, sizeof(path), s->proc_root, name) == 0)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		log_file_error(s, name, -errno);
	while (fd >= 0 && r == 0) {
		char *to = strbuf_reserve(&s->text, READ_SIZE);
		ssize_t n = to ? read(fd, to, READ_SIZE) : -1;

		if (to && n < 0 && errno == EINTR)
			continue;
		if (n < 0 || s->text.len + (size_t)n > FILE_MAX)
			log_file_error(s, name, n < 0 ? -errno : -EFBIG);
		if (n <= 0 || s->text.len + (size_t)n > FILE_MAX)
			break;
		s->text.len += (size_t)n;
		r = coroutine_yield();
	}
	return r;
}

static void log_nothing_found(struct system_info *s, const char *name)
{
	log_file_error(s, name, s->text.len > 0 ? -EBADMSG : -ENODATA);
}

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

static int write_cpus(struct system_info *s)
{
	char count[STR_COUNT_SIZE];
	struct cpu_info cpus;
	int r = system_info_source_read_file(s, "cpuinfo");

	if (r < 0)
		return r;
	cpu_info_begin(&cpus, s->text.s, s->text.len, s->sys_root);
	while (cpu_info_write_next(&cpus, &s->message.enc))
		if (coroutine_yield() < 0)
			return -ECANCELED;
	if (cpus.found == 0)
		log_nothing_found(s, "cpuinfo");
	write_message(s, PB_TRACE_PACKET_CPU_INFO);
	if (cpus.unreadable)
		log_warn("linux.system_info: cannot read %s: %s",
			 str_count(cpus.unreadable, "CPU file", count), strerror(-cpus.error));
	return 0;
}

static int write_interrupts(struct system_info *s)
{
	struct span rows;
	int r = system_info_source_read_file(s, "interrupts");

	if (r < 0)
		return r;
	rows = (struct span){s->text.s, s->text.len};
	while (write_next_interrupt(&rows, &s->message.enc))
		if (coroutine_yield() < 0)
			return -ECANCELED;
	if (pb_mem_len(&s->message) == 0)
		log_nothing_found(s, "interrupts");
	write_message(s, PB_TRACE_PACKET_INTERRUPT_INFO);
	return 0;
}

static void system_info_source_run(void *ctx)
{
	struct system_info *s = ctx;

	if (write_cpus(s) == 0 && s->irq_names)
		(void)write_interrupts(s);
}

/* ---- in the loop ---- */

static void finish_start(void *ctx)
{
	struct system_info *s = ctx;

	strbuf_deinit(&s->text);
	ds_started(s->h);
}

static void system_info_destroy(void *instance)
{
	struct system_info *s = instance;

	if (!s)
		return;
	coroutine_finish(s->work);
	strbuf_deinit(&s->text);
	if (s->message.buf)
		pb_mem_deinit(&s->message);
	writer_free(s->writer);
	free(s);
}

DEFINE_DESTRUCTOR(struct system_info *, system_info_destroy)

static int system_info_create(struct ds_handle *h, const struct ds_env *env,
			      const Pb__DataSourceConfig *config, void **ret_instance)
{
	const Pb__SystemInfoConfig *c = config->system_info_config;
	_cleanup_(system_info_destroyp) struct system_info *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->h = h;
	s->loop = env->loop;
	s->proc_root = env->proc_root;
	s->sys_root = env->sys_root;
	s->irq_names = c && c->irq_names;
	s->writer = ds_writer_new(h);
	if (!s->writer || pb_mem_init(&s->message) < 0)
		return -ENOMEM;
	*ret_instance = TAKE_PTR(s);
	return 0;
}

static void system_info_start(void *instance)
{
	static const struct coroutine_ops ops = {.run = system_info_source_run,
						 .done = finish_start};
	struct system_info *s = instance;

	coroutine_start(&s->work, s->loop, &ops, s);
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

	coroutine_finish(s->work);
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
