package memory

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/store"
)

// NoteArgs is one observation of a day.
type NoteArgs struct {
	Observation string `json:"observation" jsonschema:"event or statement, with the people and things involved, in one or two sentences that are clear without the conversation"`
}

// NoteResult is the result of a note.
type NoteResult struct {
	Action string `json:"action" jsonschema:"noted, or unchanged if the notes of the day already contain it"`
	ID     string `json:"id"`
	Date   string `json:"date"`
	Notes  int    `json:"notes" jsonschema:"number of notes of the date, including this one"`
}

// NoteMade is the action of a note that was appended.
const NoteMade = "noted"

// DayNotes is the maximum number of notes per date.
const DayNotes = 60

// AppendNote adds an observation to the notes of the actor's date. Notes are append-only.
func (k *PromptService) AppendNote(ctx context.Context, a agent.Actor, in NoteArgs) (NoteResult, error) {
	day, refusal := time.Parse(time.DateOnly, a.Subject.Target)
	if a.Subject.Type != string(memory.Note) || refusal != nil {
		return NoteResult{}, fault.New(fault.OutOfScope, "notes require a date", "write notes only in a reflection")
	}
	content, refusal := memory.Normalize(in.Observation)
	w := k.writer(a)
	if refusal == nil {
		var risk []string
		if risk, refusal = memory.Inspect("the observation", content); refusal == nil {
			w = w.With(k.embed(ctx, a.Workspace, []string{content}))
			w.Tainted = w.Tainted || len(risk) > 0 // stored for search, but not promoted without approval
		}
	}
	return doOnce(ctx, k, a, "note_append", in, func(ctx context.Context, tx store.Tx) (NoteResult, error) {
		if refusal != nil {
			return NoteResult{}, refusal
		}
		out := NoteResult{Action: "unchanged", Date: a.Subject.Target}
		notes, err := tx.Reflections().NotesOf(ctx, a.Subject.Target, DayNotes)
		if err != nil {
			return out, err
		}
		out.Notes = len(notes)
		for _, n := range notes {
			if n.Content == content {
				out.ID = n.ID
				return out, nil
			}
		}
		if len(notes) >= DayNotes {
			return out, fault.New(fault.QuotaExceeded, fmt.Sprintf("%s has %d notes", out.Date, len(notes)),
				"stop: the day has the maximum number of notes")
		}
		noon := day.Add(12 * time.Hour)
		e := &memory.Entry{Type: memory.Note, Target: out.Date, Content: content, EventTime: &noon}
		if err := tx.PromptMemory().WriteMemories(ctx,
			memory.Plan{Steps: []memory.Step{{Action: memory.Add, Entry: e, Content: content}}}, w); err != nil {
			return out, err
		}
		out.Action, out.ID, out.Notes = NoteMade, e.ID, len(notes)+1
		return out, nil
	})
}
