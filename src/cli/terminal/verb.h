/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The verbs of the command line: one file and one row in main.c each. */

enum exit_code {
	EXIT_GOOD = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_LOSSY = 3, /* only with --strict: it worked, but something is missing */
};

/* argv[0] is the verb. Returns an exit_code. */
int cmd_record(int argc, char **argv);
int cmd_sessions(int argc, char **argv);
int cmd_snapshot(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_stop(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_trigger(int argc, char **argv);
