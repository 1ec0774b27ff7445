/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <histedit.h>

/*
 * The history of sonda sql -i: $XDG_STATE_HOME/sonda/sql_history, in ~/.local/state by default.
 *
 * Under sudo(8) the variables may name the home of another user, who could put a link there. So
 * each folder of the path must belong to root or to this user, the last one and the file to this
 * user. Root follows no link. Otherwise there is no history.
 */

/* Reads the history, and creates missing folders with mode 0700. Returns a descriptor of the folder
 * for sql_history_save, which the caller closes; or -errno: there is no such folder. */
int sql_history_load(History *history);
/* Writes the history, with mode 0600 if the file is new. Does nothing if folder < 0. */
void sql_history_save(History *history, int folder);
