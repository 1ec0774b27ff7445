/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/sys/sys_source.h"

#include <errno.h>
#include <stdlib.h>

int sys_source_open(const struct sys_source *source, struct sys_packet *p,
		    const Pb__SysStatsConfig *c, struct sys_state **ret)
{
	struct sys_state *s = calloc(1, source->size);
	int r = 0;

	if (!s)
		return -ENOMEM;
	s->source = source;
	s->errors.what = source->name;
	if (source->file)
		r = sys_file_init(&s->file, source->whole, p->proc_root, "%s", source->file);
	if (r == 0 && source->open)
		r = source->open(s, p, c);
	if (r < 0)
		sys_source_close(s, p);
	else
		*ret = s;
	return r;
}

bool sys_source_step(struct sys_state *s, struct sys_packet *p)
{
	if (s->source->step)
		return s->source->step(s, p);
	sys_file_poll(&s->file, p, &s->errors, s->source->parse, s);
	return false;
}

void sys_source_close(struct sys_state *s, struct sys_packet *p)
{
	if (s->source->close)
		s->source->close(s, p);
	sys_file_deinit(&s->file, p);
	free(s);
}
