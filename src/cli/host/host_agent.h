/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/*
 * `sonda record --agent`: the other end of `sonda record --host`. ssh starts it on the machine that
 * is recorded. It talks to the first machine on standard input and output (cli/host/host_stream.h),
 * and runs the recording in a child.
 */

/* The first characters of the line that the agent and the shell before it print. */
#define HOST_MARK "@sonda-"
/* What `--agent=version` prints: the release, and a number that changes with the frames. */
#define HOST_PROTOCOL 1

/* The outputs of a recording that an agent runs. */
struct host_output {
	int trace; /* descriptor of the pipe for the trace */
	int config; /* descriptor of the file of -c; -1: there is no -c */
	const char *name; /* of the trace, for messages */
	bool is_one_of_several; /* the trace will be merged with those of other machines */
	bool has_color; /* "--color auto" means colours */
	bool *discarded; /* set to true if the recording failed in a way that leaves no trace */
};

/* Runs the agent with the value of --agent, which may be NULL. record runs sonda record in the
 * child, and returns its exit code. Returns the exit code of the agent. */
int host_agent_main(const char *value,
		    int (*record)(int argc, char **argv, const struct host_output *output));
