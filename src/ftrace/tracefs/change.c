// SPDX-License-Identifier: Apache-2.0
#include "ftrace/tracefs/change.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/fs.h"
#include "base/core/mem.h"
#include "base/text/str.h"
#include "ftrace/tracefs/knob.h"

int change_init(struct change *c, const char *file, const char *was)
{
	*c = (struct change){.file = strdup(file), .was = strdup(was)};
	if (c->file && c->was)
		return 0;
	change_deinit(c);
	return -ENOMEM;
}

void change_deinit(struct change *c)
{
	free(c->file);
	free(c->was);
	free(c->is);
	*c = (struct change){0};
}

/* A trigger that was added. */
static int take_back(const struct change *c, const char *path)
{
	struct strbuf text = {0};
	int r;

	if (!c->is)
		return 0;
	strbuf_printf(&text, "!%s", c->is);
	r = text.failed ? -ENOMEM : knob_write(path, text.s);
	strbuf_deinit(&text);
	return r == -ENOENT ? 0 : r;
}

int change_undo(const struct change *c, const char *folder)
{
	_cleanup_(freep) char *now = NULL, *text = NULL;
	enum knob_kind kind = knob_kind_of(c->file);
	char path[4096];
	int r = fs_join(path, sizeof(path), folder, c->file);

	if (r || !fs_exists(path))
		return r;
	if (kind == KNOB_COMMAND)
		return take_back(c, path);
	now = knob_read(path);
	text = knob_text(c->file, c->was);
	/* A list of threads that have all ended lets nobody pass, and reads like none at all. */
	if (now && !(kind == KNOB_LIST && text && !*text) && knob_equal(c->file, now, c->was))
		return 0;
	/* Threads that end leave a list by themselves: it never reads for long as it was written. */
	if (now && c->is && kind != KNOB_LIST && !knob_equal(c->file, now, c->is))
		return 0;
	/* What cannot be written is a sum of others ("X"), which go back by themselves. */
	return text ? knob_write(path, text) : 0;
}

bool change_later(int error)
{
	return error == -EBUSY || error == -ENOMEM;
}
