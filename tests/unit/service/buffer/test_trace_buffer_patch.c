/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#include "unit/service/buffer_script.h"

SCRIPT(a_packet_waits_for_its_patch, 64 << 10,
       "put 1.1#0 'first' 1.1#1! 'whole' 'b....e' 1.1#2 'after' 1.2#0 'another writer'\n"
       "read 1.1 'first' 1.1 'whole' 1.2 'another writer' end\n"
       "patch 1.1#1 @14 'efor'\n"
       "read 1.1 'before' 1.1 'after' end\n"
       "count patches_succeeded 1 patches_failed 0")

SCRIPT(several_patches_in_several_requests, 64 << 10,
       "put 1.1#0! '............'\n"
       "patch 1.1#0 @4 'abcd' @12 'ijkl' more\n"
       "read end\n"
       "patch 1.1#0 @8 'efgh'\n"
       "read 1.1 'abcdefghijkl'\n"
       "count patches_succeeded 3 patches_failed 0")

SCRIPT(patches_over_a_packet_of_many_chunks, 64 << 10,
       "put 1.1#0>! 'aaaa' 1.1#1<>! 'bbbb' 1.1#2< 'cccc'\n"
       "read end\n"
       "patch 1.1#0 @4 'AAAA'\n"
       "read end\n"
       "patch 1.1#1 @4 'BBBB'\n"
       "read 1.1 'AAAABBBBcccc' end")

/* The patch is for the packet that goes on; the one that ends in the chunk is whole. */
SCRIPT(the_end_of_a_packet_in_a_chunk_that_needs_patching, 64 << 10,
       "put 1.1#0> 'one ' 1.1#1<>! 'end' '****' 1.1#2< '!'\n"
       "read 1.1 'one end' end\n"
       "patch 1.1#1 @11 'next'\n"
       "read 1.1 'next!' end")

SCRIPT(the_first_and_the_last_place, 64 << 10,
       "put 1.1#0! '........'\n"
       "patch 1.1#0 @8 'last' more\n"
       "patch 1.1#0 @0 %88808000 more\n"
       "count patches_succeeded 2 patches_failed 0\n"
       "patch 1.1#0 @9 'over' more\n"
       "patch 1.1#0 @12 'over' more\n"
       "patch 1.1#0 @4294967295 'over' more\n"
       "patch 1.1#0 @4294967292 'over'\n"
       "count patches_succeeded 2 patches_failed 4\n"
       "read end\n"
       /* a patch that failed does not free it */
       "patch 1.1#0 @4 'good'\n"
       "read 1.1 'goodlast'")

SCRIPT(in_a_chunk_that_is_too_short, 64 << 10,
       "put 1.1#0! raw %026162 /1\n"
       "patch 1.1#0 @0 'xxxx' more\n"
       "patch 1.1#0 @1 'xxxx' more\n"
       "patch 1.1#0 @2 'xxxx' more\n"
       "patch 1.1#0 @3 'xxxx' more\n"
       "patch 1.1#0 @4 'xxxx' more\n"
       "patch 1.1#0 @5 'xxxx' more\n"
       "patch 1.1#0 @6 'xxxx' more\n"
       "patch 1.1#0 @7 'xxxx' more\n"
       "count patches_succeeded 0 patches_failed 8\n"
       "put 1.1#1\n"
       "patch 1.1#1 @0 'xxxx'\n"
       "count patches_succeeded 0 patches_failed 9")

SCRIPT(the_rest_of_a_failed_request_is_given_up, 64 << 10,
       "put 1.1#0! '........'\n"
       "patch 1.1#0 @4 'abcd' @100 'wxyz' @8 'efgh'\n"
       "count patches_succeeded 0 patches_failed 1\n"
       "read end\n"
       "patch 1.1#0\n"
       "read 1.1 'abcd....'\n"
       "count patches_succeeded 0 patches_failed 1")

SCRIPT(chunks_that_are_not_there, 64 << 10,
       "patch 1.1#0 @4 'xxxx'\n"
       "put 1.1#5 'original' 1.1#7 'original'\n"
       "patch 1.1#4 @4 'xxxx'\n"
       "patch 1.1#6 @4 'xxxx'\n"
       "patch 1.1#8 @4 'xxxx'\n"
       "patch 1.1#0x80000005 @4 'xxxx'\n"
       "count patches_succeeded 0 patches_failed 5\n"
       "read 1.1 'original' 1.1 'original' -gap\n"
       "patch 1.1#5 @4 'xxxx'\n"
       "patch 1.1#7 @4 'xxxx'\n"
       "count patches_succeeded 0 patches_failed 7")

SCRIPT(only_ones_own_data, 64 << 10,
       "put 1.1#0 '1.1.' 1.2#0 '1.2.' 2.1#0 '2.1.'\n"
       "patch 2.2#0 @4 'xxxx'\n"
       "patch 0.1#0 @4 'xxxx'\n"
       "patch 1.2#0 @4 'xxxx'\n"
       "count patches_succeeded 1 patches_failed 2\n"
       "read 1.1 '1.1.' 1.2 'xxxx' 2.1 '2.1.'")

/* Offsets count from the start of the chunk, though its records lie apart. */
SCRIPT(in_a_chunk_that_was_scraped, 64 << 10,
       "scrape 1.1#0>! '....' '....'\n"
       "put 1.2#0 'other' 1.1#0+ '....'\n"
       "patch 1.1#0 @4 'one ' more\n"
       "patch 1.1#0 @12 'two ' more\n"
       "patch 1.1#0 @6 'over' more\n"
       /* lies in both records */
       "count patches_succeeded 2 patches_failed 1\n"
       "read 1.1 'one ' 1.2 'other' 1.1 'two ' end\n"
       "patch 1.1#0 @4 'gone' more\n"
       "count patches_succeeded 2 patches_failed 2\n"
       "patch 1.1#0 @20 'four'\n"
       "put 1.1#1< '!'\n"
       "read 1.1 'four!' end")

SCRIPT(a_patch_that_breaks_a_size, 64 << 10,
       "put 1.1#0 'good' 'bad!' 'also lost' 1.1#1 'next'\n"
       "patch 1.1#0 @8 %ffffff0f\n"
       "read 1.1 'good' 1.1 'next' -corrupted end\n"
       "count abi_violations 1 bytes_in_use 0")

SCRIPT(a_patch_that_never_ends_a_size, 64 << 10,
       "put 1.1#0 ''\n"
       "patch 1.1#0 @0 %ffffffff\n"
       "put 1.1#1 'next'\n"
       "read 1.1 'next' -corrupted end")

SCRIPT(a_patch_that_cuts_a_packet_in_pieces, 64 << 10,
       "put 1.1#0 '0123456789'\n"
       "patch 1.1#0 @0 %02010205\n"
       "read 1.1 %0102 1.1 '01234'\n"
       /* "5" is 0x35: more than is left. */
       "next end\n"
       "count abi_violations 1")

/* What was found to be the middle of a packet is no longer that, when it is joined. */
SCRIPT(a_patch_that_breaks_a_packet_in_its_middle, 64 << 10,
       "put 1.1#0> 'start' 1.1#1<> 'middle'\n"
       "read end\n"
       "patch 1.1#1 @0 %ffffffff\n"
       "put 1.1#2< 'end' 1.1#3 'next'\n"
       "read 1.1 'next' -broken_chain -corrupted -orphan end")

/* A record may not lead to the bytes of the one after it. */
SCRIPT(a_patch_cannot_reach_other_records, 64 << 10,
       "put 1.1#0 'x' 2.1#0 'secret of another producer'\n"
       "patch 1.1#0 @1 %80807f7f\n"
       "read 2.1 'secret of another producer' end")
