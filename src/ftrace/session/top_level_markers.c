/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/session/top_level_markers.h"

#include <limits.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "ftrace/tracefs/override.h"
#include "ftrace/tracefs/setting_file.h"

void top_level_markers_update(const struct ftrace_session *session, struct override **off)
{
	const struct setup *s = &session->setup;
	const struct override_target top = {
		.root = s->root,
		.place = "",
		.state = s->state_root,
		.reads_nothing = true,
	};
	char path[PATH_MAX];
	struct err_text e;
	bool records;

	if (!session->instance.copies_markers ||
	    fs_join(path, sizeof(path), s->root, "tracing_on") < 0)
		return;
	_cleanup_(freep) char *on = setting_read(path);
	records = !on || *on != '0';
	if (records)
		*off = override_free(*off);
	else if (!*off && override_new(&top, off, &e) == 0)
		(void)override_write(*off, "options/copy_trace_marker", "0");
}
