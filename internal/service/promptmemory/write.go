package promptmemory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/settings"
	"cairn/internal/service/memorywrite"
)

// SaveArgs add an entry.
type SaveArgs struct {
	Content string `json:"content" jsonschema:"one fact in one sentence, as a statement and not as an order"`
	Store   string `json:"store,omitempty" jsonschema:"profile for who the user is, core for what is true"`
}

// ReplaceArgs change what an entry says.
type ReplaceArgs struct {
	Store   string `json:"store" jsonschema:"profile or core"`
	Match   string `json:"match" jsonschema:"id of the entry, or a part of its text that no other entry has"`
	Content string `json:"content" jsonschema:"all of what the entry says from now on"`
}

// RemoveArgs take an entry out.
type RemoveArgs struct {
	Store string `json:"store" jsonschema:"profile or core"`
	Match string `json:"match" jsonschema:"id of the entry, or a part of its text that no other entry has"`
}

// BatchArgs do several changes at once, all of them or none.
type BatchArgs struct {
	Store      string             `json:"store" jsonschema:"profile or core"`
	Operations []memory.Operation `json:"operations" jsonschema:"what is to be done, in order; only the final state must fit"`
}

// WriteResult is the short answer to a write: what a model sees of the rest would
// tempt it to edit on.
type WriteResult struct {
	Action   string      `json:"action" jsonschema:"added, replaced, removed, applied, unchanged, or staged until a person approves"`
	Store    memory.Type `json:"store"`
	IDs      []string    `json:"ids,omitempty" jsonschema:"entries that the operations were about"`
	Usage    int         `json:"usage_percent" jsonschema:"how full the store is now"`
	Pending  int64       `json:"pending_id,omitempty"`
	Warnings []string    `json:"warnings,omitempty"`
}

// Save adds an entry. One that is there already is Unchanged.
func (k *Service) Save(ctx context.Context, a agent.Actor, in SaveArgs) (WriteResult, error) {
	return k.write(ctx, a, "memory_save", in, memorywrite.Added, in.Store,
		[]memory.Operation{{Op: memory.Add, Content: in.Content}})
}

// Replace changes what the selected entry says. When another entry says it
// already, the two become one.
func (k *Service) Replace(ctx context.Context, a agent.Actor, in ReplaceArgs) (WriteResult, error) {
	return k.write(ctx, a, "memory_replace", in, memorywrite.Replaced, in.Store,
		[]memory.Operation{{Op: memory.Replace, Match: in.Match, Content: in.Content}})
}

// Remove takes the selected entry out; its history stays.
func (k *Service) Remove(ctx context.Context, a agent.Actor, in RemoveArgs) (WriteResult, error) {
	return k.write(ctx, a, "memory_remove", in, memorywrite.Removed, in.Store,
		[]memory.Operation{{Op: memory.Remove, Match: in.Match}})
}

// Batch does several operations on one store, all of them or none. The budget is
// about the final state.
func (k *Service) Batch(ctx context.Context, a agent.Actor, in BatchArgs) (WriteResult, error) {
	return k.write(ctx, a, "memory_batch", in, memorywrite.Applied, in.Store, in.Operations)
}

// request is a write that has been looked at.
type request struct {
	store      memory.Type
	operations []memory.Operation
	done       string // the action of a write that changed something
	risk       []string
}

func (k *Service) write(ctx context.Context, a agent.Actor, name string, args any, done, store string,
	operations []memory.Operation) (WriteResult, error) {
	r, refusal := examine(a, done, store, operations)
	w := k.writer(a)
	if refusal == nil { // no secret goes to an embedder's endpoint
		w.Vectors = k.embed(ctx, contents(r.operations))
	}
	return doOnce(ctx, k, a, name, args, func(ctx context.Context, tx Tx) (WriteResult, error) {
		if refusal != nil { // a retry of what was done before has its result, whatever the rules are now
			return WriteResult{}, refusal
		}
		return k.apply(ctx, tx, a, r, w)
	})
}

// examine checks everything that needs no row.
func examine(a agent.Actor, done, store string, operations []memory.Operation) (r request, err error) {
	r = request{operations: operations, done: done}
	if r.store, err = storeOf(store); err != nil {
		return r, err
	}
	if n := len(operations); n == 0 || n > memory.BatchOperations {
		return r, fault.New(fault.InvalidArgument,
			fmt.Sprintf("a batch has 1 to %d operations, this one has %d", memory.BatchOperations, n), "")
	}
	if a.Origin.Autonomous() && a.Run == 0 {
		return r, fault.Newf(fault.InvalidArgument, "%s writes outside of a run", a.Origin)
	}
	for i, o := range operations {
		if o.Op == memory.Remove || o.Content == "" { // an empty content is the plan's to refuse
			continue
		}
		what := "the content"
		if len(operations) > 1 {
			what = fmt.Sprintf("operation %d", i+1)
		}
		content, err := memory.Normalise(o.Content)
		if err != nil {
			return r, err
		}
		risk, err := memorywrite.Inspect(what, content)
		if err != nil {
			return r, err
		}
		r.risk = append(r.risk, risk...)
	}
	return r, nil
}

// contents are what operations would store, each once.
func contents(operations []memory.Operation) (out []string) {
	for _, o := range operations {
		if content, err := memory.Normalise(o.Content); err == nil && o.Op != memory.Remove &&
			!slices.Contains(out, content) {
			out = append(out, content)
		}
	}
	return out
}

// apply plans on rows that stand still, and writes or stages the plan.
func (k *Service) apply(
	ctx context.Context,
	tx Tx,
	a agent.Actor,
	r request,
	w memorywrite.Writer,
) (WriteResult, error) {
	chosen, err := tx.Workspace().Settings(ctx)
	if err != nil {
		return WriteResult{}, err
	}
	plan, err := k.plan(ctx, tx, r, budget(chosen, r.store))
	if err != nil {
		return WriteResult{}, err
	}
	if err := quota(ctx, tx, a, plan); err != nil {
		return WriteResult{}, err
	}
	out := WriteResult{Action: r.done, Store: r.store, Usage: memory.Usage(plan.After, budget(chosen, r.store)),
		Warnings: r.risk}
	if len(plan.Steps) == 0 {
		out.Action, out.Warnings = memorywrite.Unchanged, nil
	} else if reason := waits(a, chosen, r.risk); reason != "" {
		out.Action, out.Usage = memorywrite.Staged, memory.Usage(plan.Before, budget(chosen, r.store))
		out.Pending, err = stage(ctx, tx, r, plan, w, reason)
	} else {
		if err = tx.Memories().WriteMemories(ctx, plan.Steps, w); err == nil && a.Origin == agent.OriginUser {
			err = withdraw(ctx, tx, plan)
		}
	}
	if err != nil {
		return WriteResult{}, err
	}
	for _, e := range plan.Meant {
		if e.ID != "" && !slices.Contains(out.IDs, e.ID) {
			out.IDs = append(out.IDs, e.ID)
		}
	}
	if out.Action != memorywrite.Unchanged && out.Usage >= memory.WarnPercent {
		out.Warnings = append(out.Warnings, fmt.Sprintf(
			"%s is %d %% full: merge or remove entries that say the same or are out of date", r.store, out.Usage))
	}
	return out, nil
}

// withdraw takes out of running prompts what a person has taken out of memory.
// What is only added waits for the next session.
func withdraw(ctx context.Context, tx Tx, plan memory.Plan) error {
	if plan.Count(memory.Remove)+plan.Count(memory.Replace) == 0 {
		return nil
	}
	_, err := tx.Workspace().RevokeSessions(ctx)
	return err
}

func (k *Service) plan(ctx context.Context, tx Tx, r request, budget int) (memory.Plan, error) {
	entries, err := tx.Memories().Memories(ctx, []memory.Type{r.store}, false, maxEntries)
	if err != nil {
		return memory.Plan{}, err
	}
	plan, err := memory.MakePlan(r.store, entries, r.operations, budget)
	if err != nil && plan.After > budget {
		return plan, full(err, entries, memory.Usage(plan.Before, budget))
	}
	return plan, shownSafe(err)
}

// shownSafe makes the entries that a refusal shows safe to read.
func shownSafe(err error) error {
	if err == nil {
		return nil
	}
	if hits, ok := fault.From(err).Extra["matches"].([]memory.Hit); ok {
		for i, h := range hits {
			hits[i].Text = memorywrite.Sanitize("memory", h.ID, h.Text)
		}
	}
	return err
}

// maxEntries is more than any budget holds of entries of one character.
const maxEntries = 100_000

// full adds to a refusal what there is to make room in.
func full(err error, entries []memory.Entry, usage int) error {
	f := fault.From(err)
	var lines strings.Builder
	fmt.Fprintf(&lines, "%s (%d %%). Entries now:", f.Message, usage)
	for _, e := range entries {
		fmt.Fprintf(&lines, "\n%s: %s", e.ID,
			strings.ReplaceAll(memorywrite.Sanitize(string(e.Type), e.ID, e.Content), "\n", " "))
	}
	out := fault.New(f.Code, lines.String(), f.Hint)
	out.Extra = f.Extra
	return out
}

// quota keeps a run that nobody watches from filling the prompt.
func quota(ctx context.Context, tx Tx, a agent.Actor, plan memory.Plan) error {
	adds := plan.Count(memory.Add)
	if !a.Origin.Autonomous() || adds == 0 {
		return nil
	}
	before, err := tx.Memories().AddedBy(ctx, a.Run, memory.PromptTypes)
	if err != nil {
		return err
	}
	if before+adds > memory.RunEntries {
		return fault.New(fault.QuotaExceeded,
			fmt.Sprintf("this run has added %d entries and may add %d in all", before, memory.RunEntries),
			"leave the rest: what matters every day is in already, what matters once belongs in the day's notes")
	}
	return nil
}

// waits tells why a write has to wait for a person, empty when it need not.
func waits(a agent.Actor, chosen settings.Settings, risk []string) string {
	switch byPerson := a.Origin == agent.OriginUser; {
	case byPerson:
		return ""
	case a.Tainted:
		return "taint: untrusted text was in view when it was written"
	case len(risk) > 0 && a.Origin.Autonomous():
		return "risk: the scan has findings and nobody watched"
	case chosen.WriteApproval.Memory.Stages(byPerson, a.Origin.Autonomous()):
		return "approval: the workspace wants to see it first"
	}
	return ""
}
