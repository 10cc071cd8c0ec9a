package memory

import (
	"context"
	"fmt"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/settings"
	"cairn/internal/store"
)

// SaveArgs adds an entry.
type SaveArgs struct {
	Content string `json:"content" jsonschema:"one fact in one sentence, as a statement, not as an instruction"`
	Store   string `json:"store,omitempty" jsonschema:"profile: facts about the user; core: other facts"`
}

// ReplaceArgs replaces the text of an entry.
type ReplaceArgs struct {
	Store   string `json:"store" jsonschema:"profile or core"`
	Match   string `json:"match" jsonschema:"ID of the entry, or a part of its text that is unique"`
	Content string `json:"content" jsonschema:"new text of the entry"`
}

// RemoveArgs removes an entry.
type RemoveArgs struct {
	Store string `json:"store" jsonschema:"profile or core"`
	Match string `json:"match" jsonschema:"ID of the entry, or a part of its text that is unique"`
}

// BatchArgs makes several changes, all or none.
type BatchArgs struct {
	Store      string             `json:"store" jsonschema:"profile or core"`
	Operations []memory.Operation `json:"operations" jsonschema:"operations, in order; only the final state must fit the budget"`
}

// WriteResult is the result of a write. It does not contain the other entries, which would tempt a
// model to edit them.
type WriteResult struct {
	Action   string      `json:"action" jsonschema:"added, replaced, removed, applied, unchanged, or staged (needs approval)"`
	Store    memory.Type `json:"store"`
	IDs      []string    `json:"ids,omitempty" jsonschema:"entries of the operations"`
	Moved    []string    `json:"moved_ids,omitempty" jsonschema:"entries that left the prompt to make room; search still finds them"`
	Usage    int         `json:"usage_percent" jsonschema:"used part of the budget of the store, in percent"`
	Pending  int64       `json:"pending_id,omitempty"`
	Warnings []string    `json:"warnings,omitempty"`
}

// Save adds an entry. If the entry exists, the action is Unchanged.
func (k *PromptService) Save(ctx context.Context, a agent.Actor, in SaveArgs) (WriteResult, error) {
	return k.write(ctx, a, "memory_save", in, Added, in.Store,
		[]memory.Operation{{Op: memory.Add, Content: in.Content}})
}

// Replace replaces the text of the selected entry. If another entry has the same text, the two are
// merged.
func (k *PromptService) Replace(ctx context.Context, a agent.Actor, in ReplaceArgs) (WriteResult, error) {
	return k.write(ctx, a, "memory_replace", in, Replaced, in.Store,
		[]memory.Operation{{Op: memory.Replace, Match: in.Match, Content: in.Content}})
}

// Remove removes the selected entry. Its history stays.
func (k *PromptService) Remove(ctx context.Context, a agent.Actor, in RemoveArgs) (WriteResult, error) {
	return k.write(ctx, a, "memory_remove", in, Removed, in.Store,
		[]memory.Operation{{Op: memory.Remove, Match: in.Match}})
}

// Batch applies several operations to one store, all or none. Only the final state must fit the
// budget.
func (k *PromptService) Batch(ctx context.Context, a agent.Actor, in BatchArgs) (WriteResult, error) {
	return k.write(ctx, a, "memory_batch", in, Applied, in.Store, in.Operations)
}

// request is a validated write.
type request struct {
	store      memory.Type
	operations []memory.Operation
	done       string // action of a write that changed something
	risk       []string
}

func (k *PromptService) write(ctx context.Context, a agent.Actor, name string, args any, done, of string,
	operations []memory.Operation) (WriteResult, error) {
	r, refusal := promptExamine(a, done, of, operations)
	w := k.writer(a)
	if refusal == nil { // never send a secret to an embedder
		w = w.With(k.embed(ctx, a.Workspace, contents(r.operations)))
	}
	return doOnce(ctx, k, a, name, args, func(ctx context.Context, tx store.Tx) (WriteResult, error) {
		if refusal != nil { // a retry returns the stored result, even if the rules have changed
			return WriteResult{}, refusal
		}
		return k.apply(ctx, tx, a, r, w)
	})
}

// promptExamine makes all checks that do not need the database.
func promptExamine(a agent.Actor, done, store string, operations []memory.Operation) (r request, err error) {
	r = request{operations: operations, done: done}
	if r.store, err = storeOf(store); err != nil {
		return r, err
	}
	if n := len(operations); n == 0 || n > memory.BatchOperations {
		return r, fault.New(fault.InvalidArgument,
			fmt.Sprintf("batch has %d operations, want 1 to %d", n, memory.BatchOperations), "")
	}
	if a.Origin.Autonomous() && a.Run == "" {
		return r, fault.Newf(fault.InvalidArgument, "origin %q cannot write outside a run", a.Origin)
	}
	for i, o := range operations {
		if o.Op == memory.Remove || o.Content == "" { // MakePlan rejects empty content
			continue
		}
		what := "the content"
		if len(operations) > 1 {
			what = fmt.Sprintf("operation %d", i+1)
		}
		content, err := memory.Normalize(o.Content)
		if err != nil {
			return r, err
		}
		risk, err := memory.Inspect(what, content)
		if err != nil {
			return r, err
		}
		r.risk = append(r.risk, risk...)
	}
	return r, nil
}

// contents returns the distinct texts that operations would store.
func contents(operations []memory.Operation) (out []string) {
	for _, o := range operations {
		if content, err := memory.Normalize(o.Content); err == nil && o.Op != memory.Remove &&
			!slices.Contains(out, content) {
			out = append(out, content)
		}
	}
	return out
}

// apply plans on locked rows, and writes or stages the plan.
func (k *PromptService) apply(
	ctx context.Context,
	tx store.Tx,
	a agent.Actor,
	r request,
	w memory.Writer,
) (WriteResult, error) {
	chosen, err := tx.Workspaces().Settings(ctx)
	if err != nil {
		return WriteResult{}, err
	}
	plan, err := k.plan(ctx, tx, r, memory.Room{Budget: budget(chosen, r.store), Person: w.Person})
	if err != nil {
		return WriteResult{}, err
	}
	if err := quota(ctx, tx, a, plan); err != nil {
		return WriteResult{}, err
	}
	out := WriteResult{Action: r.done, Store: r.store, Usage: memory.Usage(plan.After, budget(chosen, r.store)),
		Warnings: r.risk}
	if len(plan.Steps) == 0 {
		out.Action, out.Warnings = Unchanged, nil
		err = k.confirm(ctx, tx, plan, w)
	} else if reason := waits(a, chosen, r.risk); reason != "" {
		out.Action, out.Usage = Staged, memory.Usage(plan.Before, budget(chosen, r.store))
		out.Pending, err = stage(ctx, tx, r, plan, w, reason)
	} else {
		if out.Moved, err = k.execute(ctx, tx, plan, w); err == nil && a.Origin == agent.OriginUser {
			err = withdraw(ctx, tx, plan)
		}
		if err == nil {
			err = recordConsole(ctx, tx, plan)
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
	if out.Action != Unchanged && out.Usage >= memory.WarnPercent && len(out.Moved) == 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf(
			"%s is %d %% full: merge duplicate entries or remove outdated ones", r.store, out.Usage))
	}
	return out, nil
}

// execute writes a plan and returns the IDs of the entries that left the prompt.
func (k *PromptService) execute(ctx context.Context, tx store.Tx, plan memory.Plan, w memory.Writer) (moved []string,
	err error) {
	if err := tx.PromptMemory().WriteMemories(ctx, plan, w); err != nil {
		return nil, err
	}
	for _, e := range plan.Moves {
		moved = append(moved, e.ID)
	}
	return moved, k.confirm(ctx, tx, plan, w)
}

// confirm records which entries were said again, unless untrusted text may have said it.
func (k *PromptService) confirm(ctx context.Context, tx store.Tx, plan memory.Plan, w memory.Writer) error {
	if len(plan.Confirmed) == 0 || w.Tainted {
		return nil
	}
	return tx.PromptMemory().Confirm(ctx, plan.Confirmed)
}

// recordConsole records the changes of a person in the web console.
func recordConsole(ctx context.Context, tx store.Tx, plan memory.Plan) error {
	for _, step := range plan.Steps {
		act, recorded := ConsoleAct(ctx, step.Action)
		if !recorded {
			continue
		}
		if err := tx.Operations().Record(ctx, act, "memory "+step.Entry.ID); err != nil {
			return err
		}
	}
	return nil
}

// withdraw revokes the prompt sessions if a plan removes or replaces text. Additions take effect in
// the next session.
func withdraw(ctx context.Context, tx store.Tx, plan memory.Plan) error {
	if plan.Count(memory.Remove)+plan.Count(memory.Replace) == 0 {
		return nil
	}
	_, err := tx.Sessions().RevokeSessions(ctx)
	return err
}

// plan plans a write on the entries in the prompt, and on those outside of it that the write is about.
func (k *PromptService) plan(ctx context.Context, tx store.Tx, r request, room memory.Room) (memory.Plan, error) {
	entries, err := tx.PromptMemory().InPrompt(ctx, []memory.Type{r.store}, maxEntries)
	if err != nil {
		return memory.Plan{}, err
	}
	var said []memory.Statement
	for _, content := range contents(r.operations) {
		said = append(said, memory.Statement{Scope: memory.Scope{Type: r.store}, Content: content})
	}
	known, err := tx.LongTerm().Sayings(ctx, said)
	if err != nil {
		return memory.Plan{}, err
	}
	for _, e := range known {
		if e.Moved {
			entries = append(entries, e)
		}
	}
	plan, err := memory.MakePlan(r.store, entries, r.operations, room)
	if fault.CodeOf(err) == fault.NoMatch {
		if entries, err = tx.PromptMemory().Memories(ctx, []memory.Type{r.store}, false, maxEntries); err != nil {
			return memory.Plan{}, err
		}
		plan, err = memory.MakePlan(r.store, entries, r.operations, room)
	}
	return plan, shownSafe(err)
}

// shownSafe sanitizes the entries in the Extra data of an error.
func shownSafe(err error) error {
	if err == nil {
		return nil
	}
	if hits, ok := fault.From(err).Extra["matches"].([]memory.Hit); ok {
		for i, h := range hits {
			hits[i].Text = Sanitize("memory", h.ID, h.Text)
		}
	}
	return err
}

// maxEntries is larger than the number of entries of any workspace that was seen.
const maxEntries = 100_000

// quota limits the number of entries that an unattended run adds.
func quota(ctx context.Context, tx store.Tx, a agent.Actor, plan memory.Plan) error {
	adds := plan.Count(memory.Add)
	if !a.Origin.Autonomous() || adds == 0 {
		return nil
	}
	before, err := tx.PromptMemory().AddedBy(ctx, a.Run, memory.PromptTypes)
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

// waits returns the reason why a write needs approval, or "" if it does not.
func waits(a agent.Actor, chosen settings.Settings, risk []string) string {
	switch byPerson := a.Origin == agent.OriginUser; {
	case byPerson:
		return ""
	case a.Tainted:
		return "taint: the context contained untrusted text"
	case len(risk) > 0: // every prompt contains the text
		return "risk: the text looks like an attack"
	case chosen.WriteApproval.Memory.Stages(byPerson, a.Origin.Autonomous()):
		return "approval: required by the workspace"
	}
	return ""
}
