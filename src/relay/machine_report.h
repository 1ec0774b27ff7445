/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct event_base;

/* Keeps a connection to the RelayPort of the service, which reports this machine and its clocks
 * (client/producer/relay_client.h). Connects again when it is lost. Logs what the user must
 * know. */
struct machine_report;

/* service: the address of its producer socket, borrowed. Returns 0, or -ENOMEM or another -errno of
 * the loop. */
int machine_report_new(struct event_base *loop, const char *service, struct machine_report **ret);
void machine_report_free(struct machine_report *m); /* No-op for NULL */
