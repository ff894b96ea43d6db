"""One step after another: who gets how many tokens. The readable form of what the kernel does fast.

Written from the rules of vLLM's V1 scheduler (v1/core/sched/scheduler.py and async_scheduler.py,
0.32 and 0.33), without multimodal inputs, LoRA, external caches and pipeline parallelism. There are
no phases: each step gives tokens to running requests in order of admission, then admits waiting
ones while there is room. A running request that finds no block pushes out the last one, which
starts again later.
"""

from __future__ import annotations

from bide.simulate.scheduler.config import SchedulerConfig
from bide.simulate.scheduler.reference.cache import Cache
from bide.simulate.scheduler.reference.chunks import StateChunks
from bide.simulate.scheduler.reference.drafts import accepted_drafts
from bide.simulate.scheduler.reference.hits import Hit
from bide.simulate.scheduler.reference.live import Live
from bide.simulate.scheduler.reference.queues import QUEUES, Waiting
from bide.simulate.scheduler.reference.step import Progress, Share, Step


class Scheduler:
    """Waiting and running requests of one replica."""

    def __init__(self, config: SchedulerConfig) -> None:
        self._config = config
        self._state_chunks = StateChunks(config)
        self.cache = Cache(config)
        self.waiting: Waiting = QUEUES[config.policy]()
        self.running: list[Live] = []

    def add(self, request: Live) -> None:
        self.waiting.add(request)

    def schedule(self) -> Step:
        """The next batch. Its tokens count as computed at once, so that the next can be planned before it ran."""
        self.cache.new_step()
        step = Step()
        threshold = self._prompt_threshold()
        alone = self._config.prompts_alone
        budget = self._serve_running(step, threshold, only_prompts=alone)
        if not step.preempted:
            self._admit_waiting(step, budget, threshold)
        if alone and not step.shares:
            self._serve_running(step, threshold, only_prompts=False)
        for request, share in step.shares.items():
            self._count(request, share)
        return step

    def _prompt_threshold(self) -> int:
        """The most tokens that a request gets in a step; 0 for no limit, as for one that is alone."""
        present = len(self.running) + len(self.waiting)
        threshold = self._config.long_prefill_token_threshold if present > 1 else 0
        if threshold and self._config.long_prefill_token_threshold_adaptive:
            threshold = max(threshold, self._config.max_num_batched_tokens // present)
        return threshold

    def _serve_running(self, step: Step, threshold: int, only_prompts: bool) -> int:
        """Tokens for running requests, in order; returns what is left of the budget."""
        budget, place = self._config.token_budget, 0
        while place < len(self.running) and budget > 0:
            request = self.running[place]
            passed_over = only_prompts and not request.in_chunk
            tokens = 0 if passed_over else self._wanted(request, budget, threshold)
            if tokens == 0:
                place += 1
                continue
            while not (fits := self.cache.continue_with(request, tokens)):
                victim, victim_place = self._preempt(step)
                place -= victim_place < place
                budget += step.take_back(victim)
                if victim is request:
                    break
            if fits:
                step.give(request, tokens)
                budget -= tokens
                place += 1
            elif self._config.policy == "fcfs" or self._config.release == "0.32":
                break
        return budget

    def _wanted(self, request: Live, budget: int, threshold: int) -> int:
        """Tokens that a running request can use and may have."""
        if request.placeholders and request.computed + 2 - request.placeholders >= request.limit_tokens:
            return 0  # the step under way brings its last token
        tokens = request.known + request.drafts + request.placeholders - request.computed
        if 0 < threshold < tokens:
            tokens = threshold
        tokens = min(tokens, budget, self._config.max_model_len - request.computed - 1)
        return self._state_chunks.cut(request, request.computed, tokens)

    def _preempt(self, step: Step) -> tuple[Live, int]:
        """Push out the last running request, or the one of lowest priority; it will compute everything again."""
        place = len(self.running) - 1
        if self._config.policy == "priority":
            place = max(range(len(self.running)), key=lambda n: self.running[n].victim_key)
        victim = self.running.pop(place)
        self.cache.release(victim)
        victim.computed = victim.placeholders = victim.drafts = 0
        victim.stale = victim.in_flight
        self.waiting.put_back(victim)
        step.preempted.append(victim)
        return victim, place

    def _admit_waiting(self, step: Step, budget: int, threshold: int) -> None:
        """Waiting requests join the batch, in order, up to the first that does not fit.

        None of them has stale tokens under way: those are delivered before the next step is planned.
        """
        while budget > 0 and self.waiting and len(self.running) < self._config.max_running:
            request = self.waiting.head()
            hit = self.cache.look_up(request)
            request.junction = hit.junction
            start = request.start_after(hit.tokens)
            request.drafts = self._padding(request, start, step)
            if request.drafts >= budget:
                request.drafts = 0
                return  # rather later than without its drafts
            tokens = self._first_tokens(request, start, budget, threshold)
            held = start - hit.tokens + tokens
            if tokens == 0 or not self._may_join(request) or not self._admit(request, held, hit):
                request.drafts = 0
                return
            self.running.append(self.waiting.pop())
            request.computed, request.loaded = start, 0
            step.admit(request, tokens)
            budget -= tokens

    def _may_join(self, request: Live) -> bool:
        """Whether all that runs can end with it, where outputs are reserved: they always can without."""
        if not self._config.reserved_output_tokens:
            return True
        aside = [self._config.set_aside(each.prompt_tokens) for each in (*self.running, request)]
        return sum(aside) <= self._config.num_blocks - 1

    def _admit(self, request: Live, tokens: int, hit: Hit) -> bool:
        return self.cache.admit(request, tokens, hit, beside_others=bool(self.running))

    def _padding(self, request: Live, start: int, step: Step) -> int:
        """Empty drafts for a request that lacks only its last token, to look like the decoding ones it joins."""
        drafts = self._config.speculative_tokens
        joins = not step.has_chunk and (step.serves_running or start > 0)
        fits = start + drafts + 2 <= self._config.max_model_len
        return drafts if request.known - start == 1 and joins and fits else 0

    def _first_tokens(self, request: Live, start: int, budget: int, threshold: int) -> int:
        """Tokens of a request that would be admitted now; 0 where it has to wait."""
        tokens = request.known + request.drafts - start
        if 0 < threshold < tokens:
            tokens = threshold
        if not self._config.enable_chunked_prefill and tokens > budget:
            return 0
        return self._state_chunks.cut(request, start, min(tokens, budget))

    def _count(self, request: Live, share: Share) -> None:
        """The request's share of a step as done; it samples a token where nothing known is left to compute."""
        request.computed += share.tokens
        request.in_flight += share.tokens
        request.in_chunk = request.computed < request.known + request.placeholders
        share.samples = not request.in_chunk
        if share.samples and self._config.async_scheduling:
            request.placeholders += 1 + share.drafts
            request.drafts = self._config.speculative_tokens

    def update(self, step: Step) -> Progress:
        """Deliver the tokens of a step that has run, in batch order; finished requests free their blocks at once."""
        progress = Progress()
        for request, share in step.shares.items():
            if request.finished or request.aborted:
                continue  # it, or its accepted drafts, ended while this step was under way
            overtaken = request.stale > 0
            request.in_flight -= share.tokens
            request.stale = max(0, request.stale - share.tokens)
            if share.samples:
                self._deliver(request, share, overtaken, progress)
        for request in progress.finished:
            self._take_out(request)
        return progress

    def abort(self, request: Live) -> None:
        """The client of a running or waiting request has left; what a step under way brings it is lost."""
        request.aborted = True
        self._take_out(request)
        self.cache.release(request)

    def _take_out(self, request: Live) -> None:
        self.running.remove(request) if request in self.running else self.waiting.remove(request)

    def _deliver(self, request: Live, share: Share, overtaken: bool, progress: Progress) -> None:
        """One token and the accepted drafts. A preempted request keeps them, to compute them again."""
        chance, seed = self._config.draft_acceptance, self._config.seed
        accepted = accepted_drafts(seed, request.index, request.outputs, share.drafts, chance)
        delivered = min(1 + accepted, request.limit_tokens - request.known)
        if not request.outputs:
            progress.first_tokens.append(request)
        request.known += delivered
        if not overtaken:
            self._settle(request, share.drafts - accepted, delivered)
        if request.finished:
            progress.finished.append(request)
            self.cache.release(request)

    def _settle(self, request: Live, refused: int, delivered: int) -> None:
        """Take back what refused drafts had counted; publish blocks whose tokens are now known."""
        request.computed -= refused
        if self._config.async_scheduling:
            request.placeholders -= refused + delivered
            self.cache.publish(request, request.computed - request.placeholders)
        elif not request.finished:
            request.drafts = self._config.speculative_tokens
