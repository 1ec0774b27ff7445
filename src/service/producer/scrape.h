/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct producer_port;
struct session;

/*
 * Scraping: reads out of a producer's shared memory what its writers have not committed. Nothing
 * in the memory changes; a chunk that is committed later comes to its buffer a second time.
 */

/* Copies what the producer wrote for buffers of the session. Does nothing unless the producer asked
 * to be scraped. */
void scrape_producer(struct session *s, const struct producer_port *p);
/* The same for every producer. */
void scrape_session(struct session *s);
