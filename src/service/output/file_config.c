// SPDX-License-Identifier: Apache-2.0
#include "service/output/file_config.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/core/mem.h"
#include "config/limits.h"

static bool has_path(const Pb__TraceConfig *c)
{
	return c->output_path && c->output_path[0];
}

static int check_rotation(const Pb__TraceConfig *c, struct err_text *e)
{
	const Pb__TraceConfig__Rotate *r = c->rotate;

	if (!r)
		return 0;
	if (!c->write_into_file || !has_path(c))
		return err_set(e, -EINVAL,
			       "rotate needs write_into_file and output_path: the "
			       "files need names");
	if (c->max_file_size_bytes)
		return err_set(e, -EINVAL,
			       "rotate with max_file_size_bytes beside it: which of "
			       "them counts? rotate has its own");
	if (!r->max_file_size_bytes && !r->period_ms)
		return err_set(e, -EINVAL, "rotate: max_file_size_bytes, period_ms or both");
	if (r->max_file_size_bytes && r->max_file_size_bytes < MIN_ROTATE_BYTES)
		return err_set(e, -EINVAL, "rotate: max_file_size_bytes below %u",
			       MIN_ROTATE_BYTES);
	if (r->period_ms && r->period_ms < MIN_ROTATE_PERIOD_MS)
		return err_set(e, -EINVAL, "rotate: period_ms below %u", MIN_ROTATE_PERIOD_MS);
	if (r->keep > MAX_ROTATE_KEEP)
		return err_set(e, -EINVAL, "rotate: keep above %u", MAX_ROTATE_KEEP);
	return 0;
}

int file_config_check(const Pb__TraceConfig *c, struct err_text *e)
{
	int r = check_rotation(c, e);

	if (r < 0 || !has_path(c))
		return r;
	if (!c->write_into_file)
		return err_set(e, -EINVAL, "output_path without write_into_file");
	/* The service has a working directory of its own, which is nobody's business. */
	if (c->output_path[0] != '/')
		return err_set(e, -EINVAL, "output_path \"%.200s\" must begin with a slash",
			       c->output_path);
	if (strlen(c->output_path) >= PATH_MAX)
		return err_set(e, -EINVAL, "output_path is longer than %d bytes", PATH_MAX - 1);
	return 0;
}

uint32_t file_config_write_period_ms(const Pb__TraceConfig *c)
{
	if (!c->file_write_period_ms)
		return DEFAULT_FILE_WRITE_PERIOD_MS;
	return MAX(c->file_write_period_ms, MIN_FILE_WRITE_PERIOD_MS);
}

/* AUTO: a file that is written seldom gets what there is when it is written; one that is written
 * often is not worth a flush each time. */
static bool is_seldom(const Pb__TraceConfig *c)
{
	return file_config_write_period_ms(c) > FILE_AUTO_FLUSH_PERIOD_MS;
}

bool file_config_flushes_first(const Pb__TraceConfig *c)
{
	if (!c->write_into_file)
		return false;
	switch (c->write_flush_mode) {
	case PB__TRACE_CONFIG__WRITE_FLUSH_MODE__WRITE_FLUSH_ENABLED:
		return true;
	case PB__TRACE_CONFIG__WRITE_FLUSH_MODE__WRITE_FLUSH_DISABLED:
		return false;
	default:
		return is_seldom(c);
	}
}

uint32_t file_config_flush_period_ms(const Pb__TraceConfig *c)
{
	if (!c->write_into_file ||
	    c->write_flush_mode == PB__TRACE_CONFIG__WRITE_FLUSH_MODE__WRITE_FLUSH_DISABLED)
		return c->flush_period_ms;
	return file_config_flushes_first(c) ? 0 : FILE_AUTO_FLUSH_PERIOD_MS;
}

bool file_config_syncs(const Pb__TraceConfig *c)
{
	return c->fflush_post_write == PB__TRACE_CONFIG__FFLUSH_MODE__FFLUSH_ENABLED;
}

bool file_config_syncs_at_end(const Pb__TraceConfig *c)
{
	return c->fflush_post_write != PB__TRACE_CONFIG__FFLUSH_MODE__FFLUSH_DISABLED;
}
