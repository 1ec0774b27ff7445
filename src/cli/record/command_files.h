/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Maps the program of a command, which execvp() would find, and the libraries that it is linked
 * with, or the same of the interpreter of a script. Nothing of them is executed. sonda-probes reads
 * the unwind tables of all files that processes map, so these are ready when the command begins.
 * To be called by the process that will execute the command, which removes the mappings. Errors
 * are ignored: files that are not mapped here are read later. */
void command_files_map(const char *command);
