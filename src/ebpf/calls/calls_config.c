/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/calls/calls_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/calls/call_table.h"
#include "base/core/mem.h"
#include "base/system/syscall_names.h"
#include "ebpf/engine/process_selection.h"

/* CONSUMER_UNKNOWN of client/producer/data_source.h */
#define CALLS_UNKNOWN_USER UINT32_MAX

/* ---- the arguments to read ---- */

static enum call_memory call_memory_from_letter(char letter)
{
	switch (letter) {
	case CALL_PATH:
	case CALL_NAME:
		return CALL_STRING;
	case CALL_PATH_OUT:
		return CALL_TEXT_OUT;
	case CALL_ADDRESS:
		return CALL_SOCKADDR;
	case CALL_ADDRESS_OUT:
		return CALL_SOCKADDR_OUT;
	case CALL_ARGV:
		return CALL_STRINGS;
	case CALL_HOW:
		return CALL_OPEN_HOW;
	case CALL_TIME:
		return CALL_TIMESPEC;
	case CALL_CLONE3:
		return CALL_CLONE_ARGS;
	case CALL_FD_PAIR:
		return CALL_FDS_OUT;
	}
	return CALL_NOTHING;
}

static void set_spec(struct call_spec *spec, const struct call_row *row)
{
	spec->is_wanted = 1;
	for (size_t i = 0; row->args[i]; i++) {
		spec->memory[i] = (uint8_t)call_memory_from_letter(row->args[i]);
		if (spec->memory[i])
			spec->reads |= CALL_READS;
	}
	if (strchr(row->args, CALL_ARGV))
		spec->reads |= CALL_EXECS;
	if (!strncmp(row->name, "open", 4) || !strcmp(row->name, "creat"))
		spec->reads |= CALL_OPENS;
}

static void calls_config_add_row(struct calls_config *c, const struct call_row *row)
{
	int number = syscall_number(row->name, false), compat = syscall_number(row->name, true);

	if (number >= 0 && number < CALLS_NUMBERS)
		set_spec(&c->specs[number], row);
	if (compat >= 0 && compat < CALLS_NUMBERS)
		set_spec(&c->specs[CALLS_COMPAT + compat], row);
}

static void calls_config_add_all(struct calls_config *c)
{
	for (size_t i = 0; i < CALLS_SPECS; i++)
		c->specs[i].is_wanted = 1;
	for (size_t i = 0; i < n_call_rows; i++)
		calls_config_add_row(c, &call_rows[i]);
}

static int calls_config_add_name(struct calls_config *c, const char *name, struct err_text *e)
{
	const struct call_row *row = call_row_find(name, strlen(name));
	char nearest[SYSCALL_NAME_MAX];
	uint32_t number;

	if (row) {
		calls_config_add_row(c, row);
		return 0;
	}
	if (syscall_name_resolve(name, &number, nearest) == 0 && number < CALLS_NUMBERS) {
		c->specs[number].is_wanted = 1;
		return 0;
	}
	if (*nearest)
		return err_set(e, -EINVAL,
			       "syscalls_config.calls: there is no system call '%.80s'; did you "
			       "mean %s?",
			       name, nearest);
	return err_set(e, -EINVAL, "syscalls_config.calls: there is no system call '%.80s'", name);
}

static int calls_config_add_word(struct calls_config *c, const char *name, struct err_text *e)
{
	unsigned class = call_class_find(name, strlen(name));

	if (!strcmp(name, "all")) {
		calls_config_add_all(c);
		return 0;
	}
	if (!class)
		return calls_config_add_name(c, name, e);
	for (size_t i = 0; i < n_call_rows; i++)
		if (call_rows[i].classes & class)
			calls_config_add_row(c, &call_rows[i]);
	return 0;
}

/* ---- the processes to record ---- */

static int calls_config_read_user(const Pb__SyscallsConfig *m, uint32_t consumer,
				  struct calls_config *c, struct err_text *e)
{
	if (consumer == CALLS_UNKNOWN_USER)
		return err_set(e, -EACCES,
			       "the tracing service does not report which user is recording, so "
			       "system calls cannot be limited to that user's processes");
	if (consumer && m->has_uid && m->uid != consumer)
		return err_set(e, -EACCES,
			       "syscalls_config.uid: only root may record the system calls of "
			       "another user");
	c->of_user = consumer || m->has_uid;
	c->settings.uid = consumer ? consumer : m->uid;
	return 0;
}

int calls_config_read(const Pb__SyscallsConfig *m, uint32_t consumer, struct calls_config *c,
		      struct err_text *e)
{
	static const Pb__SyscallsConfig none = PB__SYSCALLS_CONFIG__INIT;
	int r;

	m = m ? m : &none;
	c->settings.string_max = m->max_string_bytes ?: CALLS_STRING_MAX;
	c->settings.string_max = MIN(c->settings.string_max, (uint32_t)CALLS_STRING_MAX);
	r = calls_config_read_user(m, consumer, c, e);
	if (!m->n_calls)
		calls_config_add_all(c);
	for (size_t i = 0; i < m->n_calls && r == 0; i++)
		r = calls_config_add_word(c, m->calls[i], e);
	if (r == 0)
		r = process_selection_copy_programs("syscalls_config.programs", m->programs,
						    m->n_programs, c->settings.programs,
						    PROGRAM_NAMES_MAX, &c->settings.n_programs, e);
	return r ? r
		 : process_selection_copy_pids("syscalls_config.pids", m->pids, m->n_pids,
					       CALLS_PIDS_MAX, &c->pids, &c->n_pids, e);
}

void calls_config_deinit(struct calls_config *c)
{
	free(c->pids);
	c->pids = NULL;
	subject_ids_deinit(&c->subject);
}
