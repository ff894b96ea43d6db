"""Fields of the rows in the kernel's arrays. numba reads them as constants."""

from __future__ import annotations

# rules: the config as integers, flags as 0 or 1; then a row for each group and for each kind of group.
(
    MAX_MODEL_LEN,
    MAX_RUNNING,
    BATCHED_TOKENS,
    TOKEN_BUDGET,
    CHUNKED_PREFILL,
    CACHING,
    THRESHOLD,
    ADAPTIVE,
    BY_PRIORITY,
    WATERMARK_BLOCKS,
    RESERVE_WHOLE,
    ASYNC,
    DRAFTS_EACH,
    LOOKAHEAD,
    RETENTION,  # -1: at every block
    ALIGNED,
    OLD_RELEASE,
    SEED,
    ALIGNS_STATES,
    ONLY_FULL,  # every group keeps all blocks
    MAY_CRUISE,  # decoding alone is simple enough: see `cruise`
    TRACKS_BLOCKS,  # COUNTED without prefix caching, BY_RUN for one group of full attention, else BY_BLOCK
    SHARES_OUTPUTS,  # some request lists content beyond its prompt
    RECORDS_STEPS,
    PROMPTS_READ_CACHE,
    GROUPS,
    KINDS,
    AT_GROUPS,
    AT_KINDS,
    KIND_SPAN,
    AT_WINDOWS,
    WINDOWS,
    RESERVED_OUTPUT,  # tokens; 0 where admission does not look at outputs
    USABLE,  # blocks
    PROMPTS_ALONE,
) = range(35)
RULES_HEAD = 35

COUNTED, BY_BLOCK, BY_RUN = range(3)  # TRACKS_BLOCKS

# A group in rules
KIND, BLOCK_TOKENS, REACH, CAP, IDS_PER_BLOCK, HIT_BLOCKS = range(6)
GROUP_FIELDS = 6
FULL, WINDOW, CHUNK, STATE = range(4)  # KIND
NO_CAP = 1 << 60

# A kind in rules: how many groups, then their numbers. Full attention comes first.
MEMBERS, FIRST_MEMBER = range(2)

# costs: seconds, then each window's, then those of the linear layers by tokens
FIXED_S, PER_SEQUENCE_S, PER_KV_TOKEN_S, PER_AREA_S, PREFILL_STEP_S, DRAFT_ACCEPTANCE = range(6)
COSTS_HEAD = 6

# The head of ints
(
    FREE,
    RUNNING,
    FIRST_RUNNING,  # the running slots are a list in order of admission; 0 for none
    LAST_RUNNING,
    ADMISSIONS,
    QUEUED,  # in the queue: preempted requests under FCFS, all that wait under priority
    REQUESTS,
    ARRIVED,
    FRESH,  # under FCFS: the first arrived request that was never admitted
    SPARE_SLOTS,
    STEP,
    UNDER_WAY,  # steps scheduled and not finished
    OLDEST,  # the batch that finishes first
    NEWEST,  # the other one
    HEAD_BLOCKED,  # the whole prompt of the next request does not fit, and nothing was freed since
    PREEMPTED,  # in the step being planned
    RECORDED,
    ENTRIES,
    SAMPLED,
    STEPS_TAKEN,
    BARREN_STEPS,  # in a row, without a token to anybody
    PATIENCE_STEPS,
    SINGLE_STEPS,  # those of them that were planned one by one
    PREEMPTIONS,
    HIT_TOKENS,
    LOOKED_UP_TOKENS,
    CRUISING,  # see `cruise`; the next eight mean nothing otherwise
    TICK,
    DECODING,  # slots that decode
    CONTEXT,  # their computed tokens
    DUE_CLASS,  # the class of those that need a block for their next token
    PROMPTS,  # slots with a prompt to compute
    LEAVING,  # slots that got their last token and are given up after the next step was planned
    PLACES,  # the longest block table
    MOST_RUNNING,  # slots
    AT_CLASSES,  # by class: how many slots, and the first of them
    AT_DUE,  # by tick, round and round: the first slot whose last token comes with it
    DUE_SPAN,
    AT_PROMPTS,
    AT_LEAVING,
    AT_SPARE,
    AT_QUEUE,
    AT_PREEMPTED,
    AT_REQUESTS,
    AT_HITS,  # blocks of a hit by group; scratch
    AT_HIT,  # in blocks: their addresses by group and place; scratch
    AT_OWN,  # in blocks: what a preempted request left, by group and place; scratch
    AT_HEADS,  # in blocks: the oldest block with some shared content, by content and group; 0 for none
    AT_STAMPS,  # in blocks: the step in which a state with that content was last published
    BLANK,  # see `runs`, here and below: free blocks without known content
    PIECES,  # of the hit, in AT_HIT
    AT_STRETCHES,  # in blocks: stands between tail and head of the queue
    AT_RUNS_END,  # in blocks: rows that were never used begin here
    AT_HOLDS_END,
    AT_STRETCHES_END,
    AT_COPIES_END,
    SPARE_RUN,  # in blocks: the first of those that are used no longer
    SPARE_HOLD,
    SPARE_STRETCH,
    SPARE_COPY,
    SET_ASIDE,  # blocks for all that run, to their ends, where outputs are reserved
    GONE,  # under FCFS: arrived requests from FRESH on whose client has left
    TO_ABORT,  # a request, counted from 1, that the next call takes out; 0 for none
) = range(63)
INTS_HEAD = 63

# A slot in ints: a running request; then a part for each group
(
    REQUEST,
    COMPUTED,
    KNOWN,
    PLACEHOLDERS,
    IN_FLIGHT,
    DRAFTS,
    IN_CHUNK,
    JUNCTION,
    PROMPT,
    LIMIT,
    NEXT_RUNNING,
    PREVIOUS_RUNNING,
    ADMISSION,
    DECODES,  # while cruising: 1 where it decodes, COMPUTED being less TICK; 2 where it got its last token
    NEXT_DUE,
    NEXT_IN_CLASS,
    PREVIOUS_IN_CLASS,
) = range(17)
SLOT_HEAD = 17
LENGTH, RETIRED, PUBLISHED, LAST_STATE, EXTENDED, TABLE, RUN, ADOPTED, HOLDS = range(9)
# TABLE: its address in blocks; the last three only where blocks are kept as runs
PART_FIELDS = 9
NOBODY = -1  # REQUEST of an empty slot

# A request in ints
(
    ITS_PROMPT,
    ITS_LIMIT,  # tokens at which it ends
    PRIORITY,
    TIE_RANK,
    CONTENT_START,
    CONTENT_COUNT,
    KNOWN_SO_FAR,
    SLOT,
    STALE,  # tokens that were under way when it was preempted
    OWN_BLOCKS,  # the newest of the blocks that only it can have and may look for
    OWN_RUNS,  # the oldest run that it left
    TIMES_PREEMPTED,
    CACHED,
    FINISH_STEP,
    LOADED,  # tokens of its prompt whose cache was sent to it; 0 once it was admitted
) = range(15)
REQUEST_FIELDS = 15
NOT_YET = -1  # SLOT while it waits, FINISH_STEP until it finished
ABORTED = -2  # FINISH_STEP of a request whose client has left

# A class in ints
CLASS_SIZE, CLASS_FIRST = range(2)
CLASS_FIELDS = 2

# A batch in ints: a head, then an entry for each request
SIZE, ADMITTED, HAS_CHUNK, RECORD, END_AT = range(5)  # END_AT: the address of its end in times
BATCH_HEAD = 5
WHOSE, TOKENS, SAMPLES, DRAFTED, OF_PROMPT, BEFORE = range(6)
ENTRY_FIELDS = 6

# A block in blocks. The first is the null block and stands between tail and head of the free queue.
NEXT, PREVIOUS, USERS, KEY, COPY_NEXT, COPY_PREVIOUS, OWNER, PLACE = range(8)
BLOCK_FIELDS = 8
NOTHING = -1  # KEY of a block without known content
OWN = -2  # KEY of a block whose content only its owner can have
UNLINKED = -1  # COPY_PREVIOUS of such a block while its owner cannot look for it

# A run in blocks
(
    RUN_OWNER,
    RUN_START,
    RUN_PUBLISHED,
    RUN_HELD,  # its owner's slot still adds to it
    RUN_HOLDS,
    RUN_STRETCHES,
    RUN_LISTED,  # its owner may look for it
    RUN_LATER,  # the next of those
) = range(8)
RUN_FIELDS = 8

# A hold in blocks: places of a run that a slot has adopted
HELD_RUN, HOLD_LOW, HOLD_HIGH, HOLD_NEXT, HOLD_NEXT_OF_RUN, HOLD_PREVIOUS_OF_RUN = range(6)
HOLD_FIELDS = 6

# A piece of a hit in blocks
PIECE_RUN, PIECE_LOW, PIECE_HIGH = range(3)
PIECE_FIELDS = 3

# A copy in blocks
COPY_RUN, COPY_LATER = range(2)
COPY_FIELDS = 2

# A stretch in blocks: places of a run that nobody holds
(
    OF_RUN,
    STRETCH_LOW,
    STRETCH_HIGH,
    STRETCH_NEXT,
    STRETCH_PREVIOUS,
    STRETCH_NEXT_OF_RUN,
    STRETCH_PREVIOUS_OF_RUN,
) = range(7)
STRETCH_FIELDS = 7

# The head of times, and a request in times
NOW_S, BUSY_UNTIL_S, NEXT_SAMPLE_S, SAMPLE_EVERY_S, FIRST_END_S, SECOND_END_S = range(6)
TIMES_HEAD = 6
ARRIVAL_S, FIRST_SCHEDULED_S, FIRST_TOKEN_S, FINISH_S = range(4)
TIME_FIELDS = 4

# Log.steps, a row for each recorded step; Log.entries, a row for each request of it, then for each preempted one
ENTRY_START, STEP_SIZE, STEP_ADMITTED, STEP_PREEMPTED, STEP_RUNNING, STEP_WAITING, STEP_FREE = range(7)
STEP_FIELDS = 7
ENTRY_REQUEST, ENTRY_TOKENS, ENTRY_BEFORE = range(3)
LOG_ENTRY_FIELDS = 3

# Log.samples, a row for each sample
(
    SAMPLE_TIME_S,
    SAMPLE_RUNNING,
    SAMPLE_WAITING,
    SAMPLE_FREE_BLOCKS,
    SAMPLE_PREEMPTIONS,
    SAMPLE_HIT_TOKENS,
    SAMPLE_LOOKED_UP_TOKENS,
) = range(7)
SAMPLE_FIELDS = 7

# What `run.advance` returns
DONE, LOG_FULL, PAUSED = range(3)
