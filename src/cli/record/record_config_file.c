/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/record_config_file.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/system/fs.h"
#include "cli/terminal/programs.h"
#include "cli/trace/trace_input.h"
#include "config/trace_config.h"

/* Returns the first field that requests an action of the consumer that sonda record does not
 * support, or NULL. */
static const char *refused_field(const Pb__TraceConfig *c)
{
	if (c->n_activate_triggers)
		return "activate_triggers";
	if (c->incident_report_config)
		return "incident_report_config";
	if (c->android_report_config)
		return "android_report_config";
	return NULL;
}

static int record_config_file_read_config(const char *path, struct strbuf *text)
{
	if (!strcmp(path, "-"))
		return fs_read_fd(STDIN_FILENO, RECORD_CONFIG_FILE_MAX, text);
	return fs_read_file(path, RECORD_CONFIG_FILE_MAX, text);
}

/* Appends a hint: the sample config of the same name, else the folder of the samples. */
static void suggest_sample(const char *path, struct strbuf *errors)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX], sample[PATH_MAX];

	if (program_find_shared("configs", folder))
		strbuf_puts(errors, "; see configs/ for examples");
	else if (!fs_join(sample, sizeof(sample), folder, slash ? slash + 1 : path) &&
		 fs_exists(sample))
		strbuf_printf(errors, "; did you mean %s?", sample);
	else
		strbuf_printf(errors, "; see %s for examples", folder);
}

static int refuse_trace(const char *path, struct strbuf *errors)
{
	strbuf_clear(errors);
	strbuf_printf(errors, "%s is a trace, not a trace config; to read it: sonda report ", path);
	strbuf_put_word(errors, path);
	strbuf_putc(errors, '\n');
	return -EINVAL;
}

int record_config_file_read(const char *path, bool is_text, struct strbuf *errors,
			    Pb__TraceConfig **ret)
{
	struct strbuf text = {0};
	Pb__TraceConfig *config;
	const char *field;
	int r;

	r = record_config_file_read_config(path, &text);
	if (r == -EFBIG && trace_input_is_trace(path)) {
		strbuf_deinit(&text);
		return refuse_trace(path, errors);
	}
	if (r) {
		strbuf_printf(errors, "cannot read the config %s: %s", path,
			      r == -EFBIG ? "too large for a trace config" : strerror(-r));
		suggest_sample(path, errors);
		strbuf_putc(errors, '\n');
		strbuf_deinit(&text);
		return r;
	}
	r = trace_config_load(path, text.s ? text.s : "", text.len,
			      is_text ? TRACE_CONFIG_TEXT : TRACE_CONFIG_DETECT, errors, &config);
	strbuf_deinit(&text);
	if (r && !is_text && trace_input_is_trace(path))
		return refuse_trace(path, errors);
	if (r)
		return r;
	field = refused_field(config);
	if (field) {
		strbuf_printf(errors, "%s: %s is not supported by sonda record\n", path, field);
		pb__trace_config__free_unpacked(config, NULL);
		return -EINVAL;
	}
	*ret = config;
	return 0;
}
