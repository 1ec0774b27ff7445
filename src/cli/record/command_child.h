/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/core/err.h"
#include "base/text/str.h"

struct event_base;

/*
 * The command of `sonda record -- COMMAND`: a child that is forked, and has a pid that can be
 * traced, before it executes the command.
 *
 *	command_child_fork --> ..._watch --> ..._run --> on_end --> ..._free
 *	   waits                             runs        has ended
 *
 * The child inherits descriptors 0 to 2, the environment, privileges, process group and signal
 * handling as they are at the fork. So the caller forks before it opens or changes anything else.
 */
struct command_child;

/* argv (ends with NULL) is borrowed until the child is freed. Returns 0, or -errno and sets e. */
int command_child_fork(char **argv, struct err_text *e, struct command_child **ret);
pid_t command_child_pid(const struct command_child *c);

/* Lets the child map the files of the command (command_files.h), and waits for that. SIGPIPE must
 * be ignored. */
void command_child_map_files(struct command_child *c);

/* Calls on_end once, from the loop, when the child has ended, whether it has executed the command
 * or not. Returns 0 or -ENOMEM. */
int command_child_watch(struct command_child *c, struct event_base *loop, void (*on_end)(void *ctx),
			void *ctx);
/* Stops watching the child. Must be called before the loop is freed. */
void command_child_unwatch(struct command_child *c);

/* Executes the command, with the address of the tracing service's producer socket in its
 * environment (NULL: not changed). Returns 0, or -errno and sets e: the program does not exist, may
 * not be executed, or the child was killed meanwhile. SIGPIPE must be ignored. */
int command_child_run(struct command_child *c, const char *producer_socket, struct err_text *e);

/* Returns true if the command was executed and has not ended. */
bool command_child_is_running(const struct command_child *c);
/* Sends a signal to the command if it runs. */
void command_child_signal(const struct command_child *c, int number);

/* Returns true if the command was executed. */
bool command_child_was_executed(const struct command_child *c);

/* Returns the exit code as a shell reports it (128 plus the signal if the command was killed), or
 * -1 if the command has not ended. */
int command_child_exit_code(const struct command_child *c);

/* Appends the state of the command: "'./app' exited with code 3", "... was killed by signal 11
 * (Segmentation fault)", "... is still running (pid 123)". */
void command_child_describe(const struct command_child *c, struct strbuf *b);

/* Ends the child if it has not executed the command yet; a running command is left alone. Frees c.
 * No-op for NULL. */
void command_child_free(struct command_child *c);
