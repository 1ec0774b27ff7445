/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/record_subject.h"

#include <errno.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "cli/record/record_threads.h"
#include "subjects/name_reader.h"
#include "subjects/subject.h"

/* Returns true if a process of the user may start what is awaited: a group, a container of podman,
 * a scope (systemd-run --scope). Services are children of a service manager, pods those of a
 * daemon. */
static bool may_user_start_awaited(const Pb__SubjectConfig *c)
{
	for (size_t i = 0; i < c->n_units; i++)
		if (str_ends(c->units[i], ".scope"))
			return true;
	return c->n_containers || c->n_cgroups;
}

/* Lists are borrowed from the options. spawners: pids of the n processes that may start what is
 * awaited. */
static Pb__SubjectConfig subject_from_options(const struct record_options *o, uint32_t *spawners,
					      size_t n)
{
	Pb__SubjectConfig c = PB__SUBJECT_CONFIG__INIT;

	c.n_units = o->units.n;
	c.units = (char **)o->units.args;
	c.n_containers = o->containers.n;
	c.containers = (char **)o->containers.args;
	c.n_pods = o->pods.n;
	c.pods = (char **)o->pods.args;
	c.n_cgroups = o->cgroups.n;
	c.cgroups = (char **)o->cgroups.args;
	c.n_programs = o->programs.n;
	c.programs = (char **)o->programs.args;
	c.has_wait = c.wait = o->await;
	if (may_user_start_awaited(&c)) {
		c.n_spawner_pids = n;
		c.spawner_pids = spawners;
	}
	return c;
}

int record_subject_set(Pb__TraceConfig *config, const struct record_options *o, uint32_t command)
{
	/* The parent is the shell: what the user starts there, such as an awaited container, is its
	 * child. */
	uint32_t spawners[] = {(uint32_t)getppid(), command};
	Pb__SubjectConfig c = subject_from_options(o, spawners, command ? 2 : 1);

	return record_threads_restrict_to_subject(config, &c);
}

static int check_programs(const Pb__SubjectConfig *c, bool starts_programs, struct err_text *e)
{
	char nearest[SUBJECT_PROGRAM_LEN + 1];

	for (size_t i = 0; i < c->n_programs && !c->wait && !starts_programs; i++) {
		_cleanup_(pid_set_clear) struct pid_set pids = {0};

		if (subject_find_program("/proc", c->programs[i], &pids, nearest))
			continue;
		return err_set(e, -ESRCH, "no process is named '%.64s'%s%s%s", c->programs[i],
			       *nearest ? "; did you mean "
					: "; --await records one that starts later",
			       nearest, *nearest ? "? --await records one that starts later" : "");
	}
	return 0;
}

int record_subject_check_names(const Pb__SubjectConfig *c, bool starts_programs, struct err_text *e)
{
	bool needs_names = c->n_containers || c->n_pods;
	struct subject found;
	int r = check_programs(c, starts_programs, e);

	if (r)
		return r;
	if (needs_names && geteuid() == 0)
		(void)name_reader_start("");
	r = subject_find_groups(c, "/sys", &found, e);
	subject_deinit(&found);
	name_reader_stop();
	if (r == -ESRCH && needs_names && geteuid() != 0)
		return 0;
	return r;
}

int record_subject_check(const struct record_options *o, struct err_text *e)
{
	Pb__SubjectConfig c = subject_from_options(o, NULL, 0);

	/* The command may become the program, or start it. */
	return record_subject_check_names(&c, o->command, e);
}
