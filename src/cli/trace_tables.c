/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace_tables.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/store/table_defs.h"
#include "base/core/mem.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/verb.h"
#include "cli/trace/trace_input.h"
#include "cli/trace_cache.h"
#include "config/unpack.h"

int trace_tables_parse_memory(const char *text, uint64_t *ret, struct err_text *e)
{
	uint32_t kb;
	int r = str_to_size_kb(text, &kb);

	if (r == -ERANGE)
		return err_set(e, -EINVAL, "--memory %.80s: the size must be smaller than 4 TiB",
			       text);
	if (r || !kb)
		return err_set(
			e, -EINVAL,
			"--memory %.80s is not a size; examples: 512m, 2g; a number alone is in "
			"KiB",
			text);
	*ret = (uint64_t)kb << 10;
	return 0;
}

int trace_tables_disable_cache(struct err_text *e)
{
	return setenv(TRACE_CACHE_VARIABLE, "off", 1) < 0 ? err_set(e, -errno, "out of memory") : 0;
}

static uint64_t half_of_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / 2 : UINT64_C(1) << 30;
}

static int trace_tables_set_load_error(const struct trace_tables *t, int r, struct err_text *e)
{
	char size[32];

	switch (r) {
	case -EBADMSG:
		return trace_input_explain(t->path, e);
	case -EFBIG:
		return err_set(e, r,
			       "%s needs more than %s of memory; allow more with --memory SIZE, "
			       "such as 2g, or record less",
			       t->path, str_bytes(t->store.budget.limit, size));
	default:
		return err_set(e, r, "cannot read %s: %s", t->path, strerror(-r));
	}
}

/* Refuses a device, which has no end, and an empty file, which has no trace. */
static int check_file(const struct trace_tables *t, int fd, struct stat *st, struct err_text *e)
{
	if (fstat(fd, st) < 0)
		return err_set(e, -errno, "cannot read %s: %s", t->path, strerror(errno));
	if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode))
		return err_set(e, -EINVAL, "cannot read %s: it is a device, not a file or a pipe",
			       t->path);
	return S_ISREG(st->st_mode) && !st->st_size ? err_set(e, -EBADMSG, "%s is empty", t->path)
						    : 0;
}

/* Fills the store from the cache or from the trace. Returns what trace_import_file() returns. */
static int fill_store(struct trace_tables *t, int fd, const struct stat *st)
{
	int r;

	if (trace_cache_load(&t->store, fd, st, &t->result))
		return 0;
	r = trace_import_file(&t->store, fd, &t->result);
	if (r == 0)
		trace_cache_save(&t->store, fd, st, &t->result);
	return r;
}

/* Returns 0 or -ENOMEM. A config that is not valid counts as none. */
static int unpack_config(struct trace_tables *t)
{
	ProtobufCMessage *message;
	int r = -EBADMSG;

	if (t->result.config)
		r = unpack_untrusted(&pb__trace_config__descriptor, t->result.config,
				     t->result.config_len, &message);
	if (r == 0)
		t->config = (Pb__TraceConfig *)message;
	return r == -EBADMSG ? 0 : r;
}

static void free_config(struct trace_tables *t)
{
	if (t->config)
		pb__trace_config__free_unpacked(t->config, NULL);
}

int trace_tables_open(const char *path, uint64_t memory, struct trace_tables *ret,
		      struct err_text *e)
{
	bool is_stdin = !strcmp(path, "-");
	_cleanup_(closep) int opened = is_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	int r, fd = is_stdin ? STDIN_FILENO : opened;
	struct stat st;

	*ret = (struct trace_tables){.path = is_stdin ? "standard input" : path};
	if (fd < 0)
		return err_set(e, -errno, "cannot open %s: %s", path, strerror(errno));
	r = check_file(ret, fd, &st, e);
	if (r < 0)
		return r;
	/* Rows are read from the mapped file until the end. */
	mapped_trace_handle_sigbus();
	store_init(&ret->store, memory ? memory : half_of_memory());
	r = fill_store(ret, fd, &st);
	if (r == 0)
		r = unpack_config(ret);
	if (r == 0)
		r = database_open(&ret->store, &ret->database);
	if (r < 0) {
		trace_tables_set_load_error(ret, r, e);
		free_config(ret);
		store_deinit(&ret->store);
		return r;
	}
	ret->db = database_sqlite(ret->database);
	return 0;
}

void trace_tables_close(struct trace_tables *t)
{
	database_close(t->database);
	free_config(t);
	store_deinit(&t->store);
}

void trace_tables_warn(const struct trace_tables *t)
{
	char count[STR_COUNT_SIZE];

	if (t->result.cut_off)
		log_warn("%s is truncated: the last packet is incomplete and was skipped", t->path);
	if (t->result.undecodable)
		log_warn("%s: skipped %s: not valid protobuf", t->path,
			 str_count(t->result.undecodable, "packet", count));
	if (t->result.not_unpacked)
		log_warn("%s: cannot decompress all of %s", t->path,
			 str_count(t->result.not_unpacked, "compressed packet", count));
}
