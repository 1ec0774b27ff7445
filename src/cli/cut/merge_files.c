/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cut/merge_files.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/terminal/signals.h"
#include "cli/trace/out_path.h"
#include "cli/trace/tar.h"
#include "cli/trace/trace_file.h"

/* ---- one trace ---- */

static int explain_merge_refusal(const struct merge_files *o, enum merge_refusal why, size_t of,
				 size_t with, struct err_text *e)
{
	const char *file = o->files[of].path, *other = o->files[with].path;

	switch (why) {
	case MERGE_NO_CLOCKS:
		return err_set(e, -EINVAL,
			       "%s has no clock snapshot, so it cannot be aligned with other "
			       "traces; record it without disable_clock_snapshotting",
			       file);
	case MERGE_OTHER_CLOCK:
		return err_set(e, -EINVAL, "the timestamps of %s are not in CLOCK_BOOTTIME", file);
	case MERGE_PROGRAMS:
		return err_set(e, -EINVAL, "%s contains ProtoVM programs, which cannot be merged",
			       file);
	case MERGE_MACHINES:
		return err_set(e, -EINVAL,
			       "%s covers several machines, and %s is from a machine that booted "
			       "earlier; these two cannot be merged",
			       file, other);
	case MERGE_REBOOT:
		return err_set(
			e, -EINVAL,
			"'%s' rebooted between %s and %s; give the two boots different names",
			o->files[of].machine, file, other);
	case MERGE_SEQUENCES:
		return err_set(e, -EINVAL, "the traces contain too many packet sequences in total");
	case MERGE_POSSIBLE:
		break;
	}
	return 0;
}

static void merge_warn_of_bad_inputs(const struct merge_files *o, const struct merge_input *inputs)
{
	char count[STR_COUNT_SIZE];

	for (size_t i = 0; i < o->n; i++) {
		const struct merge_input *in = &inputs[i];
		int64_t set = (in->last.real - in->last.boot) - (in->first.real - in->first.boot);

		if (in->cut_off)
			log_warn("%s is truncated: the last packet is incomplete and was skipped",
				 o->files[i].path);
		if (in->undecodable + in->not_unpacked)
			log_warn("%s: skipped %s: cannot be decoded", o->files[i].path,
				 str_count(in->undecodable + in->not_unpacked, "packet", count));
		if (llabs(set) > 1000000)
			log_warn("%s: the clock of '%s' was stepped by %.3f ms during the "
				 "recording; later timestamps are off by that amount",
				 o->files[i].path, o->files[i].machine, (double)set / 1e6);
	}
}

static int merge_write_packet(void *ctx, const uint8_t *packet, size_t len)
{
	return trace_file_add_packet(ctx, packet, len);
}

static int merge_into_trace(const struct merge_files *o, const struct merge_input *inputs,
			    uint64_t *ret_bytes, struct err_text *e)
{
	struct merge_output out = {.write = merge_write_packet};
	struct trace_file *f;
	int r;

	r = o->force ? 0 : trace_file_check_new(o->out, e);
	if (r == 0)
		r = trace_file_open(o->out, e, &f);
	if (r < 0)
		return r;
	out.ctx = f;
	r = merge_trace_write(inputs, o->n, &out);
	if (r == 0)
		r = trace_file_flush(f);
	if (r < 0)
		err_set(e, r, "cannot write %s: %s", o->out, strerror(-r));
	else
		r = trace_file_save(f, e);
	if (r == 0)
		*ret_bytes = trace_file_bytes(f);
	trace_file_free(f);
	return r;
}

/* ---- an archive ---- */

#define ARCHIVE_NAME_MAX (TAR_NAME_MAX + 1)

static void format_archive_name(const struct merge_files *o, size_t i,
				char ret[static ARCHIVE_NAME_MAX])
{
	const char *slash = strrchr(o->files[i].path, '/');

	snprintf(ret, ARCHIVE_NAME_MAX, "%02zu-%.90s", i, slash ? slash + 1 : o->files[i].path);
}

/* Writes the file that Perfetto reads as the index of an archive. The format is that of Perfetto
 * 58. */
static int write_archive_manifest(const struct merge_files *o, FILE *to)
{
	char name[ARCHIVE_NAME_MAX];
	struct strbuf b = {0};

	strbuf_puts(&b, "{\"perfetto_manifest\":{\"version\":1,\"files\":[");
	for (size_t i = 0; i < o->n; i++) {
		format_archive_name(o, i, name);
		strbuf_puts(&b, i ? ",{\"path\":" : "{\"path\":");
		strbuf_put_json(&b, name);
		strbuf_puts(&b, ",\"machine\":{\"name\":");
		strbuf_put_json(&b, o->files[i].machine);
		strbuf_puts(&b, "}}");
	}
	strbuf_puts(&b, "]}}\n");
	if (!b.failed) {
		tar_put_header(to, "perfetto_manifest.json", b.len);
		fwrite(b.s, 1, b.len, to);
		tar_put_padding(to, b.len);
	}
	strbuf_deinit(&b);
	return b.failed ? -ENOMEM : 0;
}

static int write_archive(const struct merge_files *o, FILE *to, struct err_text *e)
{
	char name[ARCHIVE_NAME_MAX];

	if (write_archive_manifest(o, to) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < o->n; i++) {
		format_archive_name(o, i, name);
		tar_put_header(to, name, o->files[i].bytes.len);
		fwrite(o->files[i].bytes.data, 1, o->files[i].bytes.len, to);
		tar_put_padding(to, o->files[i].bytes.len);
	}
	tar_put_end(to);
	return out_close(to, o->out, e);
}

static int merge_into_archive(const struct merge_files *o, struct err_text *e)
{
	struct out_path out;
	FILE *to;
	int r = out_path_create(&out, o->out, false, o->force, e);

	if (r < 0)
		return r;
	to = out_path_open(&out, NULL);
	r = to ? write_archive(o, to, e)
	       : err_set(e, -errno, "cannot create %s: %s", o->out, strerror(errno));
	if (r == 0)
		r = out_path_finish(&out, e);
	if (out.hidden)
		out_path_deinit(&out);
	return r;
}

/* ---- all of them ---- */

static int merge_read_inputs(struct merge_files *o, struct merge_input *inputs, struct err_text *e)
{
	for (size_t i = 0; i < o->n; i++) {
		struct merge_file *f = &o->files[i];
		int r = trace_input_map(f->path, &f->bytes, e);

		if (r < 0)
			return r;
		inputs[i] = (struct merge_input){.data = f->bytes.data,
						 .len = f->bytes.len,
						 .is_mapped = true,
						 .machine = f->machine};
		r = merge_input_read(&inputs[i]);
		if (r < 0)
			return trace_input_explain_error(f->path, r, e);
	}
	return 0;
}

int merge_files_write(struct merge_files *o, uint64_t *ret_bytes, struct err_text *e)
{
	struct merge_input inputs[MERGE_INPUTS_MAX];
	enum merge_refusal why;
	size_t of = 0, with = 0;
	int r;

	mapped_trace_handle_sigbus();
	signal(SIGXFSZ, SIG_IGN);
	r = merge_read_inputs(o, inputs, e);
	if (r < 0)
		return r;
	merge_warn_of_bad_inputs(o, inputs);
	for (size_t i = 0; i < o->n; i++)
		if (o->files[i].clocks && inputs[i].has_clocks)
			inputs[i].first = *o->files[i].clocks;
	why = merge_trace_plan(inputs, o->n, &of, &with);
	if (why)
		return explain_merge_refusal(o, why, of, with, e);
	return str_ends(o->out, ".tar") ? merge_into_archive(o, e)
					: merge_into_trace(o, inputs, ret_bytes, e);
}

void merge_files_deinit(struct merge_files *o)
{
	for (size_t i = 0; i < o->n; i++) {
		trace_input_unmap(&o->files[i].bytes);
		free(o->files[i].machine);
	}
}
