/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The command line of Perfetto's perfetto, for scripts: what sonda does when it is called by that
 * name. Returns the exit code: 0 also if the service refused the session, as with Perfetto; 1 on
 * errors; 2 if there is no such detached session, or if --background-wait waited too long.
 */
int perfetto_main(int argc, char **argv);
